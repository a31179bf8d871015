#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of what the scripts share (scripts/lib.sh): part of "make unit". Ends in
# "N passed, N failed, N skipped".
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"
# shellcheck disable=SC2034 # for check.sh
WHAT=rig
# shellcheck source=selftests/rig/check.sh
. "$TOP/selftests/rig/check.sh"

# it is a lane's step itself
unset KVNET_LANE

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

# an entry of the cache is made once, however many need it at the same time; and again from
# another input
entry_of()
{
	entry_needed made "$1" || return 0
	echo "$1" >> "$WORK/made"
	echo "$1" > "$ENTRY/file"
	# long enough for the others to come
	comes_true three_wait || true
	entry_made
}

# within half a minute
comes_true()
{
	local i

	for ((i = 0; i < 3000; i++)); do
		! "$@" || return 0
		sleep 0.01
	done
	return 1
}

# three others wait for the lock, or have found it made
three_wait()
{
	[ "$(grep -c "waiting for another run" "$WORK/said")" -ge 3 ]
}

entries_are_made_once()
{
	local i pids=()

	CACHE=$WORK/cache
	: > "$WORK/said"
	for i in 1 2 3 4; do
		# a checkout each
		BUILD=$WORK/build-$i entry_of first 2>> "$WORK/said" &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ "$(cat "$WORK/made")" = first ] || fail "made more than once: $(cat "$WORK/made")" || return
	[ "$(grep -c "waiting for another run" "$WORK/said")" -eq 3 ] || fail "none has waited" || return
	for i in 1 2 3 4; do
		[ "$(cat "$WORK/build-$i/made/file")" = first ] || fail "checkout $i has no link" || return
	done
	BUILD=$WORK/build-1 entry_of second 2>> "$WORK/said"
	BUILD=$WORK/build-2 entry_of second
	[ "$(cat "$WORK/made")" = $'first\nsecond' ] || fail "$(cat "$WORK/made")" || return
	[ "$(cat "$WORK/build-2/made/file" "$WORK/build-3/made/file")" = $'second\nfirst' ] || fail "checkouts share what differs"
}

# one that was given up is made by the next
entries_given_up()
{
	BUILD=$WORK/given-up CACHE=$WORK/cache-given-up
	entry_needed it x && release
	! is_made it && entry_needed it x || fail "it is taken for made" || return
	entry_made
	is_made it && ! entry_needed it x && entry_needed it y
}

# what was made for a checkout that is gone goes two weeks later, that of others stays
entries_unused()
{
	local made

	BUILD=$WORK/unused CACHE=$WORK/cache-unused
	entry_needed it old && entry_made && entry_needed it-too old && entry_made || return
	touch -d '15 days ago' "$CACHE"/it*.made
	entry_needed it new && entry_made || return
	made=$(cd "$CACHE" && echo *.made)
	[ "$(wc -w <<< "$made")" -eq 2 ] && [[ $made == *it-too-* ]] || fail "$made"
}

clean_cache()
{
	KVNET_CACHE=$WORK/cache-to-clean
	mkdir -p "$KVNET_CACHE/something"
	! KVNET_CACHE=$KVNET_CACHE "$TOP/scripts/clean-cache.sh" 2> /dev/null && [ -d "$KVNET_CACHE" ] || fail "no cache of ours, and it has gone" || return
	CACHE=$KVNET_CACHE make_cache
	KVNET_CACHE=$KVNET_CACHE "$TOP/scripts/clean-cache.sh" > /dev/null && [ ! -e "$KVNET_CACHE" ]
}

words_for_progress()
{
	[ "$(how_far 200 50 10)" = "50 of about 200 (25 %), 10 s, about 30 s to go" ] &&
		[ "$(how_far 200 9 10)" = "10 s" ] && [ "$(how_far 200 300 10)" = "all but done, 10 s" ] &&
		[ "$(how_far 60 "" 10)" = "10 s of about 60 s" ] && [ "$(how_far "" "" 10)" = "10 s" ]
}

# progress is printed while the command runs, and not after that, however it ends
progress_is_told()
{
	cat > "$WORK/slow.sh" <<- EOF
		. "$TOP/scripts/lib.sh"
		WATCH_EVERY=1
		ten() { echo 10; }
		watched "slow thing" 40 ten -- sh -c 'until grep -q "slow thing: 10 of about 40" "$WORK/told"; do sleep 0.05; done'
		watch_begin "other thing" 9
		die "the end"
	EOF
	timeout 60 bash "$WORK/slow.sh" 2> "$WORK/told" && return 1
	[ "$(tail -n 1 "$WORK/told")" = "slow.sh: the end" ] || fail "$(cat "$WORK/told")" || return
	# in a lane, whose log is shown only at its end
	KVNET_LANE=some timeout 60 bash "$WORK/slow.sh" 3> "$WORK/told" 2> /dev/null && return 1
	grep -q 'some: slow thing: 10 of about 40' "$WORK/told" || fail "a lane: $(cat "$WORK/told")"
}

