// SPDX-License-Identifier: GPL-2.0
/* Filters that drop all frames: see filters.h. */
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <sys/uio.h>

#include "filters.h"
#include "ksft.h"
#include "links.h"
#include "netlink.h"

/*** tc ***/

/* of enum bpf_attach_type, since Linux 6.6 */
#define TCX_INGRESS	46
#define TCX_EGRESS	47

static int tcx = -1, clsact;	/* a link; the device that has such a qdisc */

/* return TC_ACT_SHOT */
static int load_drop(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = TC_ACT_SHOT },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SCHED_CLS,
		.insn_cnt = 2,
		.insns = (uintptr_t)code,
		.license = (uintptr_t)"GPL",
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

static int add_tcx(int program, int ifindex, bool egress)
{
	union bpf_attr attr = { .link_create = {
		.prog_fd = program, .target_ifindex = ifindex,
		.attach_type = egress ? TCX_EGRESS : TCX_INGRESS } };

	tcx = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return tcx < 0 ? -errno : 0;
}

static int change_clsact(int type, int flags, int ifindex)
{
	const struct tcmsg t = { .tcm_ifindex = ifindex, .tcm_parent = TC_H_CLSACT,
				 .tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0) };
	struct nl_request r = nl_ask(type, flags, &t, sizeof(t));

	nl_put(&r, TCA_KIND, "clsact", 7);
	return nl_answer(&r);
}

static int add_classifier(int program, int ifindex, bool egress)
{
	const struct tcmsg t = { .tcm_ifindex = ifindex, .tcm_info = 1 << 16 | htons(ETH_P_ALL),
		.tcm_parent = TC_H_MAKE(TC_H_CLSACT, egress ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS) };
	struct nl_request r = nl_ask(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, &t, sizeof(t));
	const uint32_t fd = program, flags = TCA_BPF_FLAG_ACT_DIRECT;
	struct rtattr *options;

	nl_put(&r, TCA_KIND, "bpf", 4);
	options = nl_nest(&r, TCA_OPTIONS);
	nl_put(&r, TCA_BPF_FD, &fd, sizeof(fd));
	nl_put(&r, TCA_BPF_NAME, "drop", 5);
	nl_put(&r, TCA_BPF_FLAGS, &flags, sizeof(flags));
	nl_nest_end(&r, options);
	return nl_answer(&r);
}

static int add_clsact(int program, int ifindex, bool egress)
{
	int ret;

	link_module("sch_ingress");
	link_module("cls_bpf");
	ret = change_clsact(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, ifindex);
	if (!ret)
		clsact = ifindex;
	return ret ? ret : add_classifier(program, ifindex, egress);
}

int filter_tc(int ifindex, bool egress)
{
	int program = load_drop(), ret = program;

	if (program < 0)
		return ret;
	ret = add_tcx(program, ifindex, egress);
	if (ret == -EINVAL)
		ret = add_clsact(program, ifindex, egress);
	close(program);
	return ret;
}

void filter_tc_end(void)
{
	if (tcx >= 0)
		close(tcx);
	tcx = -1;
	if (clsact)
		ASSERT_EQ(change_clsact(RTM_DELQDISC, 0, clsact), 0);
	clsact = 0;
}

/*** nft ***/

#define TABLE	"drop_all"

static struct nl_request ask_nft(int type, int flags, uint8_t family)
{
	const struct nfgenmsg head = { .nfgen_family = family };

	return nl_ask(NFNL_SUBSYS_NFTABLES << 8 | type, flags, &head, sizeof(head));
}

static struct nl_request ask_batch(int type)
{
	const struct nfgenmsg head = { .res_id = htons(NFNL_SUBSYS_NFTABLES) };
	struct nl_request r = nl_ask(type, 0, &head, sizeof(head));

	r.n.nlmsg_flags &= ~NLM_F_ACK;
	return r;
}

static void put_text(struct nl_request *r, unsigned short type, const char *text)
{
	nl_put(r, type, text, strlen(text) + 1);
}

/* In one transaction; the first answer that is an error. */
static int transact(struct nl_request *r, unsigned int n)
{
	struct nl_request begin = ask_batch(NFNL_MSG_BATCH_BEGIN);
	struct nl_request end = ask_batch(NFNL_MSG_BATCH_END);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER), ret = 0;
	struct iovec v[4] = { { &begin, begin.n.nlmsg_len } };
	struct {
		struct nlmsghdr n;
		struct nlmsgerr e;
		uint8_t more[1024];
	} a;
	unsigned int i;

	if (fd < 0)
		return -errno;
	ASSERT(n <= 2);
	for (i = 0; i < n; i++)
		v[1 + i] = (struct iovec){ &r[i], NLMSG_ALIGN(r[i].n.nlmsg_len) };
	v[1 + n] = (struct iovec){ &end, end.n.nlmsg_len };
	ASSERT(writev(fd, v, n + 2) > 0);
	for (i = 0; i < n && !ret; i++) {
		ASSERT(recv(fd, &a, sizeof(a), 0) >= (ssize_t)(sizeof(a.n) + sizeof(a.e)));
		ASSERT_EQ(a.n.nlmsg_type, NLMSG_ERROR);
		ret = a.e.error;
	}
	close(fd);
	return ret;
}

/* A chain at a hook, of a device if there is one: its policy is to drop. */
static int add_chain(uint8_t family, uint32_t hook, const char *device)
{
	const uint32_t priority = 0, policy = htonl(NF_DROP);
	struct nl_request r[] = { ask_nft(NFT_MSG_NEWTABLE, NLM_F_CREATE, family),
				  ask_nft(NFT_MSG_NEWCHAIN, NLM_F_CREATE, family) };
	struct rtattr *nest;

	/* busybox does not load what a module only asks the kernel for */
	link_module("crc32c_generic");
	link_module("nf_tables");
	hook = htonl(hook);
	put_text(&r[0], NFTA_TABLE_NAME, TABLE);
	put_text(&r[1], NFTA_CHAIN_TABLE, TABLE);
	put_text(&r[1], NFTA_CHAIN_NAME, "chain");
	nest = nl_nest(&r[1], NFTA_CHAIN_HOOK | NLA_F_NESTED);
	nl_put(&r[1], NFTA_HOOK_HOOKNUM, &hook, sizeof(hook));
	nl_put(&r[1], NFTA_HOOK_PRIORITY, &priority, sizeof(priority));
	if (device)
		put_text(&r[1], NFTA_HOOK_DEV, device);
	nl_nest_end(&r[1], nest);
	nl_put(&r[1], NFTA_CHAIN_POLICY, &policy, sizeof(policy));
	put_text(&r[1], NFTA_CHAIN_TYPE, "filter");
	return transact(r, 2);
}

int filter_nft_bridge(void)
{
	return add_chain(NFPROTO_BRIDGE, NF_INET_FORWARD, NULL);
}

int filter_nft_device(const char *name, bool egress)
{
	return add_chain(NFPROTO_NETDEV, egress ? NF_NETDEV_EGRESS : NF_NETDEV_INGRESS, name);
}

static void delete_table(uint8_t family)
{
	struct nl_request r = ask_nft(NFT_MSG_DELTABLE, 0, family);

	put_text(&r, NFTA_TABLE_NAME, TABLE);
	transact(&r, 1);
}

void filter_nft_end(void)
{
	delete_table(NFPROTO_BRIDGE);
	delete_table(NFPROTO_NETDEV);
}
