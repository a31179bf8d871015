#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: what the guest and QEMU may negotiate, one feature at a time, on
# either version of QEMU; every combination pings and carries compared streams.
#
# @hosts: 6.12
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

# variant TITLE BITS [device options]
variant()
{
	run_test "variants: $1, QEMU $QEMU" guest_works "${@:2}"
}

variants_of_queues()
{
	variant "legacy device" "-$MODERN" disable-modern=on,disable-legacy=off
	variant "no mergeable buffers" "-$MRG_RXBUF $MODERN" mrg_rxbuf=off
	variant "no event index" "-$EVENT_IDX $MODERN" event_idx=off
	variant "no indirect descriptors" "-$INDIRECT $MODERN" indirect_desc=off
	variant "neither of the three, legacy" "-$MRG_RXBUF -$EVENT_IDX -$INDIRECT -$MODERN" \
		mrg_rxbuf=off,event_idx=off,indirect_desc=off,disable-modern=on,disable-legacy=off
}

variants_of_device()
{
	variant "no offloads offered" "-$MRG_RXBUF" \
		mrg_rxbuf=off,csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off
	variant "large receive queue" "$MRG_RXBUF" rx_queue_size=1024
	variant "no queue reset" "-$RING_RESET" queue_reset=off
	variant "no MSI-X" "$MRG_RXBUF" vectors=0
}

variants_of_packed()
{
	variant "packed rings" "$PACKED $MRG_RXBUF $INDIRECT $EVENT_IDX $MODERN" packed=on
	[ -z "${SHORT:-}" ] || return 0
	variant "packed rings, no event index, no indirect descriptors" "$PACKED -$EVENT_IDX -$INDIRECT" \
		packed=on,event_idx=off,indirect_desc=off
	variant "packed rings, no mergeable buffers, no MSI-X" "$PACKED -$MRG_RXBUF" packed=on,mrg_rxbuf=off,vectors=0
	variant "packed rings, large receive queue" "$PACKED" packed=on,rx_queue_size=1024
}

# one boot for each QEMU: the devices are exchanged while the guest runs
variants_main()
{
	# shellcheck disable=SC2034 # read by lib.sh
	local QEMU GUEST_MACHINE=pc

	use_qemu 10.0
	variant "defaults" "$MRG_RXBUF $INDIRECT $EVENT_IDX $MODERN"
	variants_of_queues
	variants_of_packed
	QEMU=7.2
	variant "packed rings" "$PACKED $MRG_RXBUF $INDIRECT $EVENT_IDX $MODERN" packed=on
	[ -n "${SHORT:-}" ] || variants_of_device
}

variants_main
