#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Which lines do the inputs of the fuzz targets reach? Of each file that a target has: the share,
# and the lines that are not reached.
#
#   fuzz_coverage.sh DIRECTORY CORPUS SOURCES TARGET...
#
# DIRECTORY has TARGET_cover, and in DIRECTORY/TARGET what was found.
set -eu

dir=$1
corpus=$2
sources=$3
shift 3
objects='' profiles=''

for target; do
	mkdir -p "$dir/$target"
	LLVM_PROFILE_FILE=$dir/$target.profraw "$dir/${target}_cover" -runs=0 "$dir/$target" "$corpus/$target" > "$dir/$target.log" 2>&1 ||
		{ cat "$dir/$target.log"; exit 1; }
	objects="$objects -object $dir/${target}_cover" profiles="$profiles $dir/$target.profraw"
done
# shellcheck disable=SC2086
"$("$CLANG" -print-prog-name=llvm-profdata)" merge -o "$dir/profdata" $profiles
# shellcheck disable=SC2086
"$("$CLANG" -print-prog-name=llvm-cov)" export -format=lcov -instr-profile "$dir/profdata" $objects | awk -F '[:,]' -v sources="$sources/" '
	/^SF:/ { file = index($2, sources) == 1 ? substr($2, length(sources) + 1) : ""; all = hit = 0; missed = "" }
	/^DA:/ && $3 { hit++ }
	/^DA:/ { all++ }
	/^DA:/ && !$3 { missed = missed " " $2 }
	/^end_of_record/ && file { printf "%-24s %5.1f %% of %3d lines%s\n", file, 100 * hit / all, all, missed ? ", not" missed : "" }'
