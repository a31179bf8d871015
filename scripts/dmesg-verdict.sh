#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Reads a kernel log and fails on any line that a healthy kernel does not print
# (selftests/lib/bad_messages.h).
# Each such line is shown with the test that was running (tests write markers
# "kvnet-test: begin NAME" and "kvnet-test: end NAME" into the log). Of data races only
# those count that kvnet has a part in (debug/races.awk).
#
#   scripts/dmesg-verdict.sh console.log
set -euo pipefail

[ $# -eq 1 ] && [ -r "$1" ] || { echo "usage: dmesg-verdict.sh <kernel log>" >&2; exit 2; }
[ -s "$1" ] || { echo "bad kernel message: none at all in $1"; exit 1; }

HERE=$(dirname "$0")/debug
LIST=$(dirname "$0")/../selftests/lib/bad_messages.h
BAD=$(awk -F '"' '/^"/ { printf "%s%s", sep, $2; sep = "|" }' "$LIST")
[ -n "$BAD" ] || { echo "dmesg-verdict.sh: $LIST names nothing" >&2; exit 2; }

awk -f "$HERE/races.awk" "$HERE/races.list" "$1" | awk -v bad="$BAD" '
/kvnet-test: begin / { sub(/.*kvnet-test: begin /, ""); test = $0; next }
/kvnet-test: end / { test = ""; next }
$0 ~ bad {
	printf "bad kernel message (test: %s): %s\n", test == "" ? "none running" : test, $0
	count++
}
END { exit count ? 1 : 0 }
'
