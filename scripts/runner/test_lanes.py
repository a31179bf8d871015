# SPDX-License-Identifier: GPL-2.0
"""Tests of lanes and their programs: python3 scripts/runner/test_lanes.py"""
import contextlib
import io
import os
import sys
import tempfile
import threading
import time
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import lanes  # noqa: E402  pylint: disable=wrong-import-position
import results  # noqa: E402  pylint: disable=wrong-import-position


def text_of(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def comes_true(condition):
    """Within half a minute."""
    for _ in range(3000):
        if condition():
            return True
        time.sleep(0.01)
    return False


class LanesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = folder.name
        self.run_ = types.SimpleNamespace(log=self.log, programs=lanes.Programs(), results=results.Results(self.log, []))
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

        said = self.together(("first", first), ("second", second), later=[("third", third), ("fourth", second)])
        self.assertEqual((self.run_.main.passed, self.run_.main.failed), (5, 1))
        self.assertEqual(said.count(" ===== "), 4)

    def test_steps_and_their_log(self):
        def job(lane):
            lane.steps = 2
            lane.step("one", ["echo", "hello"])
            lane.step("two", ["sh", "-c", "echo $KVNET_LANE >&2; exit 3"])

        said = self.together(("some", job))
        self.assertRegex(said, r"some: step 1 of 2: one\n(.*\n)*.* some: 1 passed, 1 failed, 0 s of CPU =====\n"
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
        self.assertEqual([lanes.how_far(*how) for how in ((200, 50, 10), (200, 9, 10), (200, 300, 10), (0, 0, 10))],
                         ["50 of about 200 (25 %), 10 s, about 30 s to go", "10 s", "all but done, 10 s", "10 s"])

    def test_programs_end_with_what_they_started(self):
        pids = os.path.join(self.log, "pids")
        # the second one does not take SIGTERM, and outlives its parent
        script = f"sleep 1000 & echo $! >> {pids}; (trap '' TERM; echo $BASHPID >> {pids}; while :; do sleep 1000; done) & wait"
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
    return "State:" in text_of(f"/proc/{pid}/status") and "State:\tZ" not in text_of(f"/proc/{pid}/status")


if __name__ == "__main__":
    unittest.main()
