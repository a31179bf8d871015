# SPDX-License-Identifier: GPL-2.0
"""Tests of lanes and their programs: python3 scripts/runner/test_lanes.py"""
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import lanes  # noqa: E402  pylint: disable=wrong-import-position
import needs  # noqa: E402  pylint: disable=wrong-import-position
import results  # noqa: E402  pylint: disable=wrong-import-position

TEST_SH = os.path.join(needs.TOP, "scripts", "test.sh")


def text_of(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def comes_true(condition):
    """Within a minute."""
    for _ in range(6000):
        if condition():
            return True
        time.sleep(0.01)
    return False


class LanesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = folder.name
        self.run_ = types.SimpleNamespace(log=self.log, programs=lanes.Programs(),
                                          results=results.Results(self.log, []))
        self.run_.main = lanes.Lane(self.run_)
        # where lanes tell, past their logs
        try:
            os.fstat(3)
        except OSError:
            os.dup2(2, 3)

    def together(self, *now, later=()):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            lanes.Lanes(self.run_).together(now, later)
        return said.getvalue()

    def test_all_are_waited_for_and_counted(self):
        third_runs = threading.Event()

        def first(lane):
            lane.passed += 1
            self.assertTrue(third_runs.wait(30))

        def second(lane):
            lane.passed += 2

        def third(lane):
            third_runs.set()
            lane.failed += 1

        said = self.together(("first", first), ("second", second),
                             later=[("third", third), ("fourth", second)])
        self.assertEqual((self.run_.main.passed, self.run_.main.failed), (5, 1))
        self.assertEqual(said.count(" ===== "), 4)

    def test_steps_and_their_log(self):
        def job(lane):
            lane.steps = 2
            lane.step("one", ["echo", "hello"])
            lane.step("two", ["sh", "-c", "echo $KVNET_LANE >&2; exit 3"])

        said = self.together(("some", job))
        self.assertRegex(said, r"some: step 1 of 2: one\n(.*\n)*"
                               r".* some: 1 passed, 1 failed, 0 s of CPU =====\n"
                               r".* step 1 of 2: one\nhello\nok - one\n.*two\nsome\nnot ok - two\n")
        self.assertEqual(self.run_.results.failures, ["# failed: two"])

    def test_one_that_dies_has_failed(self):
        def needs_more(lane):
            lane.need(["false"])

        def raises(_lane):
            raise ValueError("oh")

        said = self.together(("one", needs_more), ("two", raises))
        self.assertEqual(self.run_.main.failed, 2)
        self.assertRegex(said, "one: 0 passed, 1 failed, died")
        self.assertIn("# false failed", said)
        self.assertIn("ValueError: oh", said)

    def test_status_of_a_signal(self):
        self.assertEqual(self.run_.main.call(["sh", "-c", "kill -9 $$"]), 137)

    def test_watched_things_are_told(self):
        told = []
        self.run_.main.tell = told.append
        with self.run_.main.watch("slow thing", 40, lambda: 10, 0.01):
            self.assertTrue(comes_true(lambda: told))
        self.assertRegex(told[0], r"^slow thing: 10 of about 40 \(25 %\)")

    def test_how_far(self):
        said = "50 of about 200 (25 %), 10 s, about 30 s to go"
        self.assertEqual(lanes.how_far(200, 50, 10), said)
        self.assertEqual(lanes.how_far(200, 300, 10), "all but done, 10 s")
        self.assertEqual((lanes.how_far(200, 9, 10), lanes.how_far(0, 0, 10)), ("10 s", "10 s"))

    def test_programs_end_with_what_they_started(self):
        pids = os.path.join(self.log, "pids")
        # the second one does not take SIGTERM, and outlives its parent
        script = (f"sleep 1000 & echo $! >> {pids}; "
                  f"(trap '' TERM; echo $BASHPID >> {pids}; while :; do sleep 1000; done) & wait")
        lanes.PATIENCE, patience = 0.5, lanes.PATIENCE
        ended = []

        def job(lane):
            try:
                lane.call(["bash", "-c", script])
                lane.call(["touch", pids + "-more"])
            except lanes.Stopped:
                ended.append(True)
                raise

        thread = threading.Thread(target=self.together, args=(("some", job),))
        thread.start()
        self.assertTrue(comes_true(lambda: text_of(pids).count("\n") == 2))
        self.run_.programs.end()
        lanes.PATIENCE = patience
        thread.join(30)
        for pid in text_of(pids).split():
            self.assertTrue(comes_true(lambda pid=pid: not is_there(pid)), pid)
        self.assertEqual((ended, os.path.exists(pids + "-more")), ([True], False))


def is_there(pid):
    """A zombie is not."""
    status = text_of(f"/proc/{pid}/status")
    return "State:" in status and "State:\tZ" not in status


class Verbs(unittest.TestCase):
    def said(self, *words, **env):
        done = subprocess.run([TEST_SH, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "TESTS": "", "KERNEL": "", "BACKEND": "", **env})
        return done.returncode, done.stdout, done.stderr

    def test_what_is_wrong_is_said_before_anything_is_built(self):
        wrong = (
            (["uml"], {"TESTS": "closed"}, "no test 'closed'; there are: .*lifecycle/close"),
            (["uml"], {"KERNEL": "6.1"}, "no such User-Mode Linux: '6.1'"),
            (["uapi"], {"KERNEL": "5.10"}, "unknown kernel series '5.10'"),
            (["net"], {"KERNEL": "kasan"}, "no guests run on kernel kasan"),
            (["debug"], {"KERNEL": "6.1"}, "does not look for bugs"),
            (["uapi"], {"BACKEND": "x"}, "unknown backend 'x'"),
            (["nothing"], {}, "scripts/test.sh VERB"),
            (["plan", "third"], {}, "'first' or 'all'"),
            (["build-matrix"], {"ARCHES": "x86"}, "unknown ARCHES 'x86'; there are: amd64 arm64"),
            (["packages"], {"SYSTEMS": "deb14"}, "unknown SYSTEMS 'deb14'; there are: deb12"),
            (["sysfuzz"], {"KERNEL": "kasan"}, "no such User-Mode Linux: 'kasan'"),
            (["soak"], {"KERNEL": "kasan"}, "no guests run on kernel 'kasan'"))
        for words, env, text in wrong:
            with tempfile.TemporaryDirectory() as build:
                status, out, error = self.said(*words, **env, KVNET_BUILD=build)
                self.assertEqual((status, out, os.listdir(build)), (1, "", []), words)
            self.assertRegex(error, f"^test.sh: .*{text}")

    def test_plan(self):
        status, out, _ = self.said("plan", "first")
        self.assertEqual(status, 0)
        self.assertIn("uapi-uml-waiting - close\n", out)
        self.assertIn("test-6.12 - traffic\n", out)

    def test_an_interrupt_ends_all(self):
        with tempfile.TemporaryDirectory() as build:
            # it waits for a lock of ours
            os.makedirs(f"{build}/locks")
            hold = ["flock", f"{build}/locks/unit", "sh", "-c", "echo held; exec cat"]
            lock = subprocess.Popen(hold, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.assertEqual(lock.stdout.readline(), "held\n")
            run = subprocess.Popen([TEST_SH, "unit"], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "TESTS": "", "KVNET_BUILD": build})
            log = f"{build}/log/test-unit.log"
            self.assertTrue(comes_true(lambda: "waiting for another run" in text_of(log)))
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=60)
            self.assertEqual(run.returncode, 130)
            left = subprocess.run(["pgrep", "-f", f"OUTPUT={build}/unit"], capture_output=True,
                                  check=False)
            self.assertEqual(left.stdout, b"")
            lock.communicate()


if __name__ == "__main__":
    unittest.main()
