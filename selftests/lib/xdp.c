// SPDX-License-Identifier: GPL-2.0
/* XDP programs: see xdp.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netlink.h"
#include "xdp.h"

int xdp_load(const struct bpf_insn *code, unsigned int n)
{
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insn_cnt = n,
		.insns = (uintptr_t)code,
		.license = (uintptr_t)"GPL",
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

/* r0 = verdict; exit */
int xdp_load_verdict(int verdict)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = verdict },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return xdp_load(code, 2);
}

/* bpf_redirect(ifindex, 0) */
static int load_redirect(int ifindex)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = ifindex },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return xdp_load(code, 4);
}

static int attach(int ifindex, int program, uint32_t flags)
{
	const struct ifinfomsg link = { .ifi_index = ifindex };
	struct nl_request r = nl_ask(RTM_SETLINK, 0, &link, sizeof(link));
	struct rtattr *xdp = nl_nest(&r, IFLA_XDP | NLA_F_NESTED);

	nl_put(&r, IFLA_XDP_FD, &program, sizeof(program));
	nl_put(&r, IFLA_XDP_FLAGS, &flags, sizeof(flags));
	nl_nest_end(&r, xdp);
	return nl_answer(&r);
}

int xdp_attach(int ifindex, int program)
{
	return attach(ifindex, program, XDP_FLAGS_DRV_MODE);
}

int xdp_attach_generic(int ifindex, int program)
{
	return attach(ifindex, program, XDP_FLAGS_SKB_MODE);
}

int xdp_redirect(int ifindex, int to)
{
	int fd = load_redirect(to), ret = fd;

	if (fd >= 0) {
		ret = xdp_attach(ifindex, fd);
		close(fd);
	}
	return ret;
}
