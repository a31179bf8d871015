/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_NOSPEC_H
#define UNIT_SHIM_LINUX_NOSPEC_H

/* What a CPU does that guesses is for scripts/check-nospec.py to look after. */
#define array_index_nospec(index, size)	((void)(size), (index))

#endif /* UNIT_SHIM_LINUX_NOSPEC_H */
