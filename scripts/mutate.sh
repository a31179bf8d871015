#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Would the tests notice? Makes the mutants of scripts/mutants one by one in a copy of
# the sources, each a change that breaks drivers/kvnet in one place, and runs the tests
# that should know, the cheapest first, until one fails.
#
#   scripts/mutate.sh [ROOM|ROOM/NAME|BUG|bugs]...   some, or all of the historic bugs; all
#                                                without (hours)
#   scripts/mutate.sh --check                    does each still apply? (a second)
#
#   killed          a test failed, hung, or the kernel complained; which one is said
#   survived        none did: a test is missing, or the mutant is equivalent
#   equivalent      none did, and none can, for the reason that is given
#   not built       it does not compile, and says nothing
#
# The tests must pass without a mutant first. Status 0 if all were killed but those that
# are equivalent. UNIT_SEED, KSFT_SEED: other inputs (default 1: a result can be repeated).
# AGAIN=1 leaves out what build/mutate/killed says was killed by an earlier run.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

WORK=$BUILD/mutate
TREE=$WORK/tree
# A test that hangs is given so many seconds of a CPU, and three times what it took without
# a mutant; one that does nothing at all as many as a slow machine may need.
UNIT_SECONDS=10
UNIT_PATIENCE=900
UML_SECONDS=400
LIST=(python3 -B "$TOP/scripts/mutants.py")
export UNIT_SEED=${UNIT_SEED:-1}

# A checkout of its own, that shares what takes long to build.
make_tree()
{
	local part

	mkdir -p "$TREE/build" "$WORK/uapi"
	for part in Kbuild drivers include scripts selftests; do
		rm -rf "${TREE:?}/$part"
		cp -r "$TOP/$part" "$TREE/"
	done
	for part in stamps uml uml-src guests net-tools kernel-6.12; do
		ln -sfn "$BUILD/$part" "$TREE/build/$part"
	done
	ln -sfn "$WORK/uapi" "$TREE/build/uapi"
	: > "$WORK/log"
}

in_tree()
{
	env -u KVNET_BUILD "$@" >> "$WORK/log" 2>&1
}

# restore FILE: newer than what was built of the mutant
restore()
{
	cp "$TOP/drivers/kvnet/$1" "$TREE/drivers/kvnet/$1"
}

### unit tests

# warnings are no matter in a mutant
build_unit()
{
	in_tree make -s -C "$TREE/selftests/unit" programs "TESTS=$1" OUTPUT="$TREE/build/unit" CFLAGS=-Wno-error
}

# a test in each of its variants but the one without our own code
unit_programs()
{
	find "$TREE/build/unit"/{asan,tsan,fast} -maxdepth 1 -type f -perm -u+x \
		\( -name "$1_test" -o -name "$1" \) 2> /dev/null | sort
}

# limited SECONDS PROGRAM: of a CPU; on stderr how many it took
limited()
{
	local TIMEFORMAT=%0U

	# shellcheck disable=SC2016 # arguments of that shell
	time timeout $UNIT_PATIENCE bash -c 'ulimit -c 0; ulimit -t "$1"; exec "$2" 2>&1' bash "$@"
}

# Sets KILLER. Returns 1 for a test that fails, 2 for one that does not build.
run_unit()
{
	local program out=$WORK/out seconds status

	build_unit "$1" || return 2
	for program in $(unit_programs "$1"); do
		status=0
		seconds=$(sed -n "s,^$program ,,p" "$WORK/took" | head -n 1)
		limited $((UNIT_SECONDS + 3 * ${seconds:-100})) "$program" > "$out" 2> "$out.time" || status=$?
		if [ $status -ne 0 ]; then
			KILLER="unit:$1 $(sed -n 's/^not ok [0-9]* - [^:]*: //p' "$out" | head -n 1)"
			[[ $KILLER != *" " ]] || KILLER+=$(grep -m 1 -oE '(Address|Thread|Leak)Sanitizer: [a-zA-Z-]*|runtime error: .*' "$out" || echo died)
			[[ $status != @(124|137|152) ]] || KILLER="unit:$1 hangs"
			return 1
		fi
		[ -n "$seconds" ] || echo "$program $(tail -n 1 "$out.time")" >> "$WORK/took"
	done
}

