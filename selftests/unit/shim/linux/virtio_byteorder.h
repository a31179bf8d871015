/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_VIRTIO_BYTEORDER_H
#define UNIT_SHIM_LINUX_VIRTIO_BYTEORDER_H

#include <endian.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/virtio_types.h>

static inline bool virtio_legacy_is_little_endian(void)
{
	return __BYTE_ORDER == __LITTLE_ENDIAN;
}

#define le16_to_cpu(v)	le16toh(v)
#define le32_to_cpu(v)	le32toh(v)
#define le64_to_cpu(v)	le64toh(v)
#define cpu_to_le16(v)	htole16(v)
#define cpu_to_le32(v)	htole32(v)
#define cpu_to_le64(v)	htole64(v)
#define cpu_to_be64(v)	htobe64(v)
#define be64_to_cpu(v)	be64toh(v)

#define UNIT_BYTEORDER(bits)						\
static inline u##bits __virtio##bits##_to_cpu(bool le, __virtio##bits v)	\
{									\
	return le ? le##bits##toh(v) : be##bits##toh(v);		\
}									\
static inline __virtio##bits __cpu_to_virtio##bits(bool le, u##bits v)	\
{									\
	return le ? htole##bits(v) : htobe##bits(v);			\
}

UNIT_BYTEORDER(16)
UNIT_BYTEORDER(32)
UNIT_BYTEORDER(64)

#endif /* UNIT_SHIM_LINUX_VIRTIO_BYTEORDER_H */
