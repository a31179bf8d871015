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
	main) echo "chardev ioctl dev kvnet netlink task_work worker stats trace" ;;
	chardev) echo "kvnet" ;;
	ioctl) echo "dev kvnet vq workers worker memtable features watch tap busy_poll stats trace" ;;
	dev | backend | iommu) echo "kvnet netlink vq worker memtable iotlb iotlb_miss features stats trace" ;;
	kvnet) echo "dev backend_info registry kick_mod rx_mod throttle page_cache watch vq tap vnet_hdr workers work busy_poll features stats trace" ;;
	tx | rx | rx_common | rx_inline) echo "kvnet rx_common kick_mod rx_mod page_cache dev vq tap vnet_hdr features worker busy_poll ring stats trace" ;;
	kick_mod | rx_mod) echo "ewma" ;;
	page_cache) echo "hva_map" ;;
	vq | vq_pop | vq_flush | vq_setup | vq_area) echo "vq tx_mod ring_pin features ring xlate memtable iotlb dirty_log iotlb_miss watch thread area features stats trace" ;;
	xlate) echo "area memtable iotlb ring" ;;
	dirty_log) echo "memtable" ;;
	ring_pin) echo "area" ;;
	worker | work | workers) echo "work workers worker run_state task_work thread busy_poll stats trace" ;;
	registry) echo "kvnet" ;;
	netlink | netlink_notify | netlink_set | netlink_fill_dev | netlink_fill_queue) echo "netlink kvnet registry workers worker task_work" ;;
	backend_info) echo "tap" ;;
	tap | tap_rx_copy | tap_tx | tap_tx_direct | tap_info) echo "tap packet frag features vnet_hdr stats trace" ;;
	packet) echo "features" ;;
	watch) echo "work stats trace" ;;
	iotlb) echo "stats trace" ;;
	ring | ring_split | ring_packed | ring_single) echo "ring ring_layout chain area" ;;
	chain) echo "" ;;
	stats) echo "hist" ;;
	trace) echo "vq work" ;;
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
