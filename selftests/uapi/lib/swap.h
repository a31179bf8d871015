/* SPDX-License-Identifier: GPL-2.0 */
/* Swap space: on the disk of a test host, see scripts/vm.sh --disk; else a skip. */
#ifndef SELFTESTS_SWAP_H
#define SELFTESTS_SWAP_H

void swap_need(void);
/* Of this process, in KiB. */
unsigned long swapped_kb(void);

#endif /* SELFTESTS_SWAP_H */
