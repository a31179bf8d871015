// SPDX-License-Identifier: GPL-2.0
/* Swap space: see swap.h. */
#include "swap.h"

#include "ksft.h"
#include "pin_rig.h"

void swap_need(void)
{
	if (system("grep -q /dev/vda /proc/swaps || "
		   "{ modprobe -a virtio_pci virtio_blk && mkswap /dev/vda && swapon /dev/vda; } "
		   "> /dev/null 2>&1"))
		ksft_skip("no disk to swap to");
}

unsigned long swapped_kb(void)
{
	return strtoul(word_of("/proc/self/status", "VmSwap"), NULL, 10);
}
