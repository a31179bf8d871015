// SPDX-License-Identifier: GPL-2.0
/*
 * What an exit of the guest costs, by how far it goes: a module for the guest of
 * the paper's Table 2. Loading it measures one kind, and prints a line per sample.
 *
 *   kernel     a hypercall that KVM does not know: guest, KVM, guest
 *   user       a write to a port that no device has: guest, KVM, QEMU, KVM, guest
 *   ioeventfd  a notification of the network device's first queue by its port,
 *              which KVM turns into an eventfd: guest, KVM, guest; it wakes the
 *              worker of the queue
 */
#include <linux/io.h>
#include <linux/kvm_para.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/pci.h>

#define UNKNOWN_HYPERCALL	0x7fff
#define UNUSED_PORT		0xeb
#define VIRTIO_VENDOR		0x1af4
#define VIRTIO_NET_TRANSITIONAL	0x1000
#define VIRTIO_NOTIFY		16	/* offset of the port */

static char *kind = "kernel";
module_param(kind, charp, 0444);
static unsigned int rounds = 2000;
module_param(rounds, uint, 0444);
static unsigned int samples = 10;
module_param(samples, uint, 0444);

static void call_kernel(unsigned long port)
{
	kvm_hypercall0(UNKNOWN_HYPERCALL);
}

static void call_user(unsigned long port)
{
	outb(0, port);
}

static void call_ioeventfd(unsigned long port)
{
	outw(0, port);
}

static void measure(void (*call)(unsigned long), unsigned long port)
{
	unsigned int i, k;
	u64 begin;

	for (k = 0; k <= samples; k++) {
		begin = ktime_get_ns();
		for (i = 0; i < rounds; i++)
			call(port);
		/* the first is a warm-up */
		if (k)
			pr_info("kind=%s sample=%u n=%u ns=%llu\n", kind, k, rounds, ktime_get_ns() - begin);
	}
}

static unsigned long notify_port(void)
{
	struct pci_dev *pdev = pci_get_device(VIRTIO_VENDOR, VIRTIO_NET_TRANSITIONAL, NULL);
	unsigned long port = 0;

	if (pdev && (pci_resource_flags(pdev, 0) & IORESOURCE_IO))
		port = pci_resource_start(pdev, 0) + VIRTIO_NOTIFY;
	pci_dev_put(pdev);
	return port;
}

static int __init hypercall_init(void)
{
	unsigned long port;

	if (!kvm_para_available())
		return -ENODEV;
	if (!strcmp(kind, "kernel")) {
		measure(call_kernel, 0);
	} else if (!strcmp(kind, "user")) {
		measure(call_user, UNUSED_PORT);
	} else if (!strcmp(kind, "ioeventfd")) {
		port = notify_port();
		if (!port)
			return -ENODEV;
		measure(call_ioeventfd, port);
	} else {
		return -EINVAL;
	}
	return 0;
}

static void __exit hypercall_exit(void)
{
}

module_init(hypercall_init);
module_exit(hypercall_exit);
MODULE_DESCRIPTION("Cost of a null hypercall");
MODULE_LICENSE("GPL");
