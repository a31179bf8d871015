# SPDX-License-Identifier: GPL-2.0
"""kvnetctl top on a terminal, on a kernel that is not there: python3 terminal_test.py PROGRAM"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unittest

PROGRAM = None
DEADLINE = 30
BEGIN, END = b"\033[?1049h", b"\033[0m\033[?25h\033[?1049l"


class Terminal:
    """A run on a terminal of this size."""

    def __init__(self, *args, rows=24, columns=100, **env):
        self.master, self.slave = pty.openpty()
        self.size(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.said = b""
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.execve(PROGRAM, [PROGRAM, *args], {**os.environ, "FAKE": "", "TERM": "xterm", **env})

    def size(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        if select.select([self.master], [], [], 0.05)[0]:
            self.said += os.read(self.master, 65536)

    def wait_for(self, pattern, since=0):
        """Where the first match of this ends."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            match = re.compile(pattern, re.S).search(self.said, since)
            if match:
                return match.end()
            self.read()
        raise AssertionError(f"no {pattern} in {self.said[since:][-1500:]}")

    def type(self, keys):
        os.write(self.master, keys)

    def ends(self, status=0):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            pid, how = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            self.read()
        else:
            os.kill(self.pid, signal.SIGKILL)
            raise AssertionError("it does not end")
        while select.select([self.master], [], [], 0)[0]:
            self.said += os.read(self.master, 65536)
        assert os.waitstatus_to_exitcode(how) == status, f"ended with {how}: {self.said[-2000:]}"
        after = termios.tcgetattr(self.slave)
        os.close(self.master)
        os.close(self.slave)
        assert after == self.before, "the terminal is not as it was"


class Top(unittest.TestCase):
    def good_end(self, terminal, status=0):
        terminal.ends(status)
        self.assertTrue(terminal.said.startswith(BEGIN))
        self.assertEqual(terminal.said.count(BEGIN), 1)
        self.assertEqual(terminal.said.count(END), 1)

    def test_ends_well_by_keys_and_signals(self):
        for keys in (b"q", b"\033", b"\003", b"\034"):
            with self.subTest(keys):
                terminal = Terminal("top")
                terminal.wait_for(rb"STATE.*running")
                terminal.type(keys)
                self.good_end(terminal)
                self.assertTrue(terminal.said.endswith(END))
        for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(sig):
                terminal = Terminal("top")
                terminal.wait_for(rb"STATE.*running")
                os.kill(terminal.pid, sig)
                self.good_end(terminal)

    def test_does_not_stop_with_its_screen(self):
        terminal = Terminal("top", "-i", "0.1")
        at = terminal.wait_for(rb"STATE.*running")
        terminal.type(b"\032")
        terminal.wait_for(rb"STATE.*running", at)
        terminal.type(b"q")
        self.good_end(terminal)

    def test_takes_the_new_size(self):
        terminal = Terminal("top", "-i", "60", rows=24, columns=200)
        at = terminal.wait_for(rb"STATE.*running.*\033\[J")
        terminal.size(6, 40)
        os.kill(terminal.pid, signal.SIGWINCH)
        screen = [b""] * 7
        # what was on its way still has the old size
        while len(screen) > 6:
            end = terminal.wait_for(rb"\033\[H.*?\033\[J", at)
            screen = re.sub(rb"\033\[[0-9;]*[A-Za-z]", b"", terminal.said[at:end]).split(b"\r\n")
            at = end
        for line in screen:
            self.assertLessEqual(len(line.decode()), 40)
        terminal.type(b"q")
        self.good_end(terminal)

    def test_keys_sort_pause_and_help(self):
        terminal = Terminal("top", "-i", "60", rows=30)
        at = terminal.wait_for(rb"vCPU%.*\033\[J")
        terminal.type(b"i")
        at = terminal.wait_for(rb"vID.*\033\[J", at)
        terminal.type(b"I")
        at = terminal.wait_for(rb"\^ID.*\033\[J", at)
        terminal.type(b" ")
        at = terminal.wait_for(rb"PAUSED.*\033\[J", at)
        terminal.type(b"h")
        at = terminal.wait_for(rb"packets per poll.*\033\[J", at)
        terminal.type(b"q")
        self.good_end(terminal)

    def test_ends_after_count(self):
        terminal = Terminal("top", "-n", "2", "-i", "0.1")
        self.good_end(terminal)

    def test_no_control_characters_of_others(self):
        terminal = Terminal("top", "-n", "1")
        self.good_end(terminal)
        self.assertNotIn(b"\033[31me", terminal.said)
        self.assertIn(b"?[31me", terminal.said)

    def test_errors_leave_the_screen_first(self):
        terminal = Terminal("top", FAKE="denied")
        terminal.ends(5)
        self.assertEqual(terminal.said.rpartition(END)[2], b"kvnetctl: not permitted: this takes CAP_NET_ADMIN; run it as root\r\n")

    def test_terminal_that_goes_away(self):
        terminal = Terminal("top", "-i", "60")
        terminal.wait_for(rb"STATE.*running")
        os.close(terminal.slave)
        os.close(terminal.master)
        end = time.monotonic() + DEADLINE
        while not os.waitpid(terminal.pid, os.WNOHANG)[0]:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)


class Colour(unittest.TestCase):
    def test_only_where_it_is_wanted(self):
        for env, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            with self.subTest(env):
                terminal = Terminal("list", **env)
                terminal.ends()
                self.assertEqual(b"\033[32mrunning\033[0m" in terminal.said, wanted)
        terminal = Terminal("list", "-j")
        terminal.ends()
        self.assertNotIn(b"\033[", terminal.said)


def main():
    global PROGRAM  # pylint: disable=global-statement
    PROGRAM = os.path.abspath(sys.argv[1])
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1, failfast=True).run(tests)
    failed = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - failed, 0)} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
