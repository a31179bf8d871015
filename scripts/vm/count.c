// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU: how often does each piece of code run, for which task?
 *
 *   qemu-system-x86_64 -plugin count.so,out=FILE ...
 *
 * The guest says what to count by an instruction that does nothing else, see
 * selftests/perf/mark.h. FILE has lines "WHOM TASK ADDRESS INSTRUCTIONS" in the end:
 * instructions that ran in the block at ADDRESS while the guest counted for WHOM and
 * TASK, a task_struct, was the current one. Only the kernel's are counted. Nothing is
 * sampled: code that runs with interrupts off counts as any other. A block that a fault
 * leaves early counts as whole.
 *
 * QEMU's headers are not needed: what is used of them, of version 10.0, stands here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct info;
struct tb;
struct insn;
struct reg;
struct array { char *data; unsigned int len; };		/* GArray, GByteArray */
struct reg_name { struct reg *reg; const char *name, *feature; };
enum { READS_REGISTERS = 1 };

void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*cb)(uint64_t, unsigned int));
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*cb)(uint64_t, struct tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct tb *tb, void (*cb)(unsigned int, void *),
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *insn, void (*cb)(unsigned int, void *),
					    int flags, void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*cb)(uint64_t, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct tb *tb);
struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t i);
size_t qemu_plugin_insn_data(const struct insn *insn, void *to, size_t len);
struct array *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(struct reg *reg, struct array *to);
struct array *g_byte_array_new(void);
struct array *g_byte_array_set_size(struct array *array, unsigned int size);

#define EXPORT	__attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 4;

#define KERNEL	0xffff800000000000ull
#define BUCKETS	(1u << 16)
#define SLOTS	256u

static const uint8_t marker[8] = { 0x0f, 0x1f, 0x84, 0x00, 0x74, 0x6e, 0x76, 0x6b };
enum { MARK_SWITCH = 1, MARK_BEGIN, MARK_END };

/* Code that is entered at its first instruction only. */
struct block {
	uint64_t address;
	size_t length;
	uint64_t *runs;		/* of each slot, from when it is first counted */
	struct block *next;
};

static struct block *blocks[BUCKETS];
static struct { uint64_t whom, task; } slots[SLOTS];
static unsigned int n_slots, slot;
static uint64_t switch_to, task, whom;
static bool counting;
static struct reg *rsi, *rdi;
static struct array *value;
static FILE *out;

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		abort();
	return memory;
}

static uint64_t read_register(struct reg *reg)
{
	uint64_t number = 0;

	g_byte_array_set_size(value, 0);
	if (reg && qemu_plugin_read_register(reg, value) == sizeof(number))
		memcpy(&number, value->data, sizeof(number));
	return number;
}

/* When there are too many tasks the last slot takes all others. */
static void find_slot(void)
{
	for (slot = 0; slot < n_slots; slot++)
		if (slots[slot].whom == whom && slots[slot].task == task)
			return;
	if (n_slots == SLOTS)
		slot = SLOTS - 1;
	else
		n_slots++;
	slots[slot].whom = whom;
	slots[slot].task = task;
}

static void run_marker(unsigned int cpu, void *data)
{
	uint64_t what = read_register(rsi), is = read_register(rdi);

	(void)cpu;
	(void)data;
	counting = what == MARK_BEGIN;
	if (what == MARK_SWITCH)
		switch_to = is;
	if (what == MARK_BEGIN) {
		whom = is;
		find_slot();
	}
}

static void run_block(unsigned int cpu, void *data)
{
	struct block *b = data;

	(void)cpu;
	/* its second argument is the task that goes on */
	if (b->address == switch_to) {
		task = read_register(rsi);
		if (counting)
			find_slot();
	}
	if (!counting)
		return;
	if (!b->runs)
		b->runs = allocate(SLOTS * sizeof(*b->runs));
	b->runs[slot]++;
}

static struct block *find_block(uint64_t address, size_t length)
{
	struct block **at = &blocks[(address ^ address >> 16) % BUCKETS];

	for (; *at; at = &(*at)->next)
		if ((*at)->address == address && (*at)->length == length)
			return *at;
	*at = allocate(sizeof(**at));
	(*at)->address = address;
	(*at)->length = length;
	return *at;
}

static void translated(uint64_t id, struct tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	uint8_t code[sizeof(marker)];
	struct insn *insn;

	(void)id;
	if (address >= KERNEL) {
		qemu_plugin_register_vcpu_tb_exec_cb(tb, run_block, READS_REGISTERS,
						     find_block(address, n));
		return;
	}
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		if (qemu_plugin_insn_data(insn, code, sizeof(code)) == sizeof(code) &&
		    !memcmp(code, marker, sizeof(code)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, run_marker, READS_REGISTERS, NULL);
	}
}

static void find_registers(uint64_t id, unsigned int cpu)
{
	struct array *all = qemu_plugin_get_registers();
	const struct reg_name *r = (const void *)all->data;
	unsigned int i;

	(void)id;
	(void)cpu;
	for (i = 0; i < all->len; i++) {
		if (!strcmp(r[i].name, "rsi"))
			rsi = r[i].reg;
		else if (!strcmp(r[i].name, "rdi"))
			rdi = r[i].reg;
	}
}

static void finish(uint64_t id, void *data)
{
	const struct block *b;
	unsigned int i, k;

	(void)id;
	(void)data;
	for (i = 0; i < BUCKETS; i++)
		for (b = blocks[i]; b; b = b->next)
			for (k = 0; k < n_slots; k++)
				if (b->runs && b->runs[k])
					fprintf(out, "%" PRIu64 " %" PRIx64 " %" PRIx64 " %" PRIu64 "\n",
						slots[k].whom, slots[k].task, b->address,
						b->runs[k] * b->length);
	fclose(out);
}

EXPORT int qemu_plugin_install(uint64_t id, const struct info *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "count: out=FILE is needed\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "w");
	value = g_byte_array_new();
	if (!out || !value)
		return -1;
	qemu_plugin_register_vcpu_init_cb(id, find_registers);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
