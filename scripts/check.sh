#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is quick: builds (the module for each kernel of the test host with W=1 and
# sparse, and the test programs), unit tests, style and static checks. Each prints
# what it finds, the last line says how many failed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

DRIVER_CAP=450
OTHER_CAP=600
SERIES=6.12

source_files()
{
	git -C "$TOP" ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
		[ ! -e "$TOP/$file" ] || echo "$file"
	done
}

check_shell()
{
	local file files=()

	while read -r file; do
		head -n 3 "$TOP/$file" | grep -qE '^#!.*(bash|/sh)|shellcheck shell=' && files+=("$file")
	done < <(source_files scripts selftests tools .ci)
	(cd "$TOP" && shellcheck -x -S warning -e SC1091 "${files[@]}")
}

check_kernel_doc()
{
	local tool

	tool=$(kernel_headers $SERIES)/scripts/kernel-doc
	[ -x "$tool" ] || { echo "no kernel-doc in the headers: skipped"; return 0; }
	(cd "$TOP" && ! "$tool" -none drivers/kvnet/*.[ch] 2>&1 | grep -E 'warning|error')
}

check_module()
{
	local series bad=0

	for series in $SERIES_ALL; do
		"$TOP/scripts/build-module.sh" --sparse "$series" || bad=1
	done
	# of the laboratory, which has one kernel
	"$TOP/scripts/build-module.sh" --sparse --floor $SERIES || bad=1
	return $bad
}

# after check_module
check_nospec()
{
	local series bad=0

	for series in $SERIES_ALL; do
		"$TOP/scripts/check-nospec.sh" "$series" || bad=1
	done
	return $bad
}

check_programs()
{
	make -s -C "$TOP/selftests/uapi" OUTPUT="$BUILD/uapi" &&
		make -s -C "$TOP/selftests/net" OUTPUT="$BUILD/net-tools" &&
		make -s -C "$TOP/selftests/perf" OUTPUT="$BUILD/perf"
}

check_unit()
{
	local log=$BUILD/log/unit.log

	mkdir -p "$BUILD/log"
	if ! make -s -C "$TOP/selftests/unit" run > "$log" 2>&1; then
		grep -E '^not ok|^# |error|ERROR' "$log" || tail -n 20 "$log"
		return 1
	fi
	tail -n 1 "$log"
}

# the laboratory's arithmetic and reports; kvnetctl
check_tools()
{
	local log=$BUILD/log/tools.log

	mkdir -p "$BUILD/log"
	if ! { bench_tool test && make -s -C "$TOP/selftests/kvnetctl" run; } > "$log" 2>&1; then
		cat "$log"
		return 1
	fi
	tail -n 1 "$log"
}

check_caps()
{
	local file lines cap bad=0

	while read -r file; do
		lines=$(wc -l < "$TOP/$file")
		cap=$OTHER_CAP
		[[ $file != drivers/* ]] || cap=$DRIVER_CAP
		if [ "$lines" -gt $cap ]; then
			echo "$file has $lines lines, the cap is $cap"
			bad=1
		fi
	done < <(source_files drivers scripts selftests tools)
	return $bad
}

check_spdx()
{
	local file bad=0

	while read -r file; do
		head -n 3 "$TOP/$file" | grep -q 'SPDX-License-Identifier' && continue
		echo "$file has no SPDX line"
		bad=1
	done < <(source_files drivers scripts selftests tools include .ci Makefile Kbuild ':!selftests/*/corpus/*')
	return $bad
}

# of who may run a source, and of the barriers
check_models()
{
	local log=$BUILD/log/models.log

	if ! "$TOP/selftests/models/run.sh" > "$log" 2>&1; then
		grep -v '^ok' "$log"
		return 1
	fi
	tail -n 1 "$log"
}

# what the laboratory's copy without counters leaves out is where it is looked for
check_uncounted()
{
	"$TOP/scripts/uncounted.sh" "$BUILD/uncounted-check"
	rm -rf "$BUILD/uncounted-check"
}

# those that do not apply any more prove nothing
check_mutants()
{
	python3 -B "$TOP/scripts/mutants.py" check
}

check_spec()
{
	python3 -B "$TOP/scripts/check-spec.py" "$TOP/Documentation/netlink/specs/kvnet.yaml" "$TOP/include/uapi/linux/kvnet.h"
}

# Each counter and histogram is explained; and what recipes and scripts want of the
# tracepoints is there. (That they work: make net TESTS=trace.)
check_counters()
{
	local driver=$TOP/drivers/kvnet doc=$TOP/Documentation/debugging.rst name bad=0

	for name in $(sed -n 's/^\tX(\([a-z_]*\)).*/\1/p' "$driver/stats.h"); do
		grep -qE "^([a-z_]+, )*${name}[, ]" "$doc" || { echo "debugging.rst does not explain $name"; bad=1; }
	done
	for name in $(grep -ohE 'kvnet:kvnet_[a-z_]+' "$doc" "$TOP"/tools/trace/*.bt | sort -u); do
		grep -qE "(TRACE_EVENT\(|DEFINE_EVENT\(kvnet_vq_event, )${name#kvnet:}," "$driver/trace.h" || { echo "there is no tracepoint $name"; bad=1; }
	done
	for name in $(grep -ohE 'args->[a-z_]+' "$doc" "$TOP"/tools/trace/*.bt | sort -u); do
		# of sched_waking
		[ "$name" = 'args->comm' ] || grep -qE "__field\([a-z0-9_ ]+, ${name#args->}\)" "$driver/trace.h" || { echo "no tracepoint has $name"; bad=1; }
	done
	return $bad
}

# Each page is in the table of contents, and each that somebody names is there. Where Sphinx is,
# it makes web pages of them without a warning.
check_docs()
{
	local file page doc=$TOP/Documentation bad=0

	for file in "$doc"/*.rst; do
		page=$(basename "$file" .rst)
		[ "$page" = index ] || grep -qx "   $page" "$doc/index.rst" || { echo "$page.rst is not in the toctree of index.rst"; bad=1; }
	done
	while IFS=: read -r file page; do
		[ -e "$doc/$page" ] || { echo "$file names $page, which is not in Documentation"; bad=1; }
	done < <(cd "$TOP" && source_files '*' | grep -vE '^(Documentation/conf.py|scripts/check.sh)$' | xargs grep -oHP '(?<![/\w])[A-Za-z]+\.rst\b|(?<=Documentation/)[A-Za-z]+\.rst\b' | sort -u)
	! /usr/bin/python3 -c 'import sphinx' 2> /dev/null || "$TOP/scripts/html.sh" > /dev/null || bad=1
	return $bad
}

# asking for a kernel version is for include/compat alone
check_versions()
{
	! grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION' "$TOP/drivers" --include='*.[ch]'
}

main()
{
	local check failed=0

	for check in $SERIES_ALL; do
		is_made "kernel-$check" || "$TOP/scripts/setup.sh" "$check"
	done
	for check in module nospec programs unit models tools shell kernel_doc caps spdx versions mutants uncounted spec counters docs; do
		info "check: $check"
		"check_$check" || failed=$((failed + 1))
	done
	info "check: layers"
	"$TOP/scripts/layers.sh" || failed=$((failed + 1))
	echo "$failed checks failed"
	[ $failed -eq 0 ]
}

main "$@"
