# SPDX-License-Identifier: GPL-2.0
"""
A machine that runs: its logs, what its script says, when its time is over, and what became
of it.

The machine's /kvnet/run.sh says "@@vm-up" when it begins, and what started it says
"@@vm-status NUMBER" at last. These lines are in the log, and are not shown.
"""

import os
import re
import select
import shutil
import subprocess
import sys
import time

import rig

MARK = b"@@vm-"
TIMEOUT = 124
BAD_KERNEL_MESSAGE = 99


class Output:
    """
    Takes what the script says: all of it into a log, whole lines to standard output.
    In a shell everything is shown at once: a prompt is no whole line.
    """

    def __init__(self, log, shell=False, show=None):
        self.log = open(log, "wb", buffering=0)  # pylint: disable=consider-using-with
        self.shell = shell
        self.show = show or sys.stdout.buffer
        self.line = b""
        self.is_up = False

    def feed(self, data):
        data = data.replace(b"\r", b"")
        self.log.write(data)
        if self.shell:
            self.show.write(data)
        else:
            *lines, self.line = (self.line + data).split(b"\n")
            for line in lines:
                self.show_line(line)
        self.show.flush()

    def show_line(self, line):
        if line.startswith(MARK):
            self.is_up = True
        else:
            self.show.write(line + b"\n")

    def close(self):
        if self.line:
            self.show_line(self.line)
            self.show.flush()
        self.log.close()


class Limits:
    """Seconds: for all, until the script begins, and without a word of it; 0 is no limit."""

    def __init__(self, whole, boot=0, stall=0):
        self.whole, self.boot, self.stall = whole, boot, stall

    def is_over(self, ran, silent, is_up):
        if 0 < self.whole <= ran:
            return True
        if not is_up:
            return 0 < self.boot <= ran
        return 0 < self.stall <= silent


def follow(process, output, limits, stop):
    """
    Until the machine has closed its output. stop(process) ends it; called, too, for what
    of it has stayed behind and keeps the output open.
    """
    began = heard = time.monotonic()
    fd = process.stdout.fileno()
    try:
        while True:
            readable = select.select([fd], [], [], 0.5)[0]
            now = time.monotonic()
            if readable:
                data = os.read(fd, 65536)
                if not data:
                    break
                output.feed(data)
                heard = now
            elif process.poll() is not None:
                stop(process)
            if limits.is_over(now - began, now - heard, output.is_up):
                stop(process)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            pass
    finally:
        stop(process)
        process.wait()
        process.stdout.close()
        output.close()


def status_in(log):
    """What the script returned, if it came to its end."""
    with open(log, "rb") as file:
        found = re.findall(rb"^@@vm-status (\d+)$", file.read(), re.M)
    return int(found[-1]) if found else None


def save_output(log, file):
    """The log without the machine's own lines."""
    with open(log, "rb") as source, open(file, "wb") as dest:
        dest.writelines(line for line in source if not line.startswith(MARK))


def verdict(status, console):
    """A bad message in the kernel's log fails the run, whatever the script said."""
    if rig.status_of(rig.TOP / "scripts/dmesg-verdict.sh", console) and status == 0:
        return BAD_KERNEL_MESSAGE
    return status


class Machine:
    """
    What TestHost and UserModeLinux have in common; each has prepare(), run(), which returns
    the status, and explain(status), which says what is to be said of it.
    """

    def __init__(self, options, kernel):
        self.options = options
        self.log = rig.BUILD / "log" / (options.name or f"{kernel}-{os.getpid()}")
        self.tree, self.console, self.output = (
            self.log / name for name in ("tree", "console.log", "output.log"))
        self.log.mkdir(parents=True, exist_ok=True)
        self.lock = rig.own_log(self.log)

    def clean(self):
        shutil.rmtree(self.tree, ignore_errors=True)

    def main(self):
        try:
            self.prepare()
            status = self.run()
        finally:
            self.clean()
        if self.options.output:
            save_output(self.output, self.options.output)
        self.explain(status)
        return verdict(status, self.console) if self.options.verdict else status
