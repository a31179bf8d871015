// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - module parameters, init and exit
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "task_work.h"
#include "kvnet.h"
#include "netlink.h"

unsigned int kvnet_param_max_mem_regions = 509;
module_param_named(max_mem_regions, kvnet_param_max_mem_regions, uint, 0444);
MODULE_PARM_DESC(max_mem_regions,
		 "Most regions in a memory table (default 509)");

unsigned int kvnet_param_max_iotlb_entries = 2048;
module_param_named(max_iotlb_entries, kvnet_param_max_iotlb_entries, uint, 0644);
MODULE_PARM_DESC(max_iotlb_entries,
		 "Most translations that a device keeps of a vIOMMU's, for IOTLBs made from now on (default 2048)");

static bool replace_vhost_net;
module_param(replace_vhost_net, bool, 0444);
MODULE_PARM_DESC(replace_vhost_net,
		 "Be /dev/vhost-net too, for VMMs that know no other name; vhost_net must not be loaded (default N)");

unsigned int kvnet_param_poll_us = 50;
module_param_named(poll_us, kvnet_param_poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us,
		 "Longest spin before a worker sleeps, in us, for devices opened from now on; 0: none (default 50)");

bool kvnet_param_pin_rings = true;
module_param_named(pin_rings, kvnet_param_pin_rings, bool, 0644);
MODULE_PARM_DESC(pin_rings,
		 "Pin the pages of rings and map them into the kernel, for devices that get an owner from now on (default Y)");

bool kvnet_param_tx_inline = true;
module_param_named(tx_inline, kvnet_param_tx_inline, bool, 0644);
MODULE_PARM_DESC(tx_inline,
		 "A vCPU that kicks sends a lone packet itself, of devices that get an owner from now on, where the kernel can (default Y)");

bool kvnet_param_rx_inline = true;
module_param_named(rx_inline, kvnet_param_rx_inline, bool, 0644);
MODULE_PARM_DESC(rx_inline,
		 "Who puts a lone frame into a tap copies it into the guest, of devices that get an owner from now on, where the kernel can (default Y)");

unsigned int kvnet_param_tx_usecs = 400;
module_param_named(tx_usecs, kvnet_param_tx_usecs, uint, 0644);
MODULE_PARM_DESC(tx_usecs,
		 "Longest time until a driver hears of a few packets that have been sent, in us, of devices that receive in place; 0: at once (default 400)");

unsigned int kvnet_param_rx_usecs = 100;
module_param_named(rx_usecs, kvnet_param_rx_usecs, uint, 0644);
MODULE_PARM_DESC(rx_usecs,
		 "Longest time that short frames of a stream wait for more, in us, of devices that get an owner from now on; 0: they do not (default 100)");

bool kvnet_param_rx_direct = true;
module_param_named(rx_direct, kvnet_param_rx_direct, bool, 0644);
MODULE_PARM_DESC(rx_direct,
		 "Copy frames out of a tap's ring, where nothing tells the way from a call of the tap (default Y)");

module_param_named(tx_direct, kvnet_param_tx_direct, bool, 0644);
MODULE_PARM_DESC(tx_direct,
		 "Frames go to the host past the tap's socket where that is the same but for the time it takes, for backends set from now on (default Y)");

static bool fork_from_owner_default = true;
module_param(fork_from_owner_default, bool, 0444);
MODULE_PARM_DESC(fork_from_owner_default,
		 "Workers are threads of the VMM, unless it chooses otherwise; else kernel threads, as on kernels before 6.11 (default Y)");

bool kvnet_param_fork_owner_control;
module_param_named(fork_owner_control, kvnet_param_fork_owner_control, bool, 0644);
MODULE_PARM_DESC(fork_owner_control,
		 "A VMM may choose kernel threads, which RLIMIT_NPROC and pids.max do not bound; else SET_FORK_FROM_OWNER is unknown (default N)");

/* The default of a device: true if its workers are threads of the owner's process. */
bool kvnet_param_fork_from_owner(void)
{
	return fork_from_owner_default && kvnet_thread_has_vhost_task();
}

/*
 * If init fails, the module is freed even if its reference count is not 0 (an open file, a
 * running netlink dump). So no step that hands out references precedes one that may fail.
 */
static int __init kvnet_init(void)
{
	int ret = kvnet_dev_module_init();

	if (ret)
		return ret;
	ret = kvnet_chardev_register(replace_vhost_net);
	if (ret)
		goto err_chardev;
	ret = kvnet_netlink_register();
	if (ret)
		goto err_netlink;
	kvnet_chardev_enable();
	return 0;

err_netlink:
	kvnet_chardev_unregister();
err_chardev:
	kvnet_dev_module_exit();
	return ret;
}

static void __exit kvnet_exit(void)
{
	kvnet_chardev_unregister();
	kvnet_netlink_unregister();
	kvnet_task_work_exit();
	kvnet_dev_module_exit();
	kvnet_page_cache_exit();
}

module_init(kvnet_init);
module_exit(kvnet_exit);
MODULE_DESCRIPTION("In-kernel virtio-net backend for KVM");
MODULE_AUTHOR("The kvnet developers");
MODULE_LICENSE("GPL");
