// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - module parameters, init and exit
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/task_work.h>
#include <net/genetlink.h>

#include "tap/gro.h"
#include "kvnet.h"
#include "nl/netlink.h"

unsigned int kvnet_param_max_mem_regions = 509;
module_param_named(max_mem_regions, kvnet_param_max_mem_regions, uint, 0444);
MODULE_PARM_DESC(max_mem_regions,
		 "Maximum number of regions in a memory table (default 509)");

unsigned int kvnet_param_max_iotlb_entries = 2048;
module_param_named(max_iotlb_entries, kvnet_param_max_iotlb_entries, uint, 0644);
MODULE_PARM_DESC(max_iotlb_entries,
		 "Maximum number of IOTLB entries per device; applies when an IOTLB is created (default 2048)");

static bool replace_vhost_net;
module_param(replace_vhost_net, bool, 0444);
MODULE_PARM_DESC(replace_vhost_net,
		 "Also provide /dev/vhost-net, for VMMs that cannot be given another path; vhost_net must not be loaded (default N)");

unsigned int kvnet_param_poll_us = 50;
module_param_named(poll_us, kvnet_param_poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us,
		 "Maximum busy polling of a worker before it sleeps, in us; applies when a device is made or reset; 0: off (default 50)");

bool kvnet_param_pin_rings = true;
module_param_named(pin_rings, kvnet_param_pin_rings, bool, 0644);
MODULE_PARM_DESC(pin_rings,
		 "Pin the rings' pages and map them into the kernel; applies at SET_OWNER (default Y)");

bool kvnet_param_tx_inline = true;
module_param_named(tx_inline, kvnet_param_tx_inline, bool, 0644);
MODULE_PARM_DESC(tx_inline,
		 "The vCPU thread that kicks transmits a single packet itself, if the kernel exports task_work_add(); applies at SET_OWNER (default Y)");

bool kvnet_param_rx_inline = true;
module_param_named(rx_inline, kvnet_param_rx_inline, bool, 0644);
MODULE_PARM_DESC(rx_inline,
		 "Receive a single frame in its sender's softirq instead of waking the worker; applies at SET_OWNER (default Y)");

unsigned int kvnet_param_tx_usecs = 400;
module_param_named(tx_usecs, kvnet_param_tx_usecs, uint, 0644);
MODULE_PARM_DESC(tx_usecs,
		 "Maximum delay of an interrupt for a few transmitted packets, in us, of devices with rx_inline; 0: no delay (default 400)");

unsigned int kvnet_param_rx_usecs = 100;
module_param_named(rx_usecs, kvnet_param_rx_usecs, uint, 0644);
MODULE_PARM_DESC(rx_usecs,
		 "Maximum time that short frames of a stream are coalesced, in us; applies at SET_OWNER; 0: off (default 100)");

bool kvnet_param_rx_direct = true;
module_param_named(rx_direct, kvnet_param_rx_direct, bool, 0644);
MODULE_PARM_DESC(rx_direct,
		 "Read frames from the tap's ring instead of by the tap's recvmsg(), where the result is the same (default Y)");

module_param_named(tx_direct, kvnet_param_tx_direct, bool, 0644);
MODULE_PARM_DESC(tx_direct,
		 "Pass frames to the network stack instead of to the tap's sendmsg(), where the result is the same; applies at SET_BACKEND (default Y)");

bool kvnet_param_shortcut = true;
module_param_named(shortcut, kvnet_param_shortcut, bool, 0644);
MODULE_PARM_DESC(shortcut,
		 "Pass frames to another tap of the same bridge straight into its ring, where bridge and stack would do the same (default Y)");

bool kvnet_param_fork_from_owner = true;
module_param_named(fork_from_owner_default, kvnet_param_fork_from_owner, bool, 0444);
MODULE_PARM_DESC(fork_from_owner_default,
		 "Workers are threads of the VMM unless it asks for kernel threads; before Linux 6.11 always kernel threads (default Y)");

bool kvnet_param_fork_owner_control;
module_param_named(fork_owner_control, kvnet_param_fork_owner_control, bool, 0644);
MODULE_PARM_DESC(fork_owner_control,
		 "Allow VHOST_SET_FORK_FROM_OWNER: kernel threads are not limited by RLIMIT_NPROC and pids.max (default N)");

/*
 * If init fails, the module is freed even if its reference count is not 0 (an open file, a
 * running netlink dump). So no step that hands out references precedes one that may fail.
 */
static int __init kvnet_init(void)
{
	int ret = kvnet_gro_init();

	if (ret)
		return ret;
	ret = kvnet_dev_module_init();
	if (ret)
		goto err_dev;
	ret = kvnet_chardev_register(replace_vhost_net);
	if (ret)
		goto err_chardev;
	ret = genl_register_family(&kvnet_netlink_family);
	if (ret)
		goto err_netlink;
	kvnet_chardev_enable();
	return 0;

err_netlink:
	kvnet_chardev_unregister();
err_chardev:
	kvnet_dev_module_exit();
err_dev:
	kvnet_gro_exit();
	return ret;
}

static void __exit kvnet_exit(void)
{
	kvnet_chardev_unregister();
	genl_unregister_family(&kvnet_netlink_family);
	kvnet_gro_exit();
	/* A task_work may have dropped its module reference, but not returned yet. */
	compat_synchronize_tasks();
	kvnet_dev_module_exit();
	kvnet_page_cache_exit();
}

module_init(kvnet_init);
module_exit(kvnet_exit);
MODULE_DESCRIPTION("In-kernel virtio-net backend for KVM");
MODULE_AUTHOR("The kvnet developers");
MODULE_LICENSE("GPL");
