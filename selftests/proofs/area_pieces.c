// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: the accessors to an area of several pieces access nothing outside of a piece, at any
 *	offset and length, and fail beyond the area's end
 * @bounds: up to 2 pieces of any length; copies of up to 4 bytes
 * @sources: mem/area.c
 * @unwind: 4
 * @mutant: mem/area.c: if (a->piece[mid].off <= off) => if (a->piece[mid].off < off)
 * @mutant: mem/area.c: *len = min(*len, end - off); => *len = min(*len, end - off + 1);
 * @mutant: mem/area.c: if (off >= a->len || => if (off > a->len ||
 */
#define GUEST_HOOKS
#include "guest.h"
#include "area.h"

#define PIECES	2

static u32 done;	/* bytes of successful copies */

static void guest_has_read(uintptr_t at, const void *val, size_t len)
{
	done += len;
}

static void guest_has_written(uintptr_t at, const void *val, size_t len)
{
	done += len;
}

int main(void)
{
	struct kvnet_area_piece piece[PIECES];
	struct kvnet_area a = { .n = any_u32(), .len = any_u32(), .piece = piece };
	u32 off = any_u32(), len = any_u32(), i, end;
	__virtio16 val;
	u16 buf[2];
	int ret;

	ASSUME(a.n >= 1 && a.n <= PIECES && len <= sizeof(buf) && len % 2 == 0);
	ASSUME(off <= U32_MAX - sizeof(buf));
	ASSUME(piece[0].off == 0);
	for (i = 0; i < PIECES && i < a.n; i++) {
		end = i + 1 < a.n ? piece[i + 1].off : a.len;
		/* pieces end between fields of two bytes */
		ASSUME(end > piece[i].off && end % 2 == 0);
		piece[i].base = guest_area(i, end - piece[i].off);
	}
	ASSUME(off % 2 == 0);

	switch (any_u8()) {
	case 0:
		ret = kvnet_area_load16(&a, off, &val);
		len = 2;
		break;
	case 1:
		ret = kvnet_area_store16(&a, off, any_u16());
		len = 2;
		break;
	case 2:
		ret = kvnet_area_read(buf, &a, off, len);
		break;
	default:
		ret = kvnet_area_write(&a, off, buf, len);
		break;
	}
	ASSERT(ret == 0 || ret == -EFAULT);
	ASSERT(IMPLIES(ret == 0 && len, off < a.len && len <= a.len - off));
	ASSERT(IMPLIES(ret == 0, done == len));
	return 0;
}
