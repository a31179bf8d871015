// SPDX-License-Identifier: GPL-2.0
/*
 * Which features a vhost device offers: prints what VHOST_GET_FEATURES returns.
 *
 *	vhost_features DEVICE
 *
 * Exit status: 0, or 1 if the device cannot be opened or asked.
 */
#include <fcntl.h>
#include <linux/vhost.h>
#include <stdio.h>
#include <sys/ioctl.h>

int main(int argc, char **argv)
{
	const char *name = argc == 2 ? argv[1] : "";
	__u64 features;
	int fd = open(name, O_RDWR);

	if (fd < 0 || ioctl(fd, VHOST_GET_FEATURES, &features)) {
		perror(name);
		return 1;
	}
	printf("0x%llx\n", (unsigned long long)features);
	return 0;
}
