#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: what the guest and QEMU may negotiate, one feature at a time, on
# either version of QEMU; every combination pings and carries compared streams.
#
# @hosts: 6.12
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

MRG_RXBUF=15
INDIRECT=28
EVENT_IDX=29
MODERN=32
PACKED=34
RESET=40

variant_works()
{
	# shellcheck disable=SC2034 # read by traffic.sh
	local wanted=$1 DATAGRAMS=200

	shift
	# shellcheck disable=SC2086 # a list of bits
	guest_need "$@" && guest_features $wanted && ping_guest 20 &&
		stream_to_guest $((2 << 20)) && stream_to_host $((2 << 20)) && udp_to_guest 64
}

# variant TITLE BITS [device options]
variant()
{
	local title=$1

	shift
	run_test "variants: $title, QEMU $QEMU" variant_works "$@"
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
	variant "no queue reset" "-$RESET" queue_reset=off
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
# shellcheck disable=SC2034 # read by lib.sh
GUEST_MACHINE=pc
OLD_QEMU=$QEMU
QEMU=10.0
[ -d /opt/qemu-10.0 ] || QEMU=7.2
variant "defaults" "$MRG_RXBUF $INDIRECT $EVENT_IDX $MODERN"
variants_of_queues
variants_of_packed
QEMU=7.2
variant "packed rings" "$PACKED $MRG_RXBUF $INDIRECT $EVENT_IDX $MODERN" packed=on
[ -n "${SHORT:-}" ] || variants_of_device
QEMU=$OLD_QEMU
unset GUEST_MACHINE
