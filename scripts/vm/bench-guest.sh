#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host: one repetition of the laboratory's guest lanes, all
# backends in turn, each with a guest of its own. Prints @bench, @fact, @note rows.
#
#   LANE      vtime (instructions are counted, work is fixed), kvm, emul
#   REP       number of the repetition; in vtime the seed
#   ONLY      patterns of test names: boot ping rr conn tcp udp events idle layout queues guests;
#             without it all but the last two
#   BACKENDS  "kvnet vhost_net qemu qemu-noioeventfd e1000 rtl8139"; there are also
#             kvnet-packed, kvnet-inorder, kvnet-packed-inorder and, without pinned rings,
#             kvnet-user and kvnet-packed-user, which "layout" has if none is named; and
#             kvnet-woken, which receives nothing inline
#   QUEUES, GUESTS   sizes of the last two (1 2 4 8, 1 2 4), for SCALE_BACKENDS
#   QUICK=1   a quarter of the work
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/bench-guest-count.sh
. /kvnet/scripts/vm/bench-guest-count.sh
# shellcheck source=scripts/vm/bench-guest-tests.sh
. /kvnet/scripts/vm/bench-guest-tests.sh
# shellcheck source=scripts/vm/bench-guest-system.sh
. /kvnet/scripts/vm/bench-guest-system.sh
# shellcheck source=scripts/vm/bench-guest-layout.sh
. /kvnet/scripts/vm/bench-guest-layout.sh
# shellcheck source=scripts/vm/bench-guest-scale.sh
. /kvnet/scripts/vm/bench-guest-scale.sh

LANE=${LANE:-emul}
REP=${REP:-1}
# shellcheck disable=SC2034 # bench-guest-layout.sh reads it
LAYOUTS=${BACKENDS:-kvnet vhost_net kvnet-inorder kvnet-packed kvnet-packed-inorder kvnet-user kvnet-packed-user}
BACKENDS=${BACKENDS:-kvnet vhost_net qemu qemu-noioeventfd e1000 rtl8139}
TESTS="ping rr conn tcp udp events idle"

run_tests()
{
	for TEST in $TESTS; do
		bench_wanted "$TEST" || continue
		"test_$TEST" || { say "$SYSTEM: $TEST gave no result"; return 1; }
	done
}

any_wanted()
{
	for TEST in $TESTS; do
		! bench_wanted "$TEST" || return 0
	done
	return 1
}

main()
{
	local failed=0

	bench_facts
	bench_notes
	[ "$LANE" != vtime ] || no_halt_poll || exit
	[ "$LANE" != vtime ] || taskset -p 1 $$ > /dev/null
	if any_wanted; then
		for SYSTEM in $BACKENDS; do
			system_start && run_tests || failed=$((failed + 1))
			system_stop
		done
	fi
	# boots of their own; the last two only by name
	[ "$LANE" != vtime ] || GUEST_APPEND=nokaslr
	for TEST in layout queues guests; do
		[ -n "${ONLY:-}" ] || [ $TEST = layout ] || continue
		bench_wanted "$TEST" || continue
		FAILED=0
		"test_$TEST"
		failed=$((failed + FAILED))
	done
	[ $failed -eq 0 ] || say "$failed of the systems gave no result, or not all"
	[ $failed -eq 0 ]
}

main
