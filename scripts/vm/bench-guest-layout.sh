# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # what lib.sh and bench_row read
#
# The layouts of the ring side by side, pinned and not. All have the same guest: the
# newest kernel, which is the first to take VIRTIO_F_IN_ORDER, on QEMU 10.0, which is
# the first to offer it; without these, the test host's own and no row in order.

NEWEST=/kvnet/guests/newest
LAYOUT_COUNT=16000
PACKED=34
IN_ORDER=35

layout_has_newest()
{
	[ -e $NEWEST/kernel ] && [ -d /opt/qemu-10.0 ]
}

# does the guest's driver have what the name of the row says?
layout_is_so()
{
	local packed=0 in_order=0 ring=pinned

	[[ $SYSTEM != *-packed* ]] || packed=1
	[[ $SYSTEM != *-inorder* ]] || in_order=1
	[[ $SYSTEM != *-user ]] || ring=user
	guest_feature $PACKED $packed && guest_feature $IN_ORDER $in_order || fail "$SYSTEM" || return
	[ "$BACKEND" = kvnet ] || return 0
	[ "$(kvnet_counters | grep -c "\.access:[^a-z]*$ring$")" -eq 2 ] || fail "$SYSTEM: the rings are not both '$ring'"
}

layout_rows()
{
	local UDP_COUNT=$LAYOUT_COUNT dir size

	for size in 64 1472; do
		for dir in rx tx; do
			PARAMS="dir=$dir size=$size"
			datagrams $dir $size || return
		done
	done
}

test_layout()
{
	local own=$QEMU

	[ "$LANE" != vtime ] || bench_note "In the test layout the guest's own work for a packet falls into one of two states, with vhost_net too: compare cpu_worker, not rates."
	if layout_has_newest; then
		QEMU=10.0 GUEST_KERNEL=$NEWEST/kernel GUEST_CPIO=$NEWEST/guest.cpio
		# that kernel dies of the xsave that QEMU 7.2 emulates
		[ "$VM_ACCEL" != tcg ] || GUEST_CPU=max,-xsave,-avx,-avx2
		bench_fact layout-guest "$(cat $NEWEST/release), QEMU $QEMU"
	else
		bench_note "The test layout has no rows in order: the newest guest kernel or QEMU 10.0 could not be had."
	fi
	for SYSTEM in $LAYOUTS; do
		[[ $SYSTEM != *-inorder* ]] || layout_has_newest || continue
		system_start && layout_is_so && layout_rows || { say "$SYSTEM: no result for its layout"; FAILED=1; }
		system_stop
	done
	unset GUEST_KERNEL GUEST_CPIO GUEST_CPU
	QEMU=$own
}
