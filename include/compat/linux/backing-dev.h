/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_BACKING_DEV_H
#define _KVNET_COMPAT_BACKING_DEV_H

#include_next <linux/backing-dev.h>
#include <linux/mm.h>
#include <linux/version.h>

/*
 * Pin @n pages from @at on for writing, without a time limit; refuse pages of a file system
 * that tracks writes. Since Linux 6.5 pin_user_pages_fast() checks this itself for each page
 * (FOLL_LONGTERM). For older kernels it is checked here, under the same mmap_lock as the pin:
 * else other pages might be mapped in between.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
static inline bool compat_writes_tracked(struct mm_struct *mm, unsigned long at,
					 unsigned long end)
{
	struct vm_area_struct *vma;
	bool found = false;

	for (vma = find_vma(mm, at); vma && vma->vm_start < end;
	     vma = find_vma(mm, vma->vm_end))
		found |= vma->vm_flags & VM_SHARED && vma->vm_file &&
			 mapping_can_writeback(vma->vm_file->f_mapping);
	return found;
}

static inline int compat_pin_longterm(unsigned long at, int n,
				      struct page **page)
{
	struct mm_struct *mm = current->mm;
	int ret = -EFAULT;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	if (!compat_writes_tracked(mm, at, at + n * PAGE_SIZE))
		ret = pin_user_pages(at, n, FOLL_WRITE | FOLL_LONGTERM, page,
				     NULL);
	mmap_read_unlock(mm);
	return ret;
}
#else
static inline int compat_pin_longterm(unsigned long at, int n,
				      struct page **page)
{
	return pin_user_pages_fast(at, n, FOLL_WRITE | FOLL_LONGTERM, page);
}
#endif

#endif /* _KVNET_COMPAT_BACKING_DEV_H */
