// SPDX-License-Identifier: GPL-2.0
/* TAP harness: see ksft.h. */
#include <regex.h>
#include <stdarg.h>
#include <time.h>

#include "ksft.h"

/* A file of the kernel's that a case writes to, and what it said before. */
struct kept_file {
	char path[80];
	char was[40];
};

/* What a case tells its parent; shared, so that its own children can, too. */
struct verdict {
	int failures;
	int skipped;
	char reason[200];
	unsigned int n_kept;
	struct kept_file kept[8];
};

static struct ksft_case *cases;
/* at_first: outside of ksft_run(), as in net/tap_backend.c */
static struct verdict at_first, *verdict = &at_first;
static unsigned int slow = 3, rounds = 1, of_rounds = 1;
static uint32_t seed, rng;

static const char *const bad_messages[] = {
#include "bad_messages.h"
};

#define BAD_MESSAGES (sizeof(bad_messages) / sizeof(bad_messages[0]))

void ksft_register(struct ksft_case *c)
{
	struct ksft_case **p = &cases;

	while (*p)
		p = &(*p)->next;
	*p = c;
}

uint64_t ksft_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

unsigned int ksft_patience(unsigned int ms)
{
	return ms < 1000 ? ms : ms * slow;
}

unsigned int ksft_rounds(unsigned int n)
{
	n = (uint64_t)n * rounds / of_rounds;
	return n ? n : 1;
}

/* xorshift32: repeatable from the printed seed */
uint32_t ksft_random(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 17;
	rng ^= rng << 5;
	return rng;
}

void ksft_random_from(uint32_t seed)
{
	rng = seed;
}

void ksft_relax(unsigned int turn)
{
	if (turn < 64)
		sched_yield();
	else
		poll(NULL, 0, 1);
}

static void say(const char *fmt, va_list ap, const char *file, int line)
{
	char buf[512];
	int n = 0;

	if (file)
		n = snprintf(buf, sizeof(buf), "%s:%d: ",
			     strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
			     line);
	vsnprintf(buf + n, sizeof(buf) - n, fmt, ap);
	printf("# %s\n", buf);
	fflush(stdout);
}

void ksft_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;
	int n = __atomic_add_fetch(&verdict->failures, 1, __ATOMIC_RELAXED);

	if (n > 20)
		return;
	va_start(ap, fmt);
	say(fmt, ap, file, line);
	va_end(ap);
}

void ksft_all_bytes(const char *what, const void *at, uint8_t byte, size_t len)
{
	const uint8_t *p = at;
	size_t i;

	for (i = 0; i < len; i++) {
		if (p[i] == byte)
			continue;
		FAIL("%s: byte %zu is %02x, not %02x", what, i, p[i], byte);
		return;
	}
}

void ksft_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap, NULL, 0);
	va_end(ap);
}

void ksft_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(verdict->reason, sizeof(verdict->reason), fmt, ap);
	va_end(ap);
	verdict->skipped = 1;
	if (verdict == &at_first) {
		puts(verdict->reason);
		fflush(stdout);
		_exit(KSFT_FAIL);
	}
	fflush(stdout);
	_exit(KSFT_SKIP);
}

void ksft_abort(void)
{
	fflush(stdout);
	_exit(KSFT_FAIL);
}

bool ksft_failed(void)
{
	return verdict->failures;
}

static int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	int ret = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

static int file_read(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);
	int ret = n < 0 ? -errno : 0;

	text[n < 0 ? 0 : n] = 0;
	if (fd >= 0)
		close(fd);
	return ret;
}

char ksft_file_set(const char *path, const char *value)
{
	struct kept_file *k = verdict->kept, *end = k + verdict->n_kept, now;
	int ret = file_read(path, now.was, sizeof(now.was));

	while (k < end && strcmp(k->path, path))
		k++;
	if (k == end) {
		ASSERT(k < verdict->kept + sizeof(verdict->kept) / sizeof(*k));
		snprintf(k->path, sizeof(k->path), "%s", path);
		strcpy(k->was, now.was);
		verdict->n_kept += !ret;
	}
	if (!ret)
		ret = file_write(path, value);
	if (ret)
		FAIL("%s: %s", path, strerror(-ret));
	return now.was[0];
}

static void put_files_back(void)
{
	const struct kept_file *k = verdict->kept, *end = k + verdict->n_kept;

	for (; k < end; k++)
		if (file_write(k->path, k->was))
			printf("# %s does not say %s any more\n", k->path, k->was);
}

static void kmsg_mark(const char *edge, const char *prog, const char *name)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "<6>selftest: %s %s.%s\n", edge, prog, name);
	close(fd);
}

