// SPDX-License-Identifier: GPL-2.0
/* What to measure, and rows: see spec.h. */
#include <dirent.h>
#include <time.h>

#include "ksft.h"
#include "mischief.h"
#include "spec.h"

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static const char *env_or(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static const char *bench_words(void)
{
	return env_or("BENCH", "test=pps dir=tx size=64");
}

/* The value of a word, in a buffer that lasts until the next call. */
static const char *word(const char *name)
{
	static char value[32];
	size_t len = strlen(name);
	const char *at = bench_words();

	for (; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (!strncmp(at, name, len) && at[len] == '=') {
			snprintf(value, sizeof(value), "%.*s",
				 (int)strcspn(at + len + 1, " "), at + len + 1);
			return value;
		}
	return NULL;
}

static unsigned int number(const char *name, unsigned int otherwise)
{
	const char *value = word(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static unsigned int directions(const char *dir)
{
	if (!dir || !strcmp(dir, "tx"))
		return SPEC_TX;
	if (!strcmp(dir, "rx"))
		return SPEC_RX;
	ASSERT(!strcmp(dir, "both"));
	return SPEC_TX | SPEC_RX;
}

static enum action action_of(const char *action)
{
	static const char *const names[] = { "bridge", "forward", "redirect", "drop" };
	unsigned int i = 0;

	while (action && strcmp(action, names[i]))
		ASSERT(++i < sizeof(names) / sizeof(names[0]));
	return i;
}

void spec_read(struct spec *s)
{
	s->dirs = directions(word("dir"));
	s->size = number("size", 64);
	s->ring = number("ring", 1024);
	s->batch = number("batch", s->ring);
	s->devices = number("devices", 1);
	s->queues = number("queues", 1);
	s->guests = number("guests", 1);
	s->busy = number("busy", 0);
	s->apart = number("apart", 0);
	s->alone = number("alone", 1);
	s->action = action_of(word("action"));
	s->attack = mischief_of(word("attack"));
	s->moves = number("moves", 0);
	s->veth = word("port") && !strcmp(word("port"), "veth");
	s->gso = s->size > SPEC_FRAME;
	s->notso = word("test") && !strcmp(word("test"), "notso");
	s->udp = word("test") && !strncmp(word("test"), "bridge", 6) && !s->gso;
	s->viommu = word("test") && !strcmp(word("test"), "viommu");
	s->ns = strtoul(env_or("BENCH_MS", "40"), NULL, 0) * 1000000ull;
	ASSERT(s->batch && s->batch <= s->ring && s->devices && s->queues);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double median(double *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), by_size);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static const char *bench_row(void)
{
	return env_or("BENCH_ROW", "lane=native rep=0 backend=kvnet");
}

static double instruction_ns(void)
{
	return strtod(env_or("BENCH_NS_PER_INSTRUCTION", "0"), NULL);
}

bool spec_virtual(void)
{
	return instruction_ns() > 0;
}

static double scale_to(const char **unit)
{
	double ns = instruction_ns();

	if (!ns || strcmp(*unit, "ns"))
		return 1;
	*unit = "instructions";
	return 1 / ns;
}

static void print_row(const char *metric, double value, const char *unit)
{
	printf("@bench %s %s metric=%s value=%.9g unit=%s", bench_row(),
	       bench_words(), metric, value, unit);
}

void spec_row(const char *metric, double value, const char *unit)
{
	double scale = scale_to(&unit);

	print_row(metric, value * scale, unit);
	putchar('\n');
}

void spec_slices(const char *metric, const double *values, unsigned int n,
		 const char *unit)
{
	double sorted[n], scale = scale_to(&unit);
	unsigned int i;

	memcpy(sorted, values, sizeof(sorted));
	print_row(metric, median(sorted, n) * scale, unit);
	for (i = 0; i < n && !spec_virtual(); i++)
		printf("%s%.5g", i ? "," : " slices=", values[i] * scale);
	putchar('\n');
}

/* schedstat of each worker, kept open: it is read often */
static int worker[128];
static pid_t worker_task[128];
static unsigned int workers;

/* The owner's number is the end of a worker's name. */
bool worker_is(const char *dir, const char *task, pid_t owner)
{
	static const char *const of[] = { "kvnet", "vhost", "floor" };
	char path[300], name[32] = "", want[32];
	bool is = false;
	unsigned int i;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/comm", dir, task);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = 0;
	fclose(f);
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		snprintf(want, sizeof(want), "%s-%d\n", of[i], owner);
		is |= !strcmp(name, want);
	}
	return is;
}

static void find_in(const char *dir, pid_t owner)
{
	struct dirent *entry;
	DIR *d = opendir(dir);
	char path[300];

	ASSERT(d);
	while ((entry = readdir(d))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !worker_is(dir, entry->d_name, owner))
			continue;
		ASSERT(workers < sizeof(worker) / sizeof(worker[0]));
		snprintf(path, sizeof(path), "%s/%s/schedstat", dir,
			 entry->d_name);
		worker_task[workers] = atoi(entry->d_name);
		worker[workers++] = ASSERT_SYS(open(path, O_RDONLY | O_CLOEXEC));
	}
	closedir(d);
}

/* kvnet has one for each queue, others have one for each device. */
static unsigned int workers_each(void)
{
	return strstr(bench_row(), "backend=kvnet") ? 2 : 1;
}

/* Kernel threads, or threads of that process. */
void workers_find(pid_t owner, unsigned int devices)
{
	char tasks[32];

	snprintf(tasks, sizeof(tasks), "/proc/%d/task", owner);
	find_in("/proc", owner);
	find_in(tasks, owner);
	ASSERT_EQ(workers, devices * workers_each());
}

static void put_on(pid_t task, unsigned int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ASSERT_SYS(sched_setaffinity(task, sizeof(one), &one));
}

void workers_put(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < workers; i++)
		put_on(worker_task[i], cpu);
}

void workers_apart(void)
{
	put_on(0, 0);
	workers_put(1);
}

struct worker_time worker_time(void)
{
	unsigned long long ns, wait, runs;
	struct worker_time t = { 0 };
	unsigned int i;
	char line[96];
	ssize_t n;

	for (i = 0; i < workers; i++) {
		n = ASSERT_SYS(pread(worker[i], line, sizeof(line) - 1, 0));
		line[n] = 0;
		ASSERT_EQ(sscanf(line, "%llu %llu %llu", &ns, &wait, &runs), 3);
		t.ns += ns;
		t.runs += runs;
	}
	return t;
}

bool worker_time_is_coarse(struct worker_time t)
{
	return t.ns % 1000000 == 0;
}
