#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of what the scripts share (scripts/lib.sh): part of "make unit". Ends in
# "N passed, N failed, N skipped".
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

PASSED=0
FAILED=0
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

fail()
{
	echo "# $*"
	return 1
}

check()
{
	if (set +e; "$1") > "$WORK/log" 2>&1; then
		PASSED=$((PASSED + 1))
		echo "ok - rig: $1"
	else
		FAILED=$((FAILED + 1))
		sed 's/^\(# \)\?/# /' "$WORK/log"
		echo "not ok - rig: $1"
	fi
}

# make and the scripts say in one line that they do not work in such a place
bad_places()
{
	local name dir said status

	for name in 'a b' 'a:b' "a'b" 'a"b' 'a$b' 'a,b' 'a#b' 'a=b' 'a%b' 'a\b' 'a*b' $'a\tb' 'a;b'; do
		dir="$WORK/place/$name"
		mkdir -p "$dir"
		cp -r "$TOP"/{Makefile,scripts} "$dir/"
		status=0
		said=$(make --no-print-directory -C "$dir" uml 2>&1) || status=$?
		[ $status -eq 2 ] && [[ $said == *"cannot work in '$dir'"* ]] && [ "$(wc -l <<< "$said")" -eq 1 ] ||
			fail "make in '$dir': status $status: $said" || return
		status=0
		said=$("$dir/scripts/test.sh" uml 2>&1) || status=$?
		[ $status -eq 1 ] && [[ $said == *"cannot work in '$dir'"* ]] && [ "$(wc -l <<< "$said")" -eq 1 ] ||
			fail "test.sh in '$dir': status $status: $said" || return
	done
}

good_places()
{
	local name dir

	for name in 'größe' 'a~b' '~ab' 'A+b@c-1.0_2'; do
		dir="$WORK/place/$name"
		mkdir -p "$dir"
		cp -r "$TOP"/{Makefile,scripts} "$dir/"
		make -C "$dir" help > /dev/null || fail "make help in '$dir'" || return
	done
}

# through a link everything is where it really is
behind_a_link()
{
	mkdir -p "$WORK/real"
	cp -r "$TOP/scripts" "$WORK/real/"
	ln -s real "$WORK/link"
	[ "$(env -u KVNET_BUILD bash -c '. "$0"; echo "$TOP $BUILD"' "$WORK/link/scripts/lib.sh")" = "$WORK/real $WORK/real/build" ]
}

# who takes a CPU gets one that nobody has; when all are taken, any
cpus_are_shared_out()
{
	local count i

	count=$(cpus | wc -l)
	[ "$count" -ge 1 ] || return
	# as if nobody else ran here
	CPU_LOCK=$WORK/cpu
	for ((i = 0; i < count; i++)); do
		take_cpu
		echo "$CPU"
	done | sort -u > "$WORK/cpus"
	[ "$(wc -l < "$WORK/cpus")" -eq "$count" ] || fail "of $count CPUs these were taken: $(tr '\n' ' ' < "$WORK/cpus")" || return
	for ((i = 0; i < count; i++)); do
		take_cpu
	done
	take_cpu
	cpus | grep -qx "$CPU"
}

for name in bad_places good_places behind_a_link cpus_are_shared_out; do
	check "$name"
done
echo "$PASSED passed, $FAILED failed, 0 skipped"
[ "$FAILED" -eq 0 ]