int ksft_kmsg_open(void)
{
	int fd;

	if (getenv("KSFT_NO_KMSG"))
		return -1;
	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

static bool is_bad(const char *text)
{
	static regex_t bad[BAD_MESSAGES];
	static bool compiled;
	size_t i;

	for (i = 0; i < BAD_MESSAGES && !compiled; i++)
		ASSERT_EQ(regcomp(&bad[i], bad_messages[i], REG_EXTENDED | REG_NOSUB), 0);
	compiled = true;
	for (i = 0; i < BAD_MESSAGES; i++)
		if (!regexec(&bad[i], text, 0, NULL, 0))
			return true;
	return false;
}

int ksft_kmsg_verdict(int fd)
{
	char buf[8192], *text;
	int bad = 0, shown = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	for (;;) {
		n = read(fd, buf, sizeof(buf) - 1);
		if (n < 0 && errno == EPIPE)
			continue;	/* overwritten: go on with the rest */
		if (n <= 0)
			break;
		buf[n] = 0;
		buf[strcspn(buf, "\n")] = 0;
		text = strchr(buf, ';');
		text = text ? text + 1 : buf;
		/* whose race it is says its stack: scripts/dmesg-verdict.sh */
		if (strstr(text, "BUG: KCSAN:"))
			continue;
		bad += is_bad(text);
		if (bad && shown++ < 60)
			printf("#   kernel: %s\n", text);
	}
	close(fd);
	return bad;
}

/* -1: the deadline passed */
static int wait_child(pid_t pid, unsigned int ms)
{
	uint64_t end = ksft_now_ms() + ms;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		struct timespec ts = { .tv_nsec = 50000000 };
		sigset_t set;

		if (ksft_now_ms() >= end)
			return -1;
		sigemptyset(&set);
		sigaddset(&set, SIGCHLD);
		sigtimedwait(&set, NULL, &ts);
	}
	return status;
}

static int run_case(const struct ksft_case *c, unsigned int n, const char *prog)
{
	int kmsg = ksft_kmsg_open(), status, ret = KSFT_PASS;
	uint64_t start = ksft_now_ms();
	const char *why = "";
	pid_t pid;

	memset(verdict, 0, sizeof(*verdict));
	kmsg_mark("start", prog, c->name);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		sigset_t none;

		setpgid(0, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		rng = seed;
		c->fn();
		ksft_abort();	/* the status is in *verdict */
	}
	setpgid(pid, pid);
	status = wait_child(pid, ksft_patience(c->seconds * 1000));
	kill(-pid, SIGKILL);
	put_files_back();
	if (status == -1) {
		ret = KSFT_FAIL;
		why = wait_child(pid, 5000) == -1 ?
			" (deadline; cannot be killed)" : " (deadline)";
	} else if (WIFSIGNALED(status)) {
		printf("# died of signal %d\n", WTERMSIG(status));
		ret = KSFT_FAIL;
	} else if (verdict->failures) {
		ret = KSFT_FAIL;
	} else if (verdict->skipped) {
		ret = KSFT_SKIP;
	}
	kmsg_mark("end", prog, c->name);
	if (ksft_kmsg_verdict(kmsg)) {
		ret = KSFT_FAIL;
		why = " (kernel log)";
	}
	printf("%s %u %s.%s%s%s%s # %llu ms\n",
	       ret == KSFT_FAIL ? "not ok" : "ok", n, prog, c->name, why,
	       ret == KSFT_SKIP ? " # SKIP " : "",
	       ret == KSFT_SKIP ? verdict->reason : "",
	       (unsigned long long)(ksft_now_ms() - start));
	fflush(stdout);
	return ret;
}

static unsigned int env_number(const char *name, unsigned int otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 0) : otherwise;
}

static bool selected(const struct ksft_case *c, int argc, char **argv)
{
	bool invert = argc > 1 && !strcmp(argv[1], "-x");
	bool hit = argc <= 1;
	int i;

	for (i = 1 + invert; i < argc; i++)
		hit |= !!strstr(c->name, argv[i]);
	return hit != invert;
}

/* Says so in TAP, and why. */
static bool nothing_to_test(const char *node)
{
	const char *other = getenv("KVNET_DEV");

	if (!node)
		return false;
	if (other)
		node = other;
	if (!access(node, F_OK))
		return false;
	printf("TAP version 13\n1..0 # SKIP no %s: is the module loaded?\n", node);
	return true;
}

int ksft_run(int argc, char **argv, const char *node)
{
	unsigned int n = 0, count[5] = { 0 };
	const char *prog = strrchr(argv[0], '/'), *part;
	struct ksft_case *c;
	sigset_t set;

	prog = prog ? prog + 1 : argv[0];
	if (argc > 1 && !strcmp(argv[1], "-l")) {
		for (c = cases; c; c = c->next)
			printf("%s\n", c->name);
		return KSFT_PASS;
	}
	if (nothing_to_test(node))
		return KSFT_SKIP;
	slow = env_number("KSFT_SLOW", 3);
	rounds = env_number("KSFT_LONG", 1);
	part = getenv("KSFT_LONG") ? strchr(getenv("KSFT_LONG"), '/') : NULL;
	of_rounds = part ? strtoul(part + 1, NULL, 0) : 1;
	if (!rounds || !of_rounds)
		rounds = of_rounds = 1;
	seed = env_number("KSFT_SEED", 1) | 1;
	verdict = mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);

	for (c = cases; c; c = c->next)
		n += selected(c, argc, argv);
	printf("TAP version 13\n# seed KSFT_SEED=%u\n1..%u\n", seed, n);
	for (n = 0, c = cases; c; c = c->next) {
		if (!selected(c, argc, argv))
			continue;
		count[run_case(c, ++n, prog)]++;
		if (count[KSFT_FAIL] && env_number("KSFT_STOP", 0))
			break;
	}
	printf("# Totals: pass:%u fail:%u skip:%u\n", count[KSFT_PASS],
	       count[KSFT_FAIL], count[KSFT_SKIP]);
	if (count[KSFT_FAIL])
		return KSFT_FAIL;
	return n && count[KSFT_SKIP] == n ? KSFT_SKIP : KSFT_PASS;
}
