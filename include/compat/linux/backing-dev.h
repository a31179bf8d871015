/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_BACKING_DEV_H
#define _KVNET_COMPAT_BACKING_DEV_H

#include_next <linux/backing-dev.h>
#include <linux/mm.h>
#include <linux/version.h>

/*
 * Does a file system want to know when the memory in [@at, @at + @len) is
 * written? Since Linux 6.5 pin_user_pages() asks that itself (FOLL_LONGTERM).
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
static inline bool compat_writes_tracked(struct mm_struct *mm, unsigned long at,
					 unsigned long len)
{
	struct vm_area_struct *vma;
	bool found = false;

	if (mmap_read_lock_killable(mm))
		return true;
	for (vma = find_vma(mm, at); vma && vma->vm_start < at + len;
	     vma = find_vma(mm, vma->vm_end))
		found |= vma->vm_flags & VM_SHARED && vma->vm_file &&
			 mapping_can_writeback(vma->vm_file->f_mapping);
	mmap_read_unlock(mm);
	return found;
}
#else
static inline bool compat_writes_tracked(struct mm_struct *mm, unsigned long at,
					 unsigned long len)
{
	return false;
}
#endif

#endif /* _KVNET_COMPAT_BACKING_DEV_H */