# kselftest's way: installed, moved, and run there
installed_tests()
{
	local said program

	make -s -C "$TOP/selftests" install TARGETS=unit TESTS="iotlb_miss memtable_fuzz" OUTPUT="$WORK/ksft" INSTALL_PATH="$WORK/installed" JOBS=1 || return
	mv "$WORK/installed" "$WORK/moved"
	rm -r "$WORK/ksft"
	said=$("$WORK/moved/run_kselftest.sh") || fail "$said" || return
	grep -qx '1\.\.2' <<< "$said" && grep -qx 'ok 1 selftests: unit: iotlb_miss_test' <<< "$said" &&
		grep -qx 'ok 2 selftests: unit: memtable_fuzz' <<< "$said" && grep -q '^# ok 1 - .*iotlb_miss_test: ' <<< "$said" || fail "$said" || return
	# it is the corpus beside it that has been read
	rm -r "$WORK/moved/unit/corpus/memtable"
	said=$("$WORK/moved/run_kselftest.sh" -t unit:memtable_fuzz) && fail "without a corpus: $said" && return 1
	program=$WORK/moved/unit/iotlb_miss_test
	installed_ends_in 'exit 0' '$' && installed_ends_in 'exit 4' ' # SKIP$' && installed_ends_in 'exit 1' ' # exit=1$' &&
		installed_ends_in 'exec tail -f /dev/null' ' # TIMEOUT 1 seconds$'
}

# installed_ends_in COMMAND REGEX: a program that does this gets this line
installed_ends_in()
{
	local said got=0 want=0 verdict=ok

	[[ $2 == *exit=* || $2 == *TIMEOUT* ]] && want=1 verdict='not ok'
	printf '#!/bin/sh\necho words\n%s\n' "$1" > "$program"
	said=$("$WORK/moved/run_kselftest.sh" -o 1 -c unit -d | grep -c 'SKIP dry run') && [ "$said" -eq 2 ] || fail "a dry run: $said" || return
	said=$("$WORK/moved/run_kselftest.sh" -o 1 -t unit:iotlb_miss_test) || got=$?
	[ $got -eq $want ] && grep -q "^$verdict 1 selftests: unit: iotlb_miss_test$2" <<< "$said" && grep -qx '# words' <<< "$said" ||
		fail "$1: status $got: $said"
}

# tcp_socket PORT STATE REGEX: is there one with this port, in this state, whose queues look like that?
tcp_socket()
{
	awk -v port=":$(printf %04X "$1")" -v state="$2" -v queues="$3" '$2 ~ port "$" && $4 == state && $5 ~ queues { found = 1 }
		END { exit !found }' /proc/net/tcp
}

# However late its sender is, a stream has something to be compared at both ends of its life,
# even where nothing is ever due.
streams_carry_something()
{
	local port=$((20000 + RANDOM % 10000)) memsum=$WORK/net/memsum sender receiver

	make -s -C "$TOP/selftests/net" OUTPUT="$WORK/net" "$memsum" || return
	"$memsum" recv tcp $port 1 0 > "$WORK/received" 2>&1 &
	receiver=$!
	comes_true tcp_socket $port 0A . || fail "the receiver does not listen: $(cat "$WORK/received")" || { kill -KILL $receiver; return 1; }
	# what comes is there to be seen until it goes on
	kill -STOP $receiver
	"$memsum" send tcp 127.0.0.1 $port 0 > "$WORK/sent" 2>&1 &
	sender=$!
	comes_true tcp_socket $port 01 ':0*[1-9A-F]' || fail "nothing comes"
	kill -CONT $receiver
	kill $sender
	wait $sender && wait $receiver || fail "sender: $(cat "$WORK/sent"); receiver: $(cat "$WORK/received")" || return
	[ "$(cat "$WORK/sent")" = "sent 64 blocks" ] && grep -q '^received 64 blocks, lost 0, wrong 0, stale 0,' "$WORK/received" ||
		fail "$(cat "$WORK/sent"); $(cat "$WORK/received")"
}

for name in bad_places good_places behind_a_link entries_are_made_once entries_given_up entries_unused clean_cache \
	words_for_progress progress_is_told installed_tests streams_carry_something; do
	check "$name"
done
echo "$PASSED passed, $FAILED failed, 0 skipped"
[ "$FAILED" -eq 0 ]
