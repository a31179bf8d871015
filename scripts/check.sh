#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Static checks: what sources and documentation show without being run. Each check prints
# what it finds and is counted as a test; the last line is "N passed, N failed". A tool
# that is missing is a failure.
#
#   scripts/check.sh            builds (the module for each kernel of the test host with W=1
#                               and sparse, and the test programs), unit tests, models, and
#                               then the static checks
#   scripts/check.sh static     these alone, after a build of the module for 6.12
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

SERIES=6.12
STATIC="nospec checkpatch shell kernel_doc spdx versions layers python needs mutants killers spec counters docs codespell words"
# of checkpatch: include/compat is about versions
CHECKPATCH_IGNORE=LINUX_VERSION_CODE,CONSTANT_COMPARISON

source_files()
{
	git -C "$TOP" ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
		[ ! -e "$TOP/$file" ] || echo "$file"
	done
}

# files_that_begin_with WORDS PATH...: source files that have them in their first three lines
files_that_begin_with()
{
	(cd "$TOP" && source_files "${@:2}" | xargs awk -v words="$1" 'FNR > 3 { nextfile } $0 ~ words { print FILENAME; nextfile }')
}

# contents NAME...: of these files of the tree and of what checks them
contents()
{
	(cd "$TOP" && sha256sum scripts/check.sh "$@")
}

check_shell()
{
	local files

	have shellcheck || { echo "no shellcheck"; return 1; }
	readarray -t files < <(files_that_begin_with '^#!.*(bash|/sh)|shellcheck shell=' scripts selftests tools .ci)
	! has_passed shellcheck < <(shellcheck --version; contents "${files[@]}") || return 0
	printf '%s\n' "${files[@]}" | (cd "$TOP" && xargs -P "$(nproc)" -n 12 shellcheck -x -S warning -e SC1091) || return
	passes_now
}

check_kernel_doc()
{
	local tool

	tool=$(kernel_headers $SERIES)/scripts/kernel-doc
	[ -x "$tool" ] || { echo "no kernel-doc in the headers of $SERIES"; return 1; }
	(cd "$TOP" && source_files 'drivers/*.[ch]' | xargs "$tool" -none 2>&1 | { ! grep -E 'warning|error'; })
}

check_module()
{
	local series bad=0

	for series in $SERIES_ALL; do
		"$TOP/scripts/build-module.sh" --sparse "$series" || bad=1
	done
	# of the laboratory, which has one kernel
	"$TOP/scripts/build-module.sh" --sparse --floor $SERIES || bad=1
	"$TOP/scripts/build-module.sh" --uncounted $SERIES || bad=1
	return $bad
}

# after check_module
check_nospec()
{
	"$TOP/scripts/check-nospec.sh" $SERIES
}

