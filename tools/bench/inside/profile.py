# SPDX-License-Identifier: GPL-2.0
"""
Inside User-Mode Linux: the same WORK by PROGRAM for each of TURNS (selftests/perf/turns.h), for
tools/bench/profiling.py to look at from outside. With LANE=icount inside a test host that counts
instructions: its emulator is told which are those of which backend.
"""

import os
import sys

import host
import native

TURNS, PROGRAM, WORK = os.environ["TURNS"].split(), os.environ["PROGRAM"], os.environ["WORK"]
# address, name and module of each function
SYMBOLS = """awk '$2 ~ /[tT]/ { print $1, $3, $4 ? $4 : "kernel" }' /proc/kallsyms | gzip | base64 -w 1000 | sed 's/^/@symbols /'"""


def work(turns, **variables):
    status, said = native.together(1, PROGRAM, WORK, turns, **variables)
    if status or "@bench" not in said:
        sys.exit(said)
    return said


def main():
    host.run(*host.in_lib("load_kvnet && BACKEND=vhost load_backend"))
    host.run("sh", "-c", SYMBOLS)
    if host.LANE == "icount":
        print(work(TURNS, BENCH_COUNT="1"))
        return
    for turn in TURNS:
        name = turn.partition(":")[0]
        work([turn], BENCH_MS="300")
        print(f"@begin {name}")
        said = work([turn], BENCH_MS=os.environ["PROFILE_MS"])
        print(f"@end {name}\n{said}")
    host.run("rmmod", "kvnet")


main()
