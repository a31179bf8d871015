# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The backends of the native lane. A name says what the rings are: kvnet and vhost_net
# are split, -packed and -inorder are those features, -user is kvnet that does not
# pin its rings, -woken is kvnet whose workers receive each frame; -still has poll_us=0,
# -each rx_usecs=0. -uncounted is kvnet that counts nothing, a module of its own
# (scripts/uncounted.sh). -vectorized is for DPDK, whose driver then handles several
# descriptors at a time. -twin is the same once more: where the two differ it is by
# chance, which says what a difference between others is worth. floor has no rings: the
# same frames through the tap alone. -slowed is the same, whose guest does nothing for 5 % of the
# time of each pass (pps): what the laboratory should be able to tell.

node_of()
{
	case $1 in
	vhost_net*) echo /dev/vhost-net ;;
	floor*) echo /dev/kvnet-floor ;;
	*-uncounted*) echo /dev/kvnet_uncounted ;;
	*) echo /dev/kvnet ;;
	esac
}

layout_of()
{
	local layout=''

	[[ $1 != *-packed* ]] || layout=packed,
	[[ $1 != *-inorder* ]] || layout=$layout'in_order'
	echo "$layout"
}

# how the rings are reached: 1 if they are to be pinned, 0 if not; of others nothing
pinned_of()
{
	case $1 in
	vhost_net* | floor*) ;;
	*-user*) echo 0 ;;
	*) echo 1 ;;
	esac
}

# rx_inline_of NAME: the parameter rx_inline of its backend; of others nothing
rx_inline_of()
{
	case $1 in
	vhost_net* | floor*) ;;
	*-woken*) echo 0 ;;
	*) echo 1 ;;
	esac
}

# the module's parameter poll_us; else its default
poll_of()
{
	case $1 in
	vhost_net* | floor*) ;;
	*-still*) echo 0 ;;
	*) echo 50 ;;
	esac
}

# the module's parameter rx_usecs; else its default
look_of()
{
	case $1 in
	vhost_net* | floor*) ;;
	*-each*) echo 0 ;;
	*) echo 100 ;;
	esac
}

# per cent
slowed_of()
{
	[[ $1 != *-slowed* ]] || echo 5
}

# backend_use NAME: what selftests/perf is told by
backend_use()
{
	local parameters

	export KVNET_DEV KVNET_LAYOUT BENCH_PINNED BENCH_RX_INLINE BENCH_POLL BENCH_LOOK
	KVNET_DEV=$(node_of "$1")
	KVNET_LAYOUT=$(layout_of "$1")
	BENCH_PINNED=$(pinned_of "$1")
	BENCH_RX_INLINE=$(rx_inline_of "$1")
	BENCH_POLL=$(poll_of "$1")
	BENCH_LOOK=$(look_of "$1")
	# each of these modules has a node of its name
	parameters=/sys/module/${KVNET_DEV#/dev/}/parameters
	[ -z "$BENCH_PINNED" ] || echo "$BENCH_PINNED" > "$parameters/pin_rings"
	[ -z "$BENCH_RX_INLINE" ] || echo "$BENCH_RX_INLINE" > "$parameters/rx_inline"
	[ -z "$BENCH_POLL" ] || echo "$BENCH_POLL" > "$parameters/poll_us"
	[ -z "$BENCH_LOOK" ] || echo "$BENCH_LOOK" > "$parameters/rx_usecs"
}

# turn_of NAME: the same, of one that takes turns with others
turn_of()
{
	echo "$1:$(node_of "$1"):$(layout_of "$1"):$(pinned_of "$1"):$(rx_inline_of "$1"):$(poll_of "$1"):$(look_of "$1"):$(slowed_of "$1")"
}

# with_twin NAME...: these, and one of them twice: vhost_net, or else the first
with_twin()
{
	local of=$1

	[[ " $* " != *-twin\ * ]] || { echo "$*"; return; }
	[[ " $* " != *" vhost_net "* ]] || of=vhost_net
	echo "$* $of-twin"
}
