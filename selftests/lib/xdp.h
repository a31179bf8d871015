/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xdp - XDP programs, loaded and attached. For the network namespace of the caller.
 */
#ifndef SELFTESTS_XDP_H
#define SELFTESTS_XDP_H

#include <linux/bpf.h>

/* A program's descriptor, or -errno. */
int xdp_load(const struct bpf_insn *code, unsigned int n);
/* One that has the same verdict on all frames, such as XDP_DROP. */
int xdp_load_verdict(int verdict);
/* The driver runs it; -1: none from now on. 0 or -errno. */
int xdp_attach(int ifindex, int program);
/* The same, but that the stack runs it. */
int xdp_attach_generic(int ifindex, int program);
/* All frames of the device go on to another one; 0 or -errno. */
int xdp_redirect(int ifindex, int to);

#endif /* SELFTESTS_XDP_H */
