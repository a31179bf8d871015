/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a kernel prints when something is wrong with it: extended regular expressions, for
 * ksft.c, which includes this, and for scripts/dmesg-verdict.sh, which takes what stands
 * between the quotes. One a line, without a backslash.
 */
"BUG:|kernel BUG at|WARNING:|Oops|Kernel panic|general protection fault",
"INFO: task .* blocked|INFO: rcu.* stall|rcu_.* detected stalls|soft lockup|hard LOCKUP",
"possible (recursive|circular|irq lock) |suspicious RCU usage|held lock freed",
"INFO: trying to register non-static key",
"KASAN:|KCSAN:|UBSAN:|kmemleak: [1-9][0-9]* new suspected|unreferenced object",
"refcount_t: |list_(add|del) corruption|scheduling while atomic|sleeping function called from invalid",
"wrong timeout value|unable to handle|double fault|stack-protector:|Bad page state|nobody cared",
"page allocation failure",
