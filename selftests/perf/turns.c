// SPDX-License-Identifier: GPL-2.0
/* Backends that take turns: see turns.h. */
#include <sys/prctl.h>

#include "ksft.h"
#include "mark.h"
#include "stolen.h"
#include "turns.h"

#define BACKENDS	16u
#define BUSY_MAX	64u
#define SLICE_NS	500000u	/* of a slice, at least, about */
#define PATIENCE_NS	30000000u	/* with a slice of which much is stolen */
#define LEAST		7u	/* slices, where the median has to be exact */

/* What a process is told, and answers: */
enum turn { TURN_OPEN, TURN_SLICE, TURN_CLOSE };

struct order {
	enum turn turn;
	unsigned int number;	/* of the slice; at the end, of them all */
};

struct backend {
	pid_t pid;
	int fd;
};

/* whom an emulator that counts is to count for */
static bool counted;
static unsigned int number;

void turns_count(bool on)
{
	if (on)
		stolen_begin();
	else
		stolen_end();
	if (counted)
		mark(on ? MARK_BEGIN : MARK_END, number);
}

void turns_counted(double packets)
{
	if (counted)
		spec_row("counted", packets, "packets");
}

/* It has to see how tasks take turns. */
static void count_tasks(void)
{
	const char *want = getenv("BENCH_COUNT");
	unsigned long at;
	char line[256];
	FILE *f;

	counted = want && *want;
	if (!counted)
		return;
	f = fopen("/proc/kallsyms", "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx", &at) == 1 && strstr(line, " __switch_to\n"))
			mark(MARK_SWITCH, at);
	fclose(f);
}

/* Of the module that has this node, for devices to come; "" leaves it as it is. */
static void parameter(const char *node, const char *name, const char *value)
{
	char path[128];
	int fd;

	if (!*value)
		return;
	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s",
		 strrchr(node, '/') + 1, name);
	fd = ASSERT_SYS(open(path, O_WRONLY | O_CLOEXEC));
	ASSERT_EQ(write(fd, value, strlen(value)), strlen(value));
	close(fd);
}

/*
 * name:node:layout:pinned:rx_inline:poll_us:rx_usecs:slowed, into variables by which a sample
 * is told, and module parameters.
 */
static void become(char *words)
{
	const char *name = strsep(&words, ":"), *row = getenv("BENCH_ROW"), *value;
	static const struct { const char *variable, *parameter; } what[] = {
		{ "KVNET_DEV" }, { "KVNET_LAYOUT" }, { "BENCH_PINNED", "pin_rings" },
		{ .parameter = "rx_inline" }, { .parameter = "poll_us" }, { .parameter = "rx_usecs" },
		{ "BENCH_SLOWED" },
	};
	char line[128];
	unsigned int i;

	for (i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		ASSERT(words);
		value = strsep(&words, ":");
		if (what[i].variable)
			setenv(what[i].variable, value, 1);
		if (what[i].parameter)
			parameter(getenv("KVNET_DEV"), what[i].parameter, value);
	}
	snprintf(line, sizeof(line), "%s backend=%s", row ? row : "lane=native rep=0",
		 name);
	setenv("BENCH_ROW", line, 1);
}

/* Done again at once if the machine ran somebody else meanwhile, whosever slice it is. */
static void slice(const struct turns_work *work, unsigned int i)
{
	uint64_t begin = now_ns();

	do
		work->slice(i);
	while (stolen_much() && now_ns() - begin < PATIENCE_NS);
}

static void __attribute__((noreturn)) serve(const struct turns_work *work, int fd)
{
	unsigned int answer = 0;
	struct order order;
	struct spec s;

	while (read(fd, &order, sizeof(order)) == sizeof(order)) {
		if (order.turn == TURN_OPEN) {
			spec_read(&s);
			answer = work->open(&s);
		} else if (order.turn == TURN_SLICE) {
			slice(work, order.number);
		} else {
			work->close(order.number);
			fflush(stdout);
			_exit(KSFT_PASS);
		}
		ASSERT_EQ(write(fd, &answer, sizeof(answer)), sizeof(answer));
	}
	_exit(KSFT_FAIL);
}

