#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Reads a kernel log and fails on any line that a healthy kernel does not print.
# Each such line is shown with the test that was running (tests write markers
# "kvnet-test: begin NAME" and "kvnet-test: end NAME" into the log). Of data races only
# those count that kvnet has a part in (debug/races.awk).
#
#   scripts/dmesg-verdict.sh console.log
set -euo pipefail

[ $# -eq 1 ] && [ -r "$1" ] || { echo "usage: dmesg-verdict.sh <kernel log>" >&2; exit 2; }
[ -s "$1" ] || { echo "bad kernel message: none at all in $1"; exit 1; }

HERE=$(dirname "$0")/debug

awk -f "$HERE/races.awk" "$HERE/races.list" "$1" | awk '
/kvnet-test: begin / { sub(/.*kvnet-test: begin /, ""); test = $0; next }
/kvnet-test: end / { test = ""; next }
/BUG:|kernel BUG at|WARNING:|Oops|Kernel panic|general protection fault/ { bad = 1 }
/INFO: task .* blocked|INFO: rcu.* stall|rcu_.* detected stalls|soft lockup|hard LOCKUP/ { bad = 1 }
/possible (recursive|circular|irq lock) |suspicious RCU usage|held lock freed|INFO: trying to register non-static key/ { bad = 1 }
/KASAN:|KCSAN:|UBSAN:|kmemleak: [1-9][0-9]* new suspected|unreferenced object/ { bad = 1 }
/refcount_t: |list_(add|del) corruption|scheduling while atomic|sleeping function called from invalid/ { bad = 1 }
/wrong timeout value/ { bad = 1 }
/unable to handle|double fault|stack-protector:|Bad page state|nobody cared|page allocation failure/ { bad = 1 }
bad {
	printf "bad kernel message (test: %s): %s\n", test == "" ? "none running" : test, $0
	bad = 0
	count++
}
END { exit count ? 1 : 0 }
'
