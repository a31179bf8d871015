// SPDX-License-Identifier: GPL-2.0
/* A control group of one's own: see cgroup.h. */
#include <sys/mount.h>
#include <sys/stat.h>

#include "cgroup.h"
#include "ksft.h"

#define ROOT	"/tmp/cgroup2"
#define OLD_ROOT "/tmp/cgroup1"
static const char *root = ROOT;

static int write_at(const char *dir, const char *file, const char *text)
{
	char path[128];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static void mount_root(void)
{
	if (!access(ROOT "/cgroup.procs", F_OK))
		return;
	if (mkdir(ROOT, 0755) && errno != EEXIST)
		ksft_skip("%s: %s", ROOT, strerror(errno));
	if (unshare(CLONE_NEWNS))
		ksft_skip("no mount name space: %s", strerror(errno));
	if (mount("none", ROOT, "cgroup2", 0, NULL))
		ksft_skip("no cgroups of version 2: %s", strerror(errno));
}

void cgroup_make(struct cgroup *g, const char *controller)
{
	static unsigned int n;
	char word[32];
	int ret;

	mount_root();
	if (controller) {
		snprintf(word, sizeof(word), "+%s", controller);
		ret = write_at(ROOT, "cgroup.subtree_control", word);
		if (ret)
			ksft_skip("no controller %s: %s", controller,
				  strerror(-ret));
	}
	snprintf(g->path, sizeof(g->path), ROOT "/kvnet-%d-%u", getpid(), n++);
	g->old = false;
	ASSERT_SYS(mkdir(g->path, 0755));
}

void cgroup_make_old(struct cgroup *g, const char *controller)
{
	if (mkdir(OLD_ROOT, 0755) && errno != EEXIST)
		ksft_skip("%s: %s", OLD_ROOT, strerror(errno));
	if (unshare(CLONE_NEWNS) || mount("none", OLD_ROOT, "cgroup", 0, controller))
		ksft_skip("no %s of version 1: %s", controller, strerror(errno));
	root = OLD_ROOT;
	snprintf(g->path, sizeof(g->path), OLD_ROOT "/kvnet-%d", getpid());
	g->old = true;
	ASSERT_SYS(mkdir(g->path, 0755));
}

void cgroup_remove(const struct cgroup *g)
{
	if (!WAIT_FOR(3000, !rmdir(g->path)))
		FAIL("%s: %s", g->path, strerror(errno));
}

static void join_at(const char *dir, pid_t pid)
{
	char word[16];

	snprintf(word, sizeof(word), "%d", pid);
	ASSERT_EQ(write_at(dir, "cgroup.procs", word), 0);
}

void cgroup_join(const struct cgroup *g, pid_t pid)
{
	join_at(g->path, pid);
}

void cgroup_leave(pid_t pid)
{
	join_at(root, pid);
}

bool cgroup_has(const struct cgroup *g, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", g->path, file);
	return !access(path, F_OK);
}

void cgroup_set(const struct cgroup *g, const char *file, const char *text)
{
	int ret = write_at(g->path, file, text);

	if (ret)
		FAIL("%s to %s: %s", text, file, strerror(-ret));
}

long cgroup_get(const struct cgroup *g, const char *file, const char *name)
{
	size_t len = name ? strlen(name) : 0;
	char path[128], line[128];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", g->path, file);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (value < 0 && fgets(line, sizeof(line), f))
		if (!name || (!strncmp(line, name, len) && line[len] == ' '))
			value = atol(line + len);
	fclose(f);
	return value;
}

static const char *old_state(bool frozen)
{
	return frozen ? "FROZEN" : "THAWED";
}

void cgroup_freeze(const struct cgroup *g, bool freeze)
{
	if (g->old)
		cgroup_set(g, "freezer.state", old_state(freeze));
	else
		cgroup_set(g, "cgroup.freeze", freeze ? "1" : "0");
}

static bool is_frozen(const struct cgroup *g, bool frozen)
{
	char path[128], word[16] = "";
	FILE *f;

	if (!g->old)
		return cgroup_get(g, "cgroup.events", "frozen") == frozen;
	snprintf(path, sizeof(path), "%s/freezer.state", g->path);
	f = fopen(path, "r");
	/* a failure here leaves the group frozen */
	if (!EXPECT(f))
		return false;
	EXPECT_EQ(fscanf(f, "%15s", word), 1);
	fclose(f);
	return !strcmp(word, old_state(frozen));
}

bool cgroup_frozen(const struct cgroup *g, bool frozen, unsigned int ms)
{
	return WAIT_FOR(ms, is_frozen(g, frozen));
}

const char *cgroups_of(pid_t pid, pid_t tid)
{
	static char text[512];
	char path[64];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/cgroup", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	return text;
}
