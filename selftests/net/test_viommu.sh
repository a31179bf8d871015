#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: a guest with a virtual IOMMU in front of the network device: the
# backend sees addresses that only QEMU can translate, asks for translations, and drops
# them when the guest invalidates them. Traffic, a new start of the driver (the
# rings move), a reset of the machine; Intel's and virtio's IOMMU, strict (each
# buffer is invalidated) and lazy.
#
# @hosts: 6.12
# @skip: .*-6\.1 | .* no driver for virtio-iommu | newer kernels have it
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

VIOMMU_DEVICE=iommu_platform=on,ats=on,disable-legacy=on,disable-modern=off
VIOMMU_BYTES=$((1 << 19))

# viommu_boot TYPE: what the guest's kernel calls the mode: DMA is strict, DMA-FQ lazy
viommu_boot()
{
	local dir=/sys/class/net/eth0/device said

	guest_stop
	tap_delete $TAP
	guest_need $VIOMMU_DEVICE && guest_has_layout || return
	guest_feature $ACCESS_PLATFORM 1 || return
	said=$(guest "cat \$(readlink -f $dir/..)/iommu_group/type")
	[ "$said" = "$1" ] || fail "the card's IOMMU domain is '$said', not $1"
}

# the guest's own trace: the driver got addresses that are no physical ones
viommu_translates()
{
	local said

	guest 'mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null;
		echo 1 > /sys/kernel/tracing/events/iommu/map/enable' || return
	ping_guest 20 || return
	said=$(guest 'cd /sys/kernel/tracing; echo 0 > events/iommu/map/enable;
		sed -n "s/.*iova=0x\([0-9a-f]*\) .*paddr=0x\([0-9a-f]*\) .*/\1 \2/p" trace | { n=0; moved=0;
			while read -r a b; do n=$((n + 1)); [ $a = $b ] || moved=$((moved + 1)); done; echo $n $moved; };
		echo > trace')
	echo "# pages mapped during 20 pings, and how many elsewhere than where they are: $said"
	[ "${said#* }" -gt 0 ] || fail "nothing is translated"
}

viommu_traffic()
{
	ping_guest 20 && streams_both_ways $VIOMMU_BYTES
}

viommu_reachable()
{
	guest_reachable 30 && return
	[ "$BACKEND" != kvnet ] || kvnet_counters | grep -v '[[:space:]]0$'
	fail "the guest is lost after $1"
}

viommu_works()
{
	viommu_boot "$1" && viommu_translates && viommu_traffic &&
		guest_link_down_up && viommu_reachable "the link going down and up" &&
		guest_rebinds_driver && viommu_reachable "binding the driver anew" &&
		viommu_traffic && nothing_dropped
}

viommu_survives_reset()
{
	guest_reboots qmp system_reset && viommu_reachable "a reset" && viommu_translates && viommu_traffic && nothing_dropped
}

# viommu_case TITLE TYPE QEMU KERNEL-WORDS IOMMU-OPTIONS [reset]
viommu_case()
{
	# shellcheck disable=SC2034 # read by lib.sh
	local QEMU GUEST_MACHINE=q35,kernel-irqchip=split GUEST_APPEND=$4 GUEST_FIRST=(-device "$5")

	use_qemu "$3"
	run_test "viommu: $1, QEMU $QEMU" viommu_works "$2"
	[ -z "${6:-}" ] || run_test "viommu: $1, the machine is reset" viommu_survives_reset
	guest_stop
}

# with packed rings, which vhost_net has not, unless it is all about others
viommu_packed_case()
{
	local LAYOUT=${LAYOUT:-}

	[ "$BACKEND" != kvnet ] || LAYOUT=${LAYOUT:-packed}
	viommu_case "$1${LAYOUT:+, $LAYOUT rings}" "${@:2}"
}

viommu_all()
{
	viommu_case "Intel, strict, with interrupt remapping" DMA 7.2 \
		"intel_iommu=on iommu.strict=1" intel-iommu,intremap=on,device-iotlb=on
	viommu_packed_case "Intel, lazy" DMA-FQ 10.0 \
		"intel_iommu=on iommu.strict=0" intel-iommu,intremap=off,device-iotlb=on
	# Debian's 6.1 has no driver for it
	if [[ $(uname -r) == 6.1.* ]]; then
		skip viommu "the guest's kernel has no driver for virtio-iommu"
	else
		viommu_case "virtio-iommu" DMA 10.0 "iommu.strict=1" virtio-iommu-pci reset
	fi
}

if load_backend && backend_offers $ACCESS_PLATFORM; then
	viommu_all
else
	skip viommu "the backend does not offer feature bit $ACCESS_PLATFORM"
fi
