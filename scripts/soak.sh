#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# For an hour, eight guests at once on a test host with two CPUs: half of them with packed
# rings; each sends and receives streams whose hashes are compared, is migrated, and has its
# driver, its rings and its link changed under traffic, over and over. The host's memory must
# stay as it is, its log without a splat. See scripts/vm/soak.sh for what is done, in which order.
#
#   SOAK_MINUTES=60   how long, once all guests are up
#   GUESTS=8          how many
#   KERNEL=6.12       of the test host
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

SOAK_MINUTES=${SOAK_MINUTES:-60}
GUESTS=${GUESTS:-8}
KERNEL=${KERNEL:-6.12}
# of the test host, in MB; a guest has 128 and two QEMUs while it moves
HOST_MB=$((1024 + GUESTS * 384))
# an emulated CPU takes a minute and more for a guest to come up, and for the last round
SPARE_SECONDS=$((900 + GUESTS * 240))

main()
{
	"$TOP/scripts/setup.sh" "$KERNEL"
	"$TOP/scripts/build-module.sh" "$KERNEL"
	build_net_tools
	exec "$TOP/scripts/vm.sh" --kernel "$KERNEL" --name soak --timeout $((SOAK_MINUTES * 60 + SPARE_SECONDS)) --stall 1800 \
		--retries 0 --mem $HOST_MB --env "SOAK_MINUTES=$SOAK_MINUTES" --env "GUESTS=$GUESTS" \
		--output "$BUILD/log/soak.tap" -- "$TOP/scripts/vm/soak.sh"
}

main
