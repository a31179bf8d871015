#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Would the tests notice? Makes mutants (scripts/mutants.py) one by one in a copy of the
# sources, each a change that breaks drivers/kvnet in one place, and runs the tests that
# should know until one fails: first the one that did last time, then the cheapest.
#
#   scripts/mutate.sh NAME...                    all of a file (ring_split.c), of a function, of
#                                                a list made by hand (ring_split: and of that
#                                                file), one mutant, a BUG, or bugs
#   scripts/mutate.sh                            all (days)
#   SAMPLE=300 scripts/mutate.sh [NAME...]       so many by chance (SEED, or the date), of each
#                                                file its share: nightly
#   CHANGED=REF scripts/mutate.sh [NAME...]      of the functions that have changed since that
#                                                commit
#   scripts/mutate.sh --check                    does each made by hand still apply?
#
#   killed          a test failed, hung, or the kernel complained; which one is said
#   survived        none did: a test is missing, or the mutant is equivalent
#   equivalent      none did, and none can, for the reason that is given
#   not built       it does not compile, and says nothing
#
# The tests must pass without a mutant first. Status 0 if all were killed but those that
# are equivalent; verdicts go to scripts/mutants/verdicts, where "make check" looks how many
# tier one kills. TIER=1 runs the tests of tier one only ("survived" then means: these).
# UNIT_SEED, KSFT_SEED: other inputs (default 1: a result can be repeated).
# AGAIN=1 leaves out what build/mutate/killed says was killed by an earlier run. LANES=2
# goes on with two at a time, each in a copy of its own. build/mutate/verdicts has what was
# said of each, one after the other, from all runs.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

ALL=$BUILD/mutate
LANES=${LANES:-1}
# A test that hangs is given so many seconds of a CPU, and three times what it took without
# a mutant; one that does nothing at all as many as a slow machine may need.
SEVERAL=6		# mutants, one after the other in one kernel
GONE_SECONDS=120	# for the processes of a kernel that has been killed
UNIT_SECONDS=10
UNIT_PATIENCE=900
UML_SECONDS=400
LIST=(python3 -B "$TOP/scripts/mutants.py")
export UNIT_SEED=${UNIT_SEED:-1}

# A lane's checkout of its own, that shares what takes long to build.
make_tree()
{
	local part

	WORK=$ALL/lane-$1
	TREE=$WORK/tree
	MODULE=$TREE/build/mod-uml/drivers/kvnet
	mkdir -p "$TREE/build" "$ALL/uapi"
	for part in Kbuild drivers include scripts selftests; do
		rm -rf "${TREE:?}/$part"
		cp -r "$TOP/$part" "$TREE/"
	done
	share_entries
	: > "$WORK/log"
}

# what there is of the cache
share_entries()
{
	local part

	for part in uml uml-src uml-smp-kasan uml-smp-kasan-src kernel-6.12; do
		[ ! -L "$BUILD/$part" ] || cp -PT "$BUILD/$part" "$TREE/build/$part"
	done
}

in_tree()
{
	env -u KVNET_BUILD UML_AS_BUILT=1 "$@" >> "$WORK/log" 2>&1
}

# restore FILE, below drivers/kvnet: newer than what was built of the mutant; of the
# module's objects there is a copy, but for a header's
restore()
{
	local clean=$WORK/clean/${1%.c}.o

	cp "$TOP/drivers/kvnet/$1" "$TREE/drivers/kvnet/$1"
	if [ -f "$clean" ]; then
		cp "$TOP/drivers/kvnet/$1" "$clean" "$MODULE/$(dirname "$1")/"
	else
		rm -f "$MODULE/.kvnet.ko.cmd"
	fi
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
		seconds=$(sed -n "s,^$program ,,p" "$ALL/took" | head -n 1)
		limited $((UNIT_SECONDS + 3 * ${seconds:-100})) "$program" > "$out" 2> "$out.time" || status=$?
		if [ $status -ne 0 ]; then
			KILLER="unit:$1 $(sed -n 's/^not ok [0-9]* - [^:]*: //p' "$out" | head -n 1)"
			[[ $KILLER != *" " ]] || KILLER+=$(grep -m 1 -oE '(Address|Thread|Leak)Sanitizer: [a-zA-Z-]*|runtime error: .*' "$out" || echo died)
			[[ $status != @(124|137|152) ]] || KILLER="unit:$1 hangs"
			return 1
		fi
		[ -n "$seconds" ] || echo "$program $(tail -n 1 "$out.time")" >> "$ALL/took"
	done
}

### uapi tests in User-Mode Linux

# What the kernel's build system has once done for a file of the module, without asking it
# what has changed: that is known. Nobody will debug it.
saved_command()
{
	local file=$MODULE/$1 command

	command=$(sed -n '1s/^savedcmd_[^ ]* := //p' "${file%/*}/.${file##*/}.cmd" | sed 's/\$\$/$/g; s/\\#/#/g; s/ -g / /g')
	in_tree bash -c "cd '$TREE/build/uml' && $command"
}

