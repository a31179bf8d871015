#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The laboratory's native lane: kvnet and in-tree vhost_net at the machine's own
# speed, in turn, in one boot of User-Mode Linux, with a process as guest. Prints
# rows; scripts/bench.sh collects them. With UML=smp it is the lane native2: two CPUs.
#
#   UML=fast | smp | debug   kernel (debug: no figures worth having, KASAN instead)
#   REPEAT, ONLY, QUICK   see scripts/bench.sh
#   MOST=20               repetitions of a test that cannot tell 5 % before (four times REPEAT)
#   BACKENDS              instead of each test's own, see scripts/vm/native.sh
#   BENCH_MS=40           milliseconds of a sample, of which a repetition has three
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

UML=${UML:-fast}
REPEAT=${REPEAT:-5}
MOST=${MOST:-$((4 * REPEAT))}
[ -z "${QUICK:-}" ] || MOST=$REPEAT

main()
{
	local kernel=uml lane=native config=$UML extras=()

	[ "$UML" = debug ] || kernel=uml-$UML
	[ "$UML" != smp ] || lane=native2 config=fast.config,_smp
	nice "$TOP/scripts/uml/build.sh" $kernel
	"$TOP/scripts/build-module.sh" $kernel
	if [ -z "${QUICK:-}" ]; then
		"$TOP/scripts/build-module.sh" --uncounted $kernel
		extras+=(--add "$BUILD/uncounted-$kernel/drivers/kvnet/kvnet_uncounted.ko")
	fi
	make -s -C "$TOP/selftests/perf" OUTPUT="$BUILD/perf" "$BUILD/perf/lab"
	echo "@fact lane=$lane key=configuration value=scripts/uml/$config.config,_$(sha256sum < "$BUILD/$kernel/.config" | cut -c 1-12)"
	# what was stolen from one CPU is told; of two, it would be a sum
	if [ -z "${QUICK:-}" ] && [ "$UML" != smp ]; then
		"$TOP/scripts/build-module.sh" --hosttime $kernel
		extras+=(--add "$BUILD/hosttime-$kernel/kvnet_hosttime.ko")
	fi
	# testpmd is one more guest; without it its test is left out
	if [ "$UML" != smp ]; then
		"$TOP/scripts/build-module.sh" --floor $kernel
		extras+=(--add "$BUILD/floor-$kernel/kvnet_floor.ko")
		"$TOP/scripts/mkvmm.sh" dpdk && extras+=(--add "$BUILD/vmm-dpdk:dpdk") || info "no dpdk: going on without"
	fi
	"$TOP/scripts/uml.sh" "--$UML" --mem 1024 --name "${NAME:-$lane}" --timeout $((300 + 600 * MOST)) \
		--add "$BUILD/perf/lab" "${extras[@]}" --env "LANE=$lane" --env "REPEAT=$REPEAT" --env "ONLY=${ONLY:-}" --env "QUICK=${QUICK:-}" \
		--env "BENCH_MS=${BENCH_MS:-40}" --env "MOST=$MOST" --env "BACKENDS=${BACKENDS:-}" -- "$TOP/scripts/vm/native.sh"
}

main "$@"
