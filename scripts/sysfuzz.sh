#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Random system calls on devices that carry packets, in User-Mode Linux with KASAN and
# lockdep (selftests/uapi/sysfuzz_test). A program that fails is made smaller, one half,
# quarter and so on of its operations after the other.
#
#   scripts/sysfuzz.sh             programs of its own making, for SYSFUZZ_SECONDS (600)
#   SEED=1f3a20c7 scripts/sysfuzz.sh  that one, again and again; OPS=0-17,30: parts of it
#
#   KERNEL=smp-kasan    in User-Mode Linux with two CPUs; smp-kcsan: the one that looks for data races
#   SMALLER=0     leave it as it is
#   AGAIN=10      seconds that a part is tried for, until it counts as one that works
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

TIME=${SYSFUZZ_SECONDS:-600}
AGAIN=${AGAIN:-10}
OPERATIONS=512
NAME=${NAME:-sysfuzz}

# run SECONDS SEED OPS: 0 if nothing is wrong
run()
{
	"$TOP/scripts/uml.sh" "--${KERNEL:-debug}" --name "$NAME" --timeout $(($1 * 3 + 300)) --env "SYSFUZZ_SECONDS=$1" --env "SEED=$2" --env "OPS=$3" \
		--env "UAPI_TIMEOUT=$(($1 * 3 + 200))" --env "KSFT_SEED=${KSFT_SEED:-}" -- "$TOP/scripts/vm/uapi.sh" sysfuzz_test
}

failing_seed()
{
	[ ! -e "$BUILD/log/$NAME/console.log" ] || sed -n 's/.*sysfuzz: SEED=//p' "$BUILD/log/$NAME/console.log" | tail -n 1
}

# still_fails SEED NUMBER...
still_fails()
{
	local seed=$1 ops

	shift
	ops=$(IFS=,; echo "$*")
	! NAME=sysfuzz-smaller run "$AGAIN" "$seed" "$ops" > "$BUILD/log/sysfuzz-smaller.log" 2>&1
}

# smaller SEED NUMBER...: leaves out what it fails without
smaller()
{
	local seed=$1 ops parts=2 size i rest found

	shift
	ops=("$@")
	while [ ${#ops[@]} -gt 1 ] && [ $parts -le ${#ops[@]} ]; do
		size=$(((${#ops[@]} + parts - 1) / parts)) found=0
		for ((i = 0; i < ${#ops[@]}; i += size)); do
			rest=("${ops[@]:0:i}" "${ops[@]:i+size}")
			[ ${#rest[@]} -gt 0 ] && still_fails "$seed" "${rest[@]}" || continue
			ops=("${rest[@]}") found=1
			info "$((${#ops[@]})) operations are enough"
			break
		done
		if [ $found -eq 1 ]; then
			parts=$((parts > 2 ? parts - 1 : 2))
		elif [ $size -eq 1 ]; then
			break
		else
			parts=$((parts * 2))
		fi
	done
	echo "SEED=$seed OPS=$(IFS=,; echo "${ops[*]}")"
}

main()
{
	local seed status=0 all

	"$TOP/scripts/build-module.sh" "uml${KERNEL:+-$KERNEL}"
	locked uapi make -s -C "$TOP/selftests/uapi" OUTPUT="$BUILD/uapi" TESTS=sysfuzz_test
	# what a run has not come to say is not what one before has said
	hold "$NAME"
	rm -f "$BUILD/log/$NAME/console.log"
	run "$TIME" "${SEED:-}" "${OPS:-}" || status=$?
	[ $status -ne 0 ] || return 0
	seed=$(failing_seed)
	[ -n "$seed" ] || return $status
	echo "it fails: SEED=$seed"
	if [ "${SMALLER:-1}" -ne 0 ] && [ -z "${OPS:-}" ]; then
		mapfile -t all < <(seq 0 $((OPERATIONS - 1)))
		if still_fails "$seed" "${all[@]}"; then
			smaller "$seed" "${all[@]}"
		else
			echo "alone it does not fail within $AGAIN seconds: make sysfuzz SEED=$seed AGAIN=60"
		fi
	fi
	return $status
}

main "$@"
