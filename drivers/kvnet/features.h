/* SPDX-License-Identifier: GPL-2.0 */
/*
 * features.h - the feature bits that kvnet offers, their dependencies, and what follows from
 * them: byte order and header lengths
 */
#ifndef _KVNET_FEATURES_H
#define _KVNET_FEATURES_H

#include <linux/bits.h>
#include <linux/types.h>
#include <linux/vhost_types.h>

/* In words of 64 bits, as in struct vhost_features_array. */
#define KVNET_FEATURES_WORDS	2

#define KVNET_FEATURES_BACKEND	BIT_ULL(VHOST_BACKEND_F_IOTLB_MSG_V2)

/* The longest header of any set of features, in bytes. */
#define KVNET_FEATURES_HDR_MAX	24

struct kvnet_features {
	u64 word[KVNET_FEATURES_WORDS];	/* bit n is bit n % 64 of word n / 64 */
};

static inline bool kvnet_features_has(const struct kvnet_features *f, unsigned int bit)
{
	return f->word[bit / 64] & BIT_ULL(bit % 64);
}

struct kvnet_features kvnet_features_offered(void);
int kvnet_features_check(const struct kvnet_features *f);
bool kvnet_features_is_le(const struct kvnet_features *f, bool legacy_le);
size_t kvnet_features_hdr_len(const struct kvnet_features *f);
size_t kvnet_features_tap_hdr_len(const struct kvnet_features *f);

#endif /* _KVNET_FEATURES_H */
