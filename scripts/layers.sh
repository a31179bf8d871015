#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The rooms of drivers/kvnet, in whatever folder, may include only what lies below them.
# One line per room: what its .c and .h files may include of ours.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# stats.h and trace.h are leaves that every room may include but the pure ones
allowed()
{
	case $1 in
	main) echo "chr ioctl dev net netlink lend place worker stats trace" ;;
	chr) echo "net" ;;
	ioctl) echo "dev net vq crew worker mem features notify tap poll stats trace" ;;
	dev | dev_iommu | owner | close | msg) echo "net netlink vq worker mem iotlb miss features stats trace" ;;
	net) echo "dev port registry pace lone bar resident notify vq tap hdr crew source poll features stats trace" ;;
	tx | rx | rx_place) echo "net rx pace lone resident dev vq tap hdr features worker poll ring stats trace" ;;
	pace | lone) echo "cost" ;;
	resident) echo "pages" ;;
	vq | vq_pop | vq_flush | vq_setup | vq_area) echo "vq defer pin features ring xlate mem iotlb dirty miss notify thread area features stats trace" ;;
	xlate) echo "area mem iotlb ring" ;;
	dirty) echo "mem" ;;
	pin) echo "area" ;;
	worker | source | crew) echo "source crew worker claim lend thread poll stats trace" ;;
	registry) echo "net" ;;
	netlink | event | set | fill_dev | fill_queue) echo "netlink net registry crew worker lend" ;;
	port) echo "tap" ;;
	tap | tap_copy | tap_send | tap_direct | tap_look) echo "tap packet frag features hdr stats trace" ;;
	packet) echo "features" ;;
	notify) echo "source stats trace" ;;
	iotlb) echo "stats trace" ;;
	ring | ring_split | ring_packed | ring_plain) echo "ring ring_layout chain area" ;;
	chain) echo "" ;;
	stats) echo "hist" ;;
	trace) echo "vq source" ;;
	*) echo "" ;;
	esac
}

main()
{
	local file room include bad=0

	while read -r file; do
		room=$(basename "${file%.[ch]}")
		while read -r include; do
			case " $room $(allowed "$room") " in
			*" $include "*) ;;
			*)
				echo "layers: ${file#"$TOP"/} may not include $include.h"
				bad=1
				;;
			esac
		done < <(sed -n 's,^#include "\(.*/\)\?\([a-z_]*\)\.h".*,\2,p' "$file")
	done < <(find "$TOP/drivers/kvnet" -name '*.[ch]' ! -name '*.mod.c' | sort)
	return $bad
}

main
