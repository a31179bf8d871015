#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes a copy of the module's sources that counts nothing, for the laboratory to measure
# beside the real one (test "counters"): kvnet_uncounted.ko, whose node is
# /dev/kvnet_uncounted, and which may be loaded together with kvnet. An edit that finds
# nothing to change is an error: it would be measured for nothing.
#
#   scripts/uncounted.sh DIRECTORY
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# edit FILE SED-SCRIPT...: each of these changes it
edit()
{
	local file=$1 script

	shift
	for script; do
		cp "$DIR/$file" "$DIR/before"
		sed -i "$script" "$DIR/$file"
		! cmp -s "$DIR/before" "$DIR/$file" || die "$file: nothing there that \"$script\" would change"
	done
	rm "$DIR/before"
}

# what is its own where both are loaded; a family has 15 letters at most
rename_it()
{
	edit drivers/kvnet/Kbuild 's/^kvnet-y/kvnet_uncounted-y/' 's/^obj-m += kvnet\.o/obj-m += kvnet_uncounted.o/'
	edit drivers/kvnet/chr.c 's/\.name = "kvnet"/.name = "kvnet_uncounted"/'
	edit drivers/kvnet/trace.h 's/^#define TRACE_SYSTEM kvnet$/#define TRACE_SYSTEM kvnet_uncounted/'
	edit include/uapi/linux/kvnet.h 's/^\(#define KVNET_FAMILY_NAME\t\)"kvnet"/\1"kvnet_uncounted"/'
}

# counters, histograms, and the clock that is read for one of these
take_counters_away()
{
	edit drivers/kvnet/stats.h \
		'/^\tu64_stats_add(&stats->count\[which\], n);$/d' \
		'/^\tkvnet_hist_add(&stats->hist\[KVNET_HIST_turn_packets\], packets);$/d' \
		'/^\tif (unlikely(woken_ns) && packets)$/,+1d'
	edit drivers/kvnet/source.h 's/then = READ_ONCE(src->woken_ns);$/then = 0;/'
	edit drivers/kvnet/source.c \
		's/^\tnote_time(src, event);$/\t(void)note_time;/' \
		'/^\tif (event == KVNET_EV_KICK)$/{N;s/.*atomic_long_inc(&src->kicks);//}' \
		'/^\tatomic_long_inc(&src->wakes);$/d'
	edit drivers/kvnet/worker.c \
		's/WRITE_ONCE(src->polls_hit, src->polls_hit + 1);/(void)src;/' \
		's/WRITE_ONCE(src->polls_missed, src->polls_missed + 1);/(void)src;/'
}

[ $# -eq 1 ] || die "usage: uncounted.sh DIRECTORY"
DIR=$1
rm -rf "$DIR"
mkdir -p "$DIR/drivers/kvnet"
cp "$TOP/Kbuild" "$DIR/"
cp -r "$TOP/include" "$DIR/"
cp "$TOP"/drivers/kvnet/{Kbuild,*.[ch]} "$DIR/drivers/kvnet/"
rm -f "$DIR"/drivers/kvnet/*.mod.c
rename_it
take_counters_away
