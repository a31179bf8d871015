# SPDX-License-Identifier: GPL-2.0
"""Commands, run for their status and their output."""
import os
import subprocess
import time

# what make was told is not meant for other makes
OURS = {"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "KVNET_BUILD", "TESTS", "ROOM",
        "SET", "CHANGED", "AGAIN", "LANES", "TIER", "MINUTES"}


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in OURS}
    return {**kept, "UML_AS_BUILT": "1", **more}


def run_logged(words, log, **options):
    """Its status; what it says goes to the log."""
    with open(log, "ab") as out:
        done = subprocess.run(words, stdout=out, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, env=environment(), check=False, **options)
    return done.returncode


def output_of(words, **options):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=environment(), check=False, **options)
    return done.stdout


def timed_lines(words):
    """Pairs of the time and a line of its output."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, env=environment(), text=True,
                          errors="replace", start_new_session=True) as process:
        return [(time.monotonic(), line) for line in process.stdout]
