#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: the kernel's own tests of taps (tun.c and tap.c below tools/testing/selftests/net of
# the newest linux-source; scripts/setup-kernel-tests.sh), on the host: as they are, with kvnet
# loaded; and by way of a backend (tap_backend.c), which then has the tap when it is deleted,
# detached and closed, and sends and receives their frames. With kvnet each case must say what it
# says with vhost_net, and without both.
#
# The kernel of User-Mode Linux is older than these tests: it lacks UDP tunnels through a tap, and a
# fix. Cases of frames that the kernel refuses to send are left out: they wait for ten seconds each.
#
# Other tests below net that have taps: skf_net_off, whose frames begin with IFF_TAP's packet
# information, which a guest's do not have; ipvtap_test and link_netns, which send nothing.
#
# @tier: all
# @hosts: newest uml
# @skip: (net|test)-.* | the kernel's tests could not be had | no network to backports
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

TAP_DIR=/kvnet/kernel-tests/tools/testing/selftests/net
TAP_OUT=/tmp/tap-tests
TAP_TESTS="tun tap"

# tap_run WAY NODE: all of them, by a backend if a node is named; one verdict per line
tap_run()
{
	local preload='' test family words=(-F tun_vnet_udptnl)

	[ -z "$2" ] || preload=$(type -P tap_backend.so) || fail "there is no tap_backend.so" || return
	if [ -e /sys/module/geneve ]; then
		words=()
		for family in 4in4 6in4 4in6 6in6; do
			words+=(-V "${family}_over_maxbytes" -V "${family}_nogsosz_gtmss")
		done
	fi
	for test in $TAP_TESTS; do
		[ "$test" = tun ] || words=()
		LD_PRELOAD=$preload KVNET_DEV=$2 timeout 300 "$TAP_DIR/$test" "${words[@]}" > "$TAP_OUT/$1.$test" 2>&1
		grep '^# Totals' "$TAP_OUT/$1.$test" || fail "$test: $(tail -n 20 "$TAP_OUT/$1.$test")" || return
		[ -z "$2" ] || grep -q "# tap_backend: .* by $2\$" "$TAP_OUT/$1.$test" || fail "$test: no tap had a backend" || return
	done
	cat "$TAP_OUT/$1."* | sed -nE 's/^(not ok|ok) [0-9]+ ([^ ]+)( # (SKIP|XFAIL))?.*/\2 \1\3/p' > "$TAP_OUT/$1"
}

tap_without()
{
	mkdir -p $TAP_OUT
	modprobe -a tun tap macvtap dummy vhost_net || return
	modprobe geneve || echo "# without tunnels: this kernel has no geneve"
	load_kvnet && tap_run without '' || return
	# these are the tests of the newest kernel, which has it
	[ ! -e /sys/module/geneve ] || ! grep ' not ok' "$TAP_OUT/without"
}

# tap_compare WAY: the same as without a backend
tap_compare()
{
	tap_run "$1" "$2" || return
	diff "$TAP_OUT/without" "$TAP_OUT/$1" && return
	grep -hE '^#.*(Expected|tap_backend|terminated)' "$TAP_OUT/$1."*
	return 1
}

if [ "$BACKEND" = kvnet ] && [ -x $TAP_DIR/tun ]; then
	run_test "tap: kernels_cases_by_system_calls_come_to_their_end" tap_without
	run_test "tap: kernels_cases_by_vhost_net_say_the_same" tap_compare vhost /dev/vhost-net
	run_test "tap: kernels_cases_by_kvnet_say_the_same" tap_compare kvnet $DEVICE
else
	skip tap "the kernel's tests could not be had"
fi