# By the checkpatch of the source that User-Mode Linux is built from. checkpatch.known has
# what it may say: a file, and the kind of message.
check_checkpatch()
{
	local tool=$BUILD/uml-src/scripts/checkpatch.pl files

	[ -f "$tool" ] || "$TOP/scripts/setup.sh" --source
	readarray -t files < <(source_files 'drivers/*.[ch]' 'include/*.h')
	! has_passed checkpatch < <(contents "$tool" scripts/checkpatch.known "${files[@]}") || return 0
	(cd "$TOP" && printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 25 perl "$tool" --no-tree --strict --terse \
		--show-types --ignore "$CHECKPATCH_IGNORE" --file 2>&1 || true) |
		awk -v known="$TOP/scripts/checkpatch.known" '
			BEGIN { while ((getline line < known) > 0) if (split(line, part) == 2) may[part[1], part[2]] = 1 }
			match($0, /(ERROR|WARNING|CHECK):[A-Z_]+/) {
				kind = substr($0, RSTART, RLENGTH)
				sub(/.*:/, "", kind)
				file = substr($0, 1, index($0, ":") - 1)
				sub(/.*\//, "", file)
				if (!((file, kind) in may)) {
					print
					bad = 1
				}
			}
			/^total: / { n++ }
			END { if (!n) print "checkpatch has said nothing"; exit bad || !n }' || return
	passes_now
}

# words of the tests that look like other words: scripts/codespell.ignore
check_codespell()
{
	(cd "$TOP" && source_files '*' ':!selftests/*/corpus/*' ':!LICENSE' | xargs codespell -I scripts/codespell.ignore)
}

# words of the field and an actor for each sentence: scripts/words.list
check_words()
{
	(cd "$TOP" && source_files drivers include tools Documentation README.md | xargs python3 -B scripts/words.py)
}

check_programs()
{
	make -s -C "$TOP/selftests/uapi" OUTPUT="$BUILD/uapi" &&
		make -s -C "$TOP/selftests/net" OUTPUT="$BUILD/net-tools" &&
		make -s -C "$TOP/selftests/perf" OUTPUT="$BUILD/perf"
}

check_unit()
{
	make -s -C "$TOP/selftests/unit" run
}

# the laboratory's arithmetic and reports; kvnetctl; QEMU's own device
check_tools()
{
	"$TOP/scripts/bench.sh" test && make -s -C "$TOP/selftests/kvnetctl" run && make -s -C "$TOP/selftests/qemu" run
}

check_spdx()
{
	local paths=(drivers scripts selftests tools include .ci Makefile Kbuild ':!selftests/*/corpus/*') without

	without=$(comm -13 <(files_that_begin_with SPDX-License-Identifier "${paths[@]}" | sort) <(source_files "${paths[@]}" | sort))
	[ -z "$without" ] || { echo "no SPDX line: $without"; return 1; }
}

# of the run state of a queue, and of the barriers
check_models()
{
	"$TOP/selftests/models/run.sh"
}

# those by hand that do not apply any more prove nothing
check_mutants()
{
	python3 -B "$TOP/scripts/mutants.py" check
}

# how many of those that have been tried tier one kills
check_killers()
{
	python3 -B "$TOP/scripts/mutants.py" killers
}

# after check_module
check_layers()
{
	python3 -B "$TOP/scripts/layers.py" "$TOP/drivers/kvnet" "$BUILD/mod-$SERIES/drivers/kvnet"
}

# the scripts' own tests, a folder at a time: a package has those of its own found from outside;
# and the tests' QMP client
check_python()
{
	local dir

	for dir in $(source_files 'scripts/*test_*.py' | xargs -n 1 dirname | sort -u); do
		[ -e "$TOP/$dir/__init__.py" ] || (cd "$TOP/$dir" && python3 -B -m unittest discover -q) || return
	done
	python3 -B "$TOP/selftests/net/qmp_test.py"
}

# what each test says of its needs
check_needs()
{
	"$TOP/scripts/test.sh" check
}

check_spec()
{
	"$TOP/scripts/netlink-gen.sh" --check
}

# Each counter and histogram is explained; and what recipes and scripts want of the
# tracepoints is there. (That they work: make net TESTS=trace.)
check_counters()
{
	local doc=$TOP/Documentation/debugging.rst stats trace name bad=0

	stats=$(find "$TOP/drivers/kvnet" -name stats.h)
	trace=$(find "$TOP/drivers/kvnet" -name trace.h)

	for name in $(sed -n 's/^\tX(\([a-z_]*\)).*/\1/p' "$stats"); do
		grep -qE "^([a-z_]+, )*${name}[, ]" "$doc" || { echo "debugging.rst does not explain $name"; bad=1; }
	done
	for name in $(grep -ohE 'kvnet:kvnet_[a-z_]+' "$doc" "$TOP"/tools/trace/*.bt | sort -u); do
		grep -qE "(TRACE_EVENT\(|DEFINE_EVENT\(kvnet_vq_event, )${name#kvnet:}," "$trace" || { echo "there is no tracepoint $name"; bad=1; }
	done
	for name in $(grep -ohE 'args->[a-z_]+' "$doc" "$TOP"/tools/trace/*.bt | sort -u); do
		# of sched_waking
		[ "$name" = 'args->comm' ] || grep -qE "__field\([a-z0-9_ ]+, ${name#args->}\)" "$trace" || { echo "no tracepoint has $name"; bad=1; }
	done
	return $bad
}

# Each page is in the table of contents, and each that a file names is there. Sphinx makes web
# pages of them without a warning.
check_docs()
{
	local file page doc=$TOP/Documentation bad=0

	for file in "$doc"/*.rst; do
		page=$(basename "$file" .rst)
		[ "$page" = index ] || grep -qx "   $page" "$doc/index.rst" || { echo "$page.rst is not in the toctree of index.rst"; bad=1; }
	done
	while IFS=: read -r file page; do
		[ -e "$doc/$page" ] || { echo "$file names $page, which is not in Documentation"; bad=1; }
	done < <(cd "$TOP" && source_files '*' | grep -vE '^(Documentation/conf.py|scripts/check.sh)$' | xargs grep -oHP '(?<![-/\w])[A-Za-z-]+\.rst\b|(?<=Documentation/)[A-Za-z-]+\.rst\b' | sort -u)
	"$TOP/scripts/html.sh" > /dev/null || bad=1
	return $bad
}

# asking for a kernel version is for include/compat alone
check_versions()
{
	! grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION' "$TOP/drivers" --include='*.[ch]'
}

# run_check NAME: one that fails shows its output, without the tests that have passed
run_check()
{
	local log=$BUILD/log/check-$1.log start=$SECONDS

	if "check_$1" > "$log" 2>&1; then
		echo "ok - check: $1 # $((SECONDS - start)) s"
		PASSED=$((PASSED + 1))
	else
		sed '/^ok /d; s/^/# /' "$log"
		echo "not ok - check: $1"
		FAILED=$((FAILED + 1))
	fi
}

main()
{
	local check checks=$STATIC

	PASSED=0 FAILED=0
	mkdir -p "$BUILD/log"
	case ${1:-} in
	'')
		"$TOP/scripts/setup.sh"
		checks="module programs unit models tools $STATIC"
		;;
	static)
		[ -f "$BUILD/mod-$SERIES/drivers/kvnet/kvnet.ko" ] ||
			echo "# no module for $SERIES, which some look into: scripts/build-module.sh $SERIES builds it"
		;;
	*) die "usage: check.sh [static]" ;;
	esac
	for check in $checks; do
		run_check "$check"
	done
	echo "$PASSED passed, $FAILED failed"
	[ $FAILED -eq 0 ]
}

main "$@"
