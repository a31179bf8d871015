#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Takes over into the corpus what fuzz targets have found that reaches what none in it did.
#
#   corpus.sh DIRECTORY CORPUS TARGET...
set -eu

dir=$1
corpus=$2
shift 2

for target; do
	mkdir -p "$corpus/$target" "$dir/$target"
	"$dir/${target}_fuzz" -max_len=2048 -set_cover_merge=1 -use_counters=0 "$corpus/$target" "$dir/$target" 2>&1 |
		sed -n "s/^MERGE-OUTER: \(.* new files\).*/$target: \1/p"
done