# a module with warnings is one, too
build_uml()
{
	if [ -f "$WORK/clean/${FILE%.c}.o" ] && [ -f "$MODULE/.kvnet.ko.cmd" ]; then
		cp "$TREE/drivers/kvnet/$FILE" "$MODULE/$FILE"
		saved_command "${FILE%.c}.o" && saved_command kvnet.o && saved_command kvnet.ko
		return
	fi
	in_tree "$TREE/scripts/build-module.sh" uml || true
	[ -f "$MODULE/kvnet.ko" ]
}

build_variant()
{
	case $1 in
	smp) in_tree "$TREE/scripts/build-module.sh" uml-smp-kasan ;;
	failing) in_tree "$TREE/scripts/build-module.sh" --failing uml ;;
	smp_failing) in_tree "$TREE/scripts/build-module.sh" --failing uml-smp-kasan ;;
	esac
}

# before the first mutant
build_clean()
{
	FILE='' build_uml || die "it does not build without a mutant; see $WORK/log"
	rm -rf "$WORK/clean"
	mkdir "$WORK/clean"
	(cd "$MODULE" && find . -name '*.o' -exec cp --parents -t "$WORK/clean" {} +)
	cp "$MODULE/kvnet.ko" "$WORK/clean.ko"
}

# the tests that a run has to copy
choose_uapi()
{
	local test

	rm -rf "$TREE/build/uapi"
	mkdir "$TREE/build/uapi"
	for test; do
		ln "$ALL/uapi/${test}_test" "$TREE/build/uapi/"
	done
}

# The last kernel, if it was killed, may not quite have gone: as long as a process of it is
# left, that has the log.
last_has_gone()
{
	local log=$TREE/build/log/mutant

	mkdir -p "$log"
	flock -w $GONE_SECONDS "$log/lock" true || die "still in use: $log"
}

# boot SECONDS OPTION...: User-Mode Linux. One that has touched what is not its own is of no
# use any more, and may never end.
boot()
{
	local seconds=$1

	shift
	env -u KVNET_BUILD UML_AS_BUILT=1 "$TREE/scripts/uml.sh" --name mutant --timeout "$seconds" --append "kasan.fault=panic sysctl.kernel.panic_on_rcu_stall=1" \
		--env KSFT_STOP=1 --env "KSFT_SLOW=${KSFT_SLOW:-2}" --env "KSFT_LONG=${TIER:+1/3}" --env "KSFT_SEED=${KSFT_SEED:-1}" --env BACKEND=kvnet "$@"
}

# killer KIND OUTPUT: KILLER, by the first case that failed; where none did, the test that ran
# when the kernel complained, died or hung
killer()
{
	local case

	case=$(sed -n 's/^not ok [0-9]* - //p; s/^not ok [0-9]* \([^#]*\)# .*/\1/p' "$2" | head -n 1)
	[ -n "$case" ] || case="$(sed -n 's/^## \([a-z0-9_]*\).*/\1/p' "$2" | tail -n 1).$(grep -m 1 -oE 'bad kernel message|died|not finished' "$2")"
	KILLER="$1 $case"
}

# run_uml VARIANT TEST...: until one fails. Sets KILLER.
run_uml()
{
	local variant=$1 out=$WORK/out options=()

	shift
	choose_uapi "$@"
	case $variant in
	packed) options=(--env "KVNET_LAYOUT=packed,in_order") ;;
	kthread) options=(--env KVNET_WORKER=kthread) ;;
	calls) options=(--env KVNET_PARAMS=rx_direct=0) ;;
	smp) options=(--smp-kasan) ;;
	failing) options=(--add "$TREE/build/failing-uml/drivers/kvnet/kvnet.ko") ;;
	smp_failing) options=(--smp-kasan --add "$TREE/build/failing-uml-smp-kasan/drivers/kvnet/kvnet.ko") ;;
	esac
	last_has_gone
	boot "$UML_SECONDS" "${options[@]}" -- "$TREE/scripts/vm/uapi.sh" "$@" > "$out" 2>&1 && return 0
	killer "uml:${variant:-split}" "$out"
	cat "$out" >> "$WORK/log"
	return 1
}

### masks in the object code