### uapi tests in User-Mode Linux

# a module with warnings is one, too
build_uml()
{
	in_tree "$TREE/scripts/build-module.sh" uml || true
	[ -f "$TREE/build/mod-uml/drivers/kvnet/kvnet.ko" ]
}

# run_uml VARIANT TEST...: until one fails. Sets KILLER.
run_uml()
{
	local variant=$1 out=$WORK/out options=()

	shift
	case $variant in
	packed) options=(--env "KVNET_LAYOUT=packed,in_order") ;;
	kthread) options=(--env KVNET_WORKER=kthread) ;;
	calls) options=(--env KVNET_PARAMS=copy_frames=0) ;;
	esac
	env -u KVNET_BUILD "$TREE/scripts/uml.sh" --name mutant --timeout "$UML_SECONDS" --env KSFT_STOP=1 --env "KSFT_SLOW=${KSFT_SLOW:-2}" \
		--env "KSFT_SEED=${KSFT_SEED:-1}" --env BACKEND=kvnet "${options[@]}" \
		-- "$TREE/scripts/vm/uapi.sh" "$@" > "$out" 2>&1 && return 0
	KILLER="uml:${variant:-split} $(sed -n 's/^not ok [0-9]* - //p; s/^not ok [0-9]* \([^#]*\)# .*/\1/p' "$out" | head -n 1)"
	[[ $KILLER != *" " ]] || KILLER+=$(grep -m 1 -E 'bad kernel message|died|not finished' "$out" | cut -c 1-100)
	cat "$out" >> "$WORK/log"
	return 1
}

### masks in the object code

# run_nospec FUNCTION: of FILE
run_nospec()
{
	local object=drivers/kvnet/${FILE%.c}.o

	in_tree make -s -C "$(kernel_headers 6.12)" M="$TREE" "$object" || return 2
	if ! in_tree python3 -B "$TREE/scripts/check-nospec.py" "$TREE/$object" "$1"; then
		KILLER=nospec:$1
		return 1
	fi
}

### all of them

# names_of KIND TEST...: the tests of that kind, without it
names_of()
{
	local kind=$1 test

	shift
	for test; do
		[[ $test != "$kind":* ]] || echo "${test#*:}"
	done
}

