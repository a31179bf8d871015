#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Fuzzing guided by coverage, by libFuzzer with AddressSanitizer and UBSan: the pure rooms of the
# module (selftests/unit/*_fuzz.c), and what kvnetctl reads (selftests/kvnetctl). Installs clang
# if there is none that has libFuzzer. Each of the two ends in a line "N passed, N failed,
# 0 skipped"; an input that fails is kept, and printed.
#
#   FUZZ_SECONDS=300        how long, all targets together; each of them a second at least
#   FUZZ_RUNS=1000000000    or how many executions; ALL_CHECKS=1 has AddressSanitizer there, too
#   COVERAGE=1              then, of each file, the share of lines reached, and those that are not
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

FUZZ_SECONDS=${FUZZ_SECONDS:-300}
UNIT=(make -s "-j$(nproc)" -C "$TOP/selftests/unit" "OUTPUT=$BUILD/unit")
KVNETCTL=(make -s "-j$(nproc)" -C "$TOP/selftests/kvnetctl" "OUTPUT=$BUILD/unit/kvnetctl")

main()
{
	local status=0

	[[ $FUZZ_SECONDS =~ ^[1-9][0-9]*$ ]] || die "FUZZ_SECONDS is a number above 0, not '$FUZZ_SECONDS'"
	[[ ${FUZZ_RUNS:-1} =~ ^[1-9][0-9]*$ ]] || die "FUZZ_RUNS is a number above 0, not '$FUZZ_RUNS'"
	"${UNIT[@]}" need-clang > /dev/null 2>&1 || "$TOP/scripts/setup.sh" --fuzz
	if [ -n "${FUZZ_RUNS:-}" ]; then
		exec "${UNIT[@]}" mass "FUZZ_RUNS=$FUZZ_RUNS" "ALL_CHECKS=${ALL_CHECKS:-}"
	fi
	# five targets and two
	"${UNIT[@]}" fuzz "FUZZ_SECONDS=$((FUZZ_SECONDS * 3 / 4))" || status=1
	"${KVNETCTL[@]}" fuzz "FUZZ_SECONDS=$((FUZZ_SECONDS / 4))" || status=1
	[ -z "${COVERAGE:-}" ] || "${UNIT[@]}" fuzz-coverage || status=1
	return $status
}

main