# run_nospec FUNCTION: of FILE
run_nospec()
{
	local object=drivers/kvnet/${FILE%.c}.o status=0

	in_tree make -s -C "$(kernel_headers 6.12)" M="$TREE" "$object" || return 2
	in_tree python3 -B "$TREE/scripts/check-nospec.py" "$TREE/drivers/kvnet" "$1" || status=$?
	[ $status -ne 1 ] || KILLER=nospec:$1
	return $status
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
	# in the order in which they are first wanted
	for variant in $(printf '%s@\n' "${uml[@]}" | cut -d @ -f 2 | awk '!seen[$1]++ { print $1 == "" ? "split" : $1 }'); do
		some=() variant=${variant#split}
		for test in "${uml[@]}"; do
			[[ $test == *@* ]] || test+=@
			[[ ${test#*@} != "$variant" ]] || some+=("${test%@*}")
		done
		[ ${#some[@]} -eq 0 ] && continue
		build_variant "$variant" || return 2
		run_uml "$variant" "${some[@]}" || return 1
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

# run_without LINE...: all tests that these mutants name, on the sources as they are (of the
# object code "make check" knows)
run_without()
{
	local tests status=0 FILE='' unit uml UML_SECONDS=$UML_SECONDS

	unit=$(sources_are unit) uml=$(sources_are uml)
	touch "$ALL/passed" "$ALL/took"
	readarray -t tests < <(printf '%s\n' "$@" | cut -f 3 | tr ' ' '\n' | grep '^u' | sort -u)
	readarray -t tests < <(printf '%s\n' "${tests[@]}" | sed "s/^unit:/$unit &/; s/^uml:/$uml &/" | grep -vxFf "$ALL/passed" | cut -d ' ' -f 2)
	[[ "$*" != *nospec:* ]] || is_made kernel-6.12 || "$TOP/scripts/setup.sh" 6.12
	share_entries
	if printf '%s\n' "${tests[@]}" | grep -q '^uml:'; then
		"$TOP/scripts/uml/build.sh" uml
		[[ " ${tests[*]} " != *@smp[\ _]* ]] || "$TOP/scripts/uml/build.sh" uml-smp-kasan
		share_entries
		in_tree make -s -C "$TREE/selftests/uapi" OUTPUT="$ALL/uapi" || die "the uapi tests do not build; see $WORK/log"
	fi
	[ ${#tests[@]} -gt 0 ] || return 0
	info "without a mutant: ${tests[*]}"
	# they are many, and the machine may be busy
	UML_SECONDS=$((UML_SECONDS * (1 + ${#tests[@]} / SEVERAL)))
	run_tests "${tests[@]}" || status=$?
	[ $status -ne 2 ] || die "it does not build without a mutant; see $WORK/log"
	[ $status -eq 0 ] || die "$KILLER fails without a mutant; see $WORK/log"
	printf '%s\n' "${tests[@]}" | sed "s/^unit:/$unit &/; s/^uml:/$uml &/" >> "$ALL/passed"
}

verdict()
{
	local status=$1 full=$2 bug=$3 equivalent=$4 start=$5 word why=''

	case $status-$equivalent in
	1--) word=killed why=$KILLER ;;
	0--) word=survived ;;
	2-*) word='not built' ;;
	3-*) word='in error' ;;
	0-*) word=equivalent why=$equivalent ;;
	*) word=survived why="said to be equivalent, but $KILLER fails" ;;
	esac
	[ "$word" != killed ] || echo "$full" >> "$ALL/killed"
	printf '%-10s %s (%d s)%s%s\n' "$word" "$full" $((SECONDS - start)) "${why:+: $why}" "$([ "$bug" = - ] || echo " [$bug]")" |
		tee -a "$ALL/verdicts" "$ALL/run"
}

run_mutant()
{
	local full=$1 FILE=$2 start=$SECONDS status=0 tests

	read -ra tests <<< "$3"
	if "${LIST[@]}" apply "$full" "$TREE"; then
		echo "=== $full" >> "$WORK/log"
		run_tests "${tests[@]}" || status=$?
	else
		status=3
	fi
	restore "$FILE"
	verdict $status "$full" "$4" "$5" "$start"
}

### several mutants in one kernel

# begins_plain TEST...: only tests in User-Mode Linux, the first in no variant
begins_plain()
{
	[[ $1 == uml:* && $1 != *@* && " $*" != *\ @(unit|nospec):* ]]
}

# add_to_batch NAME FILE TESTS BUG EQUIVALENT
add_to_batch()
{
	local FILE=$2 n=${#BATCH[@]} status=0

	"${LIST[@]}" apply "$1" "$TREE" || status=3
	[ $status -ne 0 ] || build_uml || status=2
	if [ $status -eq 0 ]; then
		cp "$MODULE/kvnet.ko" "$WORK/batch/$n.ko"
		printf '%s\n' "$3" | tr ' ' '\n' | grep -v @ | sed 's/^uml://' > "$WORK/batch/$n.tests"
		BATCH+=("$(printf '%s\t' "$@")")
	else
		KILLER='' verdict $status "$1" "$4" "$5" $SECONDS
	fi
	restore "$FILE"
}

# boot_batch: what there still is in $WORK/batch
boot_batch()
{
	readarray -t tests < <(cat "$WORK"/batch/*.tests | sort -u)
	choose_uapi "${tests[@]}"
	cp "$WORK/clean.ko" "$MODULE/kvnet.ko"
	last_has_gone
	boot $((4 * UML_SECONDS)) --env UAPI_TIMEOUT="$UML_SECONDS" \
		--add "$WORK/batch:mutants" --add "$TREE/selftests/lib/bad_messages.h:selftests/lib/bad_messages.h" \
		-- "$TREE/scripts/vm/mutants.sh" > "$WORK/out.batch" 2>&1 || true
	cat "$WORK/out.batch" >> "$WORK/log"
}

# The mutants of a batch, in one kernel as long as it is as good as new, with those tests that
# need no other. A mutant that passes is tried again alone, with all of its tests: then what it
# leaves behind is looked for, too.
run_batch()
{
	local n tests fields word start

	while compgen -G "$WORK/batch/*.ko" > /dev/null; do
		start=$SECONDS
		boot_batch
		for n in "${!BATCH[@]}"; do
			[ -f "$WORK/batch/$n.ko" ] || continue
			grep -qx "# mutant $n begins" "$WORK/out.batch" || continue
			rm "$WORK/batch/$n.ko" "$WORK/batch/$n.tests"
			IFS=$'\t' read -ra fields <<< "${BATCH[$n]}"
			sed -n "/^# mutant $n begins/,/^# mutant $n [pk]/p" "$WORK/out.batch" > "$WORK/out"
			word=$(sed -n "s/^# mutant $n \([pk].*\)/\1/p" "$WORK/out")
			if [ "$word" = passed ]; then
				run_mutant "${fields[@]}"
			else
				killer uml:split "$WORK/out"
				verdict 1 "${fields[0]}" "${fields[3]}" "${fields[4]}" "$start"
			fi
			start=$SECONDS
		done
		grep -q '^# mutant' "$WORK/out.batch" || die "no mutant has begun; see $WORK/log"
	done
	BATCH=()
}

# run_lane NUMBER LINE...: each LANES-th of these mutants
run_lane()
{
	local lane=$1 line fields tests BATCH=()

	shift
	make_tree "$lane"
	rm -rf "$WORK/batch"
	mkdir "$WORK/batch"
	! printf '%s\n' "$@" | cut -f 3 | grep -q uml: || build_clean
	while [ $# -ge "$lane" ]; do
		line=${!lane}
		IFS=$'\t' read -ra fields <<< "$line"
		read -ra tests <<< "${fields[2]}"
		if begins_plain "${tests[@]}" && [ "${fields[4]}" = - ]; then
			add_to_batch "${fields[@]}"
		else
			run_mutant "${fields[@]}"
		fi
		[ ${#BATCH[@]} -lt $SEVERAL ] || run_batch
		shift $(($# < LANES ? $# : LANES))
	done
	run_batch
}

# summary ALL KILLED: of these so many by an earlier run
summary()
{
	local killed survived equivalent other

	killed=$(($2 + $(grep -c '^killed' "$ALL/run" || true)))
	survived=$(grep -c '^survived' "$ALL/run" || true)
	equivalent=$(grep -c '^equivalent' "$ALL/run" || true)
	other=$(grep -c '^not built' "$ALL/run" || true)
	printf '%d mutants: %d killed, %d survived, %d equivalent, %d not built, %d in error\n' "$1" \
		"$killed" "$survived" "$equivalent" "$other" "$(grep -c '^in error' "$ALL/run" || true)"
	[ $((killed + equivalent)) -eq "$1" ]
}

main()
{
	local mutants all lane

	if [ "${1:-}" = --check ]; then
		exec "${LIST[@]}" check
	fi
	"${LIST[@]}" check
	mkdir -p "$ALL"
	hold mutate
	readarray -t mutants < <("${LIST[@]}" list "$@")
	all=${#mutants[@]}
	# that nothing has changed is fine
	if [ "$all" -eq 0 ]; then
		[ -n "${CHANGED:-}" ]
		exit
	fi
	[ -n "${AGAIN:-}" ] || : > "$ALL/killed"
	touch "$ALL/killed"
	: > "$ALL/run"
	make_tree 1
	run_without "${mutants[@]}"
	readarray -t mutants < <(printf '%s\n' "${mutants[@]}" | awk -F '\t' 'FILENAME != "-" { killed[$1] = 1; next } !($1 in killed)' "$ALL/killed" -)
	for ((lane = 1; lane <= LANES; lane++)); do
		{ run_lane "$lane" "${mutants[@]}" || die "lane $lane has ended early"; } &
	done
	wait
	"${LIST[@]}" record < "$ALL/run"
	summary "$all" $((all - ${#mutants[@]}))
}

main "$@"