static void start(struct backend *b, const struct turns_work *work, char *words)
{
	int fd[2];

	ASSERT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd));
	fflush(stdout);
	b->pid = ASSERT_SYS(fork());
	number++;
	if (!b->pid) {
		close(fd[0]);
		if (words)
			become(words);
		serve(work, fd[1]);
	}
	close(fd[1]);
	b->fd = fd[0];
}

/* Its turn; a process that is gone has said why, unless it was killed. */
static unsigned int take_turn(const struct backend *b, enum turn turn, unsigned int number)
{
	struct order order = { turn, number };
	unsigned int answer = 0;
	int status;

	if (write(b->fd, &order, sizeof(order)) == sizeof(order) &&
	    read(b->fd, &answer, sizeof(answer)) == sizeof(answer))
		return answer;
	ASSERT_EQ(waitpid(b->pid, &status, 0), b->pid);
	ASSERT(WIFEXITED(status));
	ksft_abort();
}

/* It prints its rows; one by one, since they share the output. */
static void end(struct backend *b, unsigned int slices)
{
	struct order order = { TURN_CLOSE, slices };
	int status;

	ASSERT_EQ(write(b->fd, &order, sizeof(order)), sizeof(order));
	ASSERT_EQ(waitpid(b->pid, &status, 0), b->pid);
	ASSERT_EQ(status, 0);
	close(b->fd);
}

unsigned int turns_slices(const struct spec *s, unsigned long passes, unsigned long *each)
{
	uint64_t n = s->ns / SLICE_NS;

	n = n < passes ? n : passes;
	if (spec_virtual() && n < LEAST)
		n = LEAST;
	n = n > SLICES ? SLICES : n ? n : 1;
	*each = passes < n ? 1 : passes / n;
	return n;
}

static void shuffle(unsigned int *order, unsigned int n)
{
	unsigned int i, k, swap;

	for (i = n; i > 1; i--) {
		k = ksft_below(i);
		swap = order[i - 1];
		order[i - 1] = order[k];
		order[k] = swap;
	}
}

/* They never sleep, and end with this process or before. */
static unsigned int start_busy(pid_t *pid, unsigned int most)
{
	unsigned int i, n;
	struct spec s;

	spec_read(&s);
	n = s.busy * sysconf(_SC_NPROCESSORS_ONLN);
	ASSERT(n <= most);
	fflush(stdout);
	for (i = 0; i < n; i++) {
		pid[i] = ASSERT_SYS(fork());
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			asm volatile("" ::: "memory");
	}
	return n;
}

static void end_busy(const pid_t *pid, unsigned int n)
{
	while (n--) {
		ASSERT_SYS(kill(pid[n], SIGKILL));
		ASSERT_EQ(waitpid(pid[n], NULL, 0), pid[n]);
	}
}

void turns_take(const struct turns_work *work)
{
	const char *said = getenv("BENCH_TURNS");
	unsigned int order[BACKENDS], n = 0, slices = SLICES, i, k;
	struct backend b[BACKENDS];
	pid_t busy[BUSY_MAX];
	unsigned int n_busy;
	char *list = said && *said ? strdup(said) : NULL, *at = list, *words;

	count_tasks();
	do {
		words = at ? strsep(&at, " ") : NULL;
		ASSERT(n < BACKENDS);
		order[n] = n;
		start(&b[n], work, words);
		k = take_turn(&b[n++], TURN_OPEN, 0);
		slices = k < slices ? k : slices;
	} while (at);
	n_busy = start_busy(busy, BUSY_MAX);
	for (i = 0; i < slices; i++) {
		shuffle(order, n);
		for (k = 0; k < n; k++)
			take_turn(&b[order[k]], TURN_SLICE, i);
	}
	end_busy(busy, n_busy);
	for (i = 0; i < n; i++)
		end(&b[i], slices);
	free(list);
}
