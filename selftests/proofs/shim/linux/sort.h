/* SPDX-License-Identifier: GPL-2.0 */
/* CBMC has no model of qsort(): insertion, of elements that are made of words. */
#ifndef PROOFS_SHIM_LINUX_SORT_H
#define PROOFS_SHIM_LINUX_SORT_H

#include <linux/types.h>

static inline void sort(void *base, size_t num, size_t size,
			int (*cmp)(const void *, const void *), void *swap)
{
	size_t words = size / sizeof(u64), i, j, k;
	u64 *at, word;

	for (i = 1; i < num; i++) {
		for (j = i; j; j--) {
			at = (u64 *)base + j * words;
			if (cmp(at - words, at) <= 0)
				break;
			for (k = 0; k < words; k++, at++) {
				word = *at;
				*at = *(at - words);
				*(at - words) = word;
			}
		}
	}
}

#endif /* PROOFS_SHIM_LINUX_SORT_H */
