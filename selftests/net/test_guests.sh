#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: guests with other kernels than the test host's, on modern and
# legacy devices, with large receive queues and packed rings refused, on both
# versions of QEMU; and with rings used in order, which the newest guests take (Linux
# 7.2 does, 6.12 does not). Needs vm.sh --guests.
#
# @hosts: 6.1
# @skip: (net|test)-.* | the newest kernel could not be had | no network to backports
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

GUESTS_DIR=/kvnet/guests
LEGACY=disable-modern=on,disable-legacy=off

# What the guest has agreed on may have stayed in QEMU: has the backend been told?
backend_feature()
{
	local word

	[ "$BACKEND" = kvnet ] || return 0
	word=$(kvnet_counters | sed -n 's/^kvnet\.features:[^0-9]*//p' | head -n 1)
	[ $((word >> $1 & 1)) = "$2" ]
}

# asked_for NAME BIT DEVICE-OPTIONS: "NAME=on" among them, in the guest and in the backend
asked_for()
{
	local want=0

	[[ ,$3, != *,$1=on,* ]] || want=1
	guest_feature "$2" $want || fail "$1: the guest should have $want" || return
	backend_feature "$2" $want || fail "$1: the backend should have $want: $(kvnet_counters | grep features)"
}

# guest_boots KERNEL-RELEASE DEVICE-OPTIONS: and has what was asked for
guest_boots()
{
	guest_need "$2" || return
	[ "$(guest uname -r)" = "$1" ] || fail "the guest runs $(guest uname -r), not $1" || return
	if [[ $2 == *disable-modern=on* ]]; then
		guest_feature $MODERN 0 || fail "the device is not legacy" || return
	else
		guest_feature $MODERN 1 || fail "the device is not modern" || return
	fi
	[[ $2 != *rx_queue_size=1024* ]] || [ "$(guest 'ethtool -g eth0 | sed -n "s/^RX:[^0-9]*//p" | tail -n 1')" = 1024 ] ||
		fail "the receive queue has not 1024 entries: $(guest ethtool -g eth0)" || return
	asked_for packed $PACKED "$2" && asked_for in_order $IN_ORDER "$2"
}

# guest_case SERIES QEMU DEVICE-OPTIONS: the series "own" is the test host's
guest_case()
{
	local QEMU release GUEST_KERNEL='' GUEST_CPIO=''

	use_qemu "$2"
	release=$(uname -r)
	if [ "$1" != own ]; then
		# shellcheck disable=SC2034 # read by lib.sh
		GUEST_KERNEL=$GUESTS_DIR/$1/kernel GUEST_CPIO=$GUESTS_DIR/$1/guest.cpio
		release=$(cat "$GUESTS_DIR/$1/release")
	fi
	run_test "guests: $release, QEMU $QEMU, ${3//,/ }" guest_of_kernel_works "$release" "$3"
}

# guest_of_kernel_works KERNEL-RELEASE DEVICE-OPTIONS
guest_of_kernel_works()
{
	guest_boots "$@" && ping_guest 20 && streams_both_ways $((2 << 20)) && ping_guest 20
}

guests_newest()
{
	if [ ! -e $GUESTS_DIR/newest/kernel ]; then
		skip guests "the newest kernel could not be had"
		return
	fi
	guest_case newest 10.0 $LEGACY
	guest_case newest 10.0 packed=off,rx_queue_size=1024
	if [ "$BACKEND" = kvnet ] && [ -d /opt/qemu-10.0 ]; then
		guest_case newest 10.0 in_order=on
		guest_case newest 10.0 in_order=on,packed=on
	else
		skip guests "in order: needs QEMU 10.0 and kvnet"
	fi
}

# Modern and legacy, small and large queues, over the kernels and both QEMUs; the test host's
# own kernel, 6.1 in "make test", has the rest in test_variants.sh. One boot for each kernel:
# the devices are exchanged while the guest runs.
guests_all()
{
	# shellcheck disable=SC2034 # read by lib.sh
	local GUEST_MACHINE=pc

	guest_case own 7.2 packed=off,rx_queue_size=1024
	guest_case own 7.2 $LEGACY,rx_queue_size=1024
	# all other tests have 6.12, on its own kernel
	[ -n "${SHORT:-}" ] || [[ $(uname -r) == 6.12.* ]] || guest_case 6.12 10.0 packed=off
	guests_newest
}

if [ -d $GUESTS_DIR ]; then
	guests_all
else
	skip guests "no other kernels in the test host (vm.sh --guests)"
fi
guest_stop
