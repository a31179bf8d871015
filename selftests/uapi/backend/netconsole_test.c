// SPDX-License-Identifier: GPL-2.0
/*
 * A sender with interrupts off, or in an interrupt: netconsole, on the tap. Its frames are
 * received by the worker, and are neither lost nor overtaken; nor are those of other senders
 * meanwhile.
 *
 * @tier: all
 * @hosts: 6.12
 * @skip: uapi-(uml|smp-).* | .*: no netconsole | the test hosts have it
 */
#include "inject.h"
#include "rx_inline_rig.h"

#define DEVKMSG		"/proc/sys/kernel/printk_devkmsg"
#define TRACING		"/sys/kernel/tracing/"
#define FILTER		TRACING "set_ftrace_filter"
#define TIMER		"hrtimer_interrupt"
#define LINE		"kvnet-console"
#define PORT		6666
#define IP_UDP		(14 + 20 + 8)
#define SOME		40
#define MIXED		400

static uint8_t frame[FRAME_MAX];

/* A line on all consoles, at each log level. */
static void say(unsigned int n)
{
	char text[64];

	snprintf(text, sizeof(text), "<0>" LINE " %u\n", n);
	if (!inject_put("/dev/kmsg", text))
		FAIL("/dev/kmsg: %s", strerror(errno));
}

/* The text of a frame of netconsole, or NULL. */
static const char *line_of(ssize_t n)
{
	if (n <= IP_UDP || frame[12] != 8 || frame[13] || frame[23] != 17 ||
	    (frame[36] << 8 | frame[37]) != PORT)
		return NULL;
	frame[n < FRAME_MAX ? n : FRAME_MAX - 1] = 0;
	return (const char *)frame + IP_UDP;
}

/* The next frame; its buffer is made available again. */
static ssize_t next_frame(unsigned int ms)
{
	ssize_t n = rig_rx(&rig, NULL, frame, sizeof(frame), ms);

	if (n < 0)
		return n;
	rig_rx_post(&rig, rig.rx_bufs, NULL);
	vdev_kick(rx);
	return n;
}

/* A line of netconsole with @what in it; others may come in between. */
static bool is_line(ssize_t n, const char *what, unsigned int *number)
{
	const char *at = line_of(n);

	at = at ? strstr(at, what) : NULL;
	if (at)
		*number = strtoul(at + strlen(what), NULL, 10);
	return at;
}

static unsigned int wait_for(const char *what)
{
	unsigned int number;
	ssize_t n;

	while ((n = next_frame(3000)) >= 0)
		if (is_line(n, what, &number))
			return number;
	FAIL("no \"%s\" has come", what);
	return -1;
}

/* Frames of a process, received inline, with so many lines among them. */
static void with_lines(const char *what, unsigned int lines, bool numbered)
{
	unsigned int seen = 0, sent = 0, got = 0, number;
	ssize_t n;

	while ((seen < lines || got < MIXED) && !ksft_failed()) {
		if (sent < MIXED && sent - got < 2)
			rig_inject(&rig, sent++, 60);
		n = next_frame(3000);
		if (n < 0) {
			FAIL("%u lines, and of %u frames %u", seen, sent, got);
		} else if (frame_is_ours(frame, n)) {
			EXPECT(frame_check(frame, n, got++, 60));
		} else if (is_line(n, what, &number)) {
			seen++;
			EXPECT(!numbered || number == seen);
		}
	}
}

static void console_end(void)
{
	if (system("rmmod netconsole 2> /dev/null"))
		FAIL("netconsole stays");
}

/* The kernel's log until now comes first, more than the tap may hold. */
static void console_begin(void)
{
	char command[256];

	rx_inline_need_kvnet();
	if (system("modprobe -D netconsole > /dev/null 2>&1"))
		ksft_skip("no netconsole");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	rx_inline_ready();
	rx_inline_warm_up();
	ksft_file_set(DEVKMSG, "on\n");
	snprintf(command, sizeof(command), "modprobe netconsole netconsole=%u@10.9.8.1/%s,%u@10.9.8.2/02:00:00:00:00:01",
		 PORT - 1, rig.name, PORT);
	ASSERT_EQ(system(command), 0);
	while (next_frame(100) >= 0)
		;
	say(0);
	wait_for(LINE);
}

CASE(frames_with_interrupts_off_go_to_the_worker)
{
	unsigned int i;
	long n_inline;

	console_begin();
	n_inline = rx_inline_counter("kvnet.rx.polls_inline");
	for (i = 1; i <= SOME && !ksft_failed(); i++) {
		say(i);
		EXPECT_EQ(wait_for(LINE), i);
	}
	EXPECT_EQ(rx_inline_counter("kvnet.rx.polls_inline"), n_inline);
	console_end();
	rig_close(&rig);
}

static void *say_all(void *arg)
{
	unsigned int i;

	for (i = 1; i <= MIXED; i++)
		say(i);
	return NULL;
}

CASE(frames_of_netconsole_and_others_keep_their_order)
{
	pthread_t thread;

	console_begin();
	ASSERT_EQ(pthread_create(&thread, NULL, say_all, NULL), 0);
	with_lines(LINE, MIXED, true);
	pthread_join(thread, NULL);
	console_end();
	rig_close(&rig);
}

/* The timer's interrupt dumps the trace to the consoles, once. */
CASE(frames_from_an_interrupt_arrive)
{
	console_begin();
	if (inject_put(FILTER, TIMER ":dump")) {
		with_lines("Dumping ftrace buffer", 1, false);
		inject_put(FILTER, "!" TIMER ":dump");
		inject_put(TRACING "tracing_on", "1");
		console_end();
		rig_close(&rig);
	} else {
		console_end();
		ksft_skip("the kernel does not trace functions");
	}
}

KSFT_MAIN()
