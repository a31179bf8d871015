# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Description: what the guest and QEMU may negotiate, one feature at a time, on
# both versions of QEMU; every combination pings and carries compared streams.

variant_works()
{
	guest_need "$@" && ping_guest 20 &&
		stream_to_guest $((8 << 20)) && stream_to_host $((8 << 20)) && udp_to_guest 64
}

variant()
{
	local title=$1

	shift
	run_test "variants: $title, QEMU $QEMU" variant_works "$@"
}

variants_of_queues()
{
	variant "legacy device" disable-modern=on,disable-legacy=off
	variant "no mergeable buffers" mrg_rxbuf=off
	variant "no event index" event_idx=off
	variant "no indirect descriptors" indirect_desc=off
	variant "neither of the three, legacy" \
		mrg_rxbuf=off,event_idx=off,indirect_desc=off,disable-modern=on,disable-legacy=off
}

variants_of_device()
{
	variant "no offloads offered" \
		mrg_rxbuf=off,csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off
	variant "large receive queue" rx_queue_size=1024
	variant "no queue reset" queue_reset=off
	variant "no MSI-X" vectors=0
}

OLD_QEMU=$QEMU
QEMU=10.0
[ -d /opt/qemu-10.0 ] || QEMU=7.2
variant "defaults"
variants_of_queues
QEMU=7.2
if [ -z "${SHORT:-}" ]; then
	variants_of_queues
	variants_of_device
fi
QEMU=$OLD_QEMU
