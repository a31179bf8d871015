#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares kvnet with in-tree vhost_net at the machine's own speed: packets per
# second through both, in turn, in one boot of User-Mode Linux, with a process as
# guest. One CPU, and system calls, page faults and guest memory cost more than
# on hardware: good for one against the other, not for claims about either.
#
#   scripts/native.sh
#
#   ROUNDS=7 (samples of each)   CASES="tx60 tx1400 rx60 rx1400" (bytes of a frame)
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

ROUNDS=${ROUNDS:-7}
CASES=${CASES:-tx60 tx1400 rx60 rx1400}

main()
{
	local rows=$BUILD/log/native.rows

	[[ $ROUNDS =~ ^[1-9][0-9]*$ ]] || die "ROUNDS must be a number above 0"
	nice "$TOP/scripts/uml/build.sh" uml-fast
	"$TOP/scripts/build-module.sh" uml-fast
	make -s -C "$TOP/selftests/perf" OUTPUT="$BUILD/perf"
	info "load of this machine: $(cut -d' ' -f1-3 /proc/loadavg)"
	"$TOP/scripts/uml.sh" --fast --name native --timeout $((120 + 60 * ROUNDS)) --add "$BUILD/perf/pps" \
		--env "ROUNDS=$ROUNDS" --env "CASES=$CASES" --output "$rows" -- "$TOP/scripts/vm/native.sh"
	info "load of this machine: $(cut -d' ' -f1-3 /proc/loadavg)"
	echo "Millions of packets per second, medians (least..most); the ratio is kvnet to vhost_net."
	awk -f "$TOP/selftests/perf/table.awk" "$rows"
}

main "$@"