# run_tests TEST...: of the mutant in FILE; 0 all passed, 1 one has failed (KILLER), 2 nothing to run: no build
run_tests()
{
	local unit uml nospec test variant some

	KILLER=''
	readarray -t nospec < <(names_of nospec "$@")
	readarray -t unit < <(names_of unit "$@")
	readarray -t uml < <(names_of uml "$@")
	for test in "${unit[@]}"; do
		run_unit "$test" || return $?
	done
	for test in "${nospec[@]}"; do
		[ -z "$FILE" ] || run_nospec "$test" || return $?
	done
	[ ${#uml[@]} -gt 0 ] || return 0
	build_uml || return 2
	for variant in '' packed kthread calls; do
		some=()
		for test in "${uml[@]}"; do
			[[ $test == *@* ]] || test+=@
			[[ ${test#*@} != "$variant" ]] || some+=("${test%@*}")
		done
		[ ${#some[@]} -eq 0 ] || run_uml "$variant" "${some[@]}" || return 1
	done
}

# sources_are unit|uml: what the tests say of these is remembered till they change
sources_are()
{
	local folders="drivers include selftests/lib selftests/unit"

	[ "$1" = unit ] || folders="drivers include selftests/lib selftests/uapi scripts/vm scripts/uml"
	# shellcheck disable=SC2086 # a list of names
	(cd "$TREE" && find $folders -name '*.[chS]' -o -type f ! -name '*.*' ! -name '.*') | sort |
		(cd "$TREE" && xargs sha256sum) | sha256sum | cut -c 1-64
}

# all tests that the mutants name, on the sources as they are (of the object code "make
# check" knows)
run_without()
{
	local tests status=0 FILE='' unit uml

	unit=$(sources_are unit) uml=$(sources_are uml)
	touch "$WORK/passed" "$WORK/took"
	readarray -t tests < <("${LIST[@]}" list "$@" | cut -f 3 | tr ' ' '\n' | grep -v '^nospec' | sort -u |
		sed "s/^unit:/$unit &/; s/^uml:/$uml &/" | grep -vxFf "$WORK/passed" | cut -d ' ' -f 2)
	if printf '%s\n' "${tests[@]}" | grep -q '^uml:'; then
		[ -f "$STAMPS/uml" ] || "$TOP/scripts/uml/build.sh" uml
		in_tree make -s -C "$TREE/selftests/uapi" OUTPUT="$WORK/uapi" || die "the uapi tests do not build; see $WORK/log"
	fi
	[ ${#tests[@]} -gt 0 ] || return 0
	info "without a mutant: ${tests[*]}"
	run_tests "${tests[@]}" || status=$?
	[ $status -ne 2 ] || die "it does not build without a mutant; see $WORK/log"
	[ $status -eq 0 ] || die "$KILLER fails without a mutant; see $WORK/log"
	printf '%s\n' "${tests[@]}" | sed "s/^unit:/$unit &/; s/^uml:/$uml &/" >> "$WORK/passed"
}

count()
{
	COUNT[$1]=$((${COUNT[$1]:-0} + 1))
}

verdict()
{
	local status=$1 full=$2 bug=$3 equivalent=$4 start=$5 word why=''

	case $status-$equivalent in
	1--) word=killed why=$KILLER ;;
	0--) word=survived ;;
	2-*) word='not built' ;;
	0-*) word=equivalent why=$equivalent ;;
	*) word=survived why="said to be equivalent, but $KILLER fails" ;;
	esac
	count "$word"
	[ "$word" != killed ] || echo "$full" >> "$WORK/killed"
	printf '%-10s %s (%d s)%s%s\n' "$word" "$full" $((SECONDS - start)) "${why:+: $why}" "$([ "$bug" = - ] || echo " [$bug]")"
}

run_mutant()
{
	local full=$1 FILE=$2 start=$SECONDS status=0 tests

	read -ra tests <<< "$3"
	"${LIST[@]}" apply "$full" "$TREE" || { count error; restore "$FILE"; return; }
	echo "=== $full" >> "$WORK/log"
	run_tests "${tests[@]}" || status=$?
	restore "$FILE"
	verdict $status "$full" "$4" "$5" "$start"
}

summary()
{
	printf '%d mutants: %d killed, %d survived, %d equivalent, %d not built, %d in error\n' "$1" \
		"${COUNT[killed]:-0}" "${COUNT[survived]:-0}" "${COUNT[equivalent]:-0}" "${COUNT[not built]:-0}" "${COUNT[error]:-0}"
	[ $((${COUNT[killed]:-0} + ${COUNT[equivalent]:-0})) -eq "$1" ]
}

main()
{
	local mutants line fields
	declare -gA COUNT=()

	if [ "${1:-}" = --check ]; then
		exec "${LIST[@]}" check
	fi
	"${LIST[@]}" check
	mkdir -p "$WORK"
	hold mutate
	readarray -t mutants < <("${LIST[@]}" list "$@")
	[ ${#mutants[@]} -gt 0 ] || exit 1
	[ -n "${AGAIN:-}" ] || : > "$WORK/killed"
	make_tree
	run_without "$@"
	for line in "${mutants[@]}"; do
		IFS=$'\t' read -ra fields <<< "$line"
		if [ -n "${AGAIN:-}" ] && grep -qxF "${fields[0]}" "$WORK/killed"; then
			count killed
			continue
		fi
		run_mutant "${fields[@]}"
	done
	summary ${#mutants[@]}
}

main "$@"
