#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host: one repetition of the laboratory's guest lanes, all
# systems in turn, each with a guest of its own. Prints @bench and @fact rows. All
# names come from tools/bench/cases.py.
#
#   LANE      vtime (instructions are counted, work is fixed), kvm, emul
#   REP       number of the repetition; in vtime the seed
#   TESTS     of ping rr conn tcp udp events idle, on each of SYSTEMS
#   BOOTS     of those that boot guests of their own: layout, on LAYOUTS, queues, guests, viommu and notso, on SCALE
#   QUICK=1   a quarter of the work
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/bench-guest-count.sh
. /kvnet/scripts/vm/bench-guest-count.sh
# shellcheck source=scripts/vm/bench-guest-tests.sh
. /kvnet/scripts/vm/bench-guest-tests.sh
# shellcheck source=scripts/vm/bench-guest-system.sh
. /kvnet/scripts/vm/bench-guest-system.sh
# shellcheck source=scripts/vm/bench-guest-boots.sh
. /kvnet/scripts/vm/bench-guest-boots.sh

run_tests()
{
	for TEST in $TESTS; do
		"test_$TEST" || { say "$SYSTEM: $TEST gave no result"; return 1; }
	done
}

main()
{
	bench_begin || exit
	# shellcheck disable=SC2086 # names
	[ -z "$TESTS" ] || on_each run_tests $SYSTEMS
	for TEST in $BOOTS; do
		"test_$TEST"
	done
	[ $FAILED -eq 0 ]
}

main
