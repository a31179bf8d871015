#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# For an hour, eight guests at once, in User-Mode Linux that looks for bugs, or on a test host
# with two CPUs: half of them with packed rings; each sends and receives streams whose hashes
# are compared, is migrated, and has its driver, its rings and its link changed under traffic,
# over and over. The host's memory must stay as it is, its log without a splat. See
# scripts/vm/soak.sh for what is done, in which order.
#
#   SOAK_MINUTES=60   how long, once all guests are up
#   GUESTS=8          how many
#   KERNEL=uml        or smp-kasan, User-Mode Linux, where QEMU emulates the guests' CPUs; or
#                     6.1, 6.12, newest, a test host, for machines with hardware virtualization
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

SOAK_MINUTES=${SOAK_MINUTES:-60}
GUESTS=${GUESTS:-8}
KERNEL=${KERNEL:-uml}
# of the test host, in MB; a guest has 128 and two QEMUs while it moves
HOST_MB=$((1024 + GUESTS * 384))
# an emulated CPU takes a minute and more for a guest to come up, and for the last round
SPARE_SECONDS=$((900 + GUESTS * 240))

main()
{
	local uml=uml
	local -A flavour=([uml]=debug [smp-kasan]=smp-kasan)
	local run=("$TOP/scripts/vm.sh" --kernel "$KERNEL" --stall 1800 --retries 0)

	case $KERNEL in
	uml | smp-kasan)
		[ "$KERNEL" = uml ] || uml=uml-$KERNEL
		"$TOP/scripts/setup.sh" 6.12
		"$TOP/scripts/mkimage.sh" --guests
		"$TOP/scripts/uml/build.sh" $uml
		"$TOP/scripts/build-module.sh" $uml
		run=("$TOP/scripts/uml.sh" "--${flavour[$KERNEL]}" --guest)
		;;
	*)
		"$TOP/scripts/setup.sh" "$KERNEL"
		"$TOP/scripts/build-module.sh" "$KERNEL"
		;;
	esac
	build_net_tools
	exec "${run[@]}" --name soak --timeout $((SOAK_MINUTES * 60 + SPARE_SECONDS)) --mem $HOST_MB \
		--env "SOAK_MINUTES=$SOAK_MINUTES" --env "GUESTS=$GUESTS" --output "$BUILD/log/soak.tap" -- "$TOP/scripts/vm/soak.sh"
}

main
