#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares kvnet, vhost_net and QEMU's own device in virtual time: the test host
# counts instructions instead of seconds, so that the same seed gives the same
# figures whatever else this machine does. A seed moves a short run by some per
# cent, hence medians over several; figures say path length, not hardware speed.
#
#   scripts/vtime.sh [number of seeds, default 7]
#
#   BACKENDS="kvnet vhost off"   AMOUNT=24M (TCP each way)   PINGS=400
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

SEEDS=${1:-7}
RUN_TIMEOUT=${RUN_TIMEOUT:-600}
STALL=${STALL:-75}

# A run can stall in the rig before the guest boots: then the next seed.
run_seed()
{
	"$TOP/scripts/vm.sh" --name "vtime-$1" --qemu 7.2 --icount "$1" --timeout "$RUN_TIMEOUT" --stall "$STALL" \
		--env "BACKENDS=${BACKENDS:-kvnet vhost off}" --env "AMOUNT=${AMOUNT:-24M}" \
		--env "PINGS=${PINGS:-400}" --output "$BUILD/log/vtime-$1.rows" \
		-- "$TOP/scripts/vm/vtime.sh" > /dev/null 2>&1
}

main()
{
	local seed=0 good=0 rows=$BUILD/log/vtime.rows

	[[ $SEEDS =~ ^[1-9][0-9]*$ ]] || die "usage: vtime.sh [number of seeds]"
	"$TOP/scripts/setup.sh" 6.12
	"$TOP/scripts/build-module.sh" 6.12
	mkdir -p "$BUILD/log"
	: > "$rows"
	while [ "$good" -lt "$SEEDS" ] && [ "$seed" -lt $((3 * SEEDS)) ]; do
		seed=$((seed + 1))
		if run_seed $seed; then
			good=$((good + 1))
			grep '^@' "$BUILD/log/vtime-$seed.rows" >> "$rows"
			info "seed $seed: done ($good of $SEEDS)"
		else
			info "seed $seed: no result (the rig stalled or the run failed: build/log/vtime-$seed); next"
		fi
	done
	[ "$good" -gt 0 ] || die "no seed gave a result"
	echo "Medians over $good seeds, +- half the spread; virtual time."
	awk -v spread=1 -f "$TOP/scripts/vm/table.awk" "$rows"
}

main "$@"
