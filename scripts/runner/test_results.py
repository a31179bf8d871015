# SPDX-License-Identifier: GPL-2.0
"""Tests of what logs say: python3 scripts/runner/test_results.py"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import kernel_log  # noqa: E402  pylint: disable=wrong-import-position
import needs  # noqa: E402  pylint: disable=wrong-import-position
import results  # noqa: E402  pylint: disable=wrong-import-position

BAD = kernel_log.bad_messages()


class Lane:
    """One that only notes."""
    def __init__(self, run):
        self.results, self.passed, self.failed, self.said = run, 0, 0, []

    def print(self, text):
        self.said.append(text)

    def fail(self, name, environment="steps"):
        self.failed += 1
        self.results.fail(name, environment)


class Parse(unittest.TestCase):
    def test_of_uapi_tests(self):
        log = results.parse(["## a_test", "TAP version 13", "1..2", "# some",
                             "ok 1 a_test.x # 3 ms", "ok 2 a_test.y # SKIP no y # here # 42 ms",
                             "# a_test: all of it took 0.1 s",
                             "## a_test (packed,in_order)", "1..2", "# c.c:7: Expected 1",
                             "not ok 1 a_test.x (deadline) # 4 ms",
                             "# c.c:9: Expected 2", "not ok 2 a_test.y # 1 ms",
                             "2 passed, 1 failed, 1 skipped"], "uapi-uml")
        self.assertEqual(log.results, [
            results.Result("a_test.x", "uapi-uml", "", 3, "ok"),
            results.Result("a_test.y", "uapi-uml", "", 42, "skipped", "no y # here"),
            results.Result("a_test.x", "uapi-uml", "packed,in_order", 4, "not ok", "deadline"),
            results.Result("a_test.y", "uapi-uml", "packed,in_order", 1, "not ok",
                           "c.c:9: Expected 2")])
        self.assertEqual((log.passed, log.failed, log.ended), (2, 1, True))
        self.assertEqual(log.failures, ["# c.c:7: Expected 1",
                                        "# failed: uapi-uml: not ok 1 a_test.x (deadline) # 4 ms",
                                        "# c.c:9: Expected 2",
                                        "# failed: uapi-uml: not ok 2 a_test.y # 1 ms"])

    def test_of_net_tests_steps_and_units(self):
        log = results.parse(["## live:packed (backend kvnet, QEMU 7.2)", "ok - live: link (1.5 s)",
                             "# SKIP dpdk: split: no dpdk", "something # SKIP else",
                             "## kill (backend kvnet, QEMU 7.2)", "ok 3 - asan/area_test: one",
                             "ok - check: nospec # 12 s"], "x")
        self.assertEqual(log.results, [
            results.Result("live: link", "x", "packed", 1500, "ok"),
            results.Result("dpdk", "x", "packed", None, "skipped", "split: no dpdk"),
            results.Result("unknown", "x", "packed", None, "skipped", "something # SKIP else"),
            results.Result("asan/area_test: one", "x", "", None, "ok"),
            results.Result("check: nospec", "x", "", 12000, "ok")])
        self.assertFalse(log.ended)

    def test_sums_are_added_or_the_last_holds(self):
        lines = ["1 passed, 0 failed, 3 skipped", "ok 1 - b", "4 passed, 2 failed"]
        log = results.parse(lines, "x")
        self.assertEqual((log.passed, log.failed), (5, 2))
        self.assertEqual(results.parse(lines, "x", only_last_sums=True).passed, 4)


class Count(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.rules = [needs.Skip(r"uapi-uml.*", r"a_test\.(?:.*: no y)", "hosts have y")]
        self.fresh()

    def fresh(self, **how):
        self.results = results.Results(self.folder.name, self.rules, **how)
        self.lane = Lane(self.results)

    def count(self, text, status=0, name="uapi-uml", console=None):
        path = os.path.join(self.folder.name, f"{name}.tap")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if console is not None:
            os.makedirs(f"{self.folder.name}/{name}", exist_ok=True)
            with open(f"{self.folder.name}/{name}/console.log", "w", encoding="utf-8") as file:
                file.write(console)
        self.results.count(self.lane, path, name, name, status)

    def test_a_log_without_an_end_has_failed(self):
        self.count("ok 1 a_test.x # 3 ms\n")
        self.assertEqual((self.lane.passed, self.lane.failed), (0, 1))
        self.fresh()
        self.results.count(self.lane, "/nowhere", "uapi-uml", "uapi-uml", 1)
        self.assertEqual(self.lane.failed, 1)

    def test_a_bad_status_fails_where_no_test_has(self):
        self.count("1 passed, 0 failed, 0 skipped\n", 99,
                   console="kvnet-test: begin a_test\nBUG: sleeping\nkvnet-test: end a_test\n")
        self.assertEqual((self.lane.passed, self.lane.failed), (1, 1))
        self.assertEqual(self.results.failures,
                         ["# bad kernel message (test: a_test): BUG: sleeping",
                          "# failed: uapi-uml (status 99)"])
        self.fresh()
        self.count("not ok 1 a_test.x # 3 ms\n0 passed, 1 failed, 0 skipped\n", 1, console="")
        self.assertEqual((self.lane.failed, len(self.results.failures)), (1, 1))

    def test_skips_are_allowed_or_fail(self):
        self.count("ok 1 a_test.x # SKIP no y # 1 ms\nok 2 a_test.z # SKIP no y # 1 ms\n"
                   "ok 3 a_test.q # SKIP because # 1 ms\n2 passed, 0 failed, 3 skipped\n")
        skipped = self.results.finish(self.lane)
        self.assertEqual((skipped, self.lane.failed), (2, 1))
        self.assertEqual(self.lane.said, ["# skipped: uapi-uml: 2 of a_test: no y (hosts have y)",
                                          "not ok - skipped: uapi-uml: a_test.q: because",
                                          "# failed: skipped: uapi-uml: a_test.q: because"])

    def test_other_backends_may_skip_all(self):
        self.fresh(allow_all=True)
        self.count("ok 1 a_test.q # SKIP because # 1 ms\n1 passed, 0 failed, 1 skipped\n")
        self.assertEqual((self.results.finish(self.lane), self.lane.failed), (1, 0))
        self.assertEqual(self.lane.said, ["# skipped: uapi-uml: a_test.q: because (allowed)"])

    def test_files(self):
        self.count("## a_test (slow)\nok 1 a_test.x # 3 ms\nok 2 a_test.y # SKIP no y # 1 ms\n"
                   "1 passed, 0 failed, 1 skipped\n")
        self.count("not ok - live: link (1.5 s)\n0 passed, 1 failed\n", 1, "net-6.1")
        self.results.finish(self.lane)
        with open(os.path.join(self.folder.name, "results.tap"), encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines(), [
                "KTAP version 1", "1..2",
                "  # Subtest: uapi-uml", "  KTAP version 1", "  1..2",
                "  ok 1 a_test.x:slow # 3 ms", "  ok 2 a_test.y:slow # SKIP no y", "ok 1 uapi-uml",
                "  # Subtest: net-6.1", "  KTAP version 1", "  1..1",
                "  not ok 1 live: link # 1500 ms", "not ok 2 net-6.1"])
        with open(os.path.join(self.folder.name, "results.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)[0],
                             {"case": "a_test.x", "environment": "uapi-uml", "variant": "slow",
                              "milliseconds": 3, "verdict": "ok", "reason": ""})

    def test_times_are_shown_the_longest_first(self):
        self.results.show_times(self.lane, "uml", "# a_test: all of it took 1.5 s\n"
                                                  "# b_test:kthread: all of it took 12.0 s\n")
        self.assertEqual(self.lane.said, ["uml: b_test:kthread 12.0, a_test 1.5"])


def race(*stack):
    """A report of KCSAN with a stack of these."""
    return ["kvnet-test: begin some_test", "==================",
            "BUG: KCSAN: data-race in one [tun] / other",
            "write to 0xffff888004e6e4c0 of 8 bytes by task 70 on cpu 1:",
            *[f" {name}+0x12/0x34 [{name.partition('_')[0]}]" for name in stack],
            "kvnet-test: end some_test", "value changed: 0x0000000000000000 -> 0x0000000000000001",
            "=================="]


class KernelLog(unittest.TestCase):
    def bad(self, lines, known=()):
        return kernel_log.verdict(lines, BAD, [kernel_log.re.compile(race) for race in known])

    def test_bad_messages(self):
        for line in ("BUG: KASAN: slab-use-after-free in kvnet_poll+0x1/0x2",
                     "WARNING: CPU: 0 PID: 1 at kernel/kthread.c:1 kthread+0x1/0x2",
                     "INFO: task kvnet-77:78 blocked for more than 120 seconds.",
                     "rcu: INFO: rcu_sched self-detected stall on CPU",
                     "WARNING: possible circular locking dependency detected",
                     "list_del corruption, ffff888000000000->next is LIST_POISON1",
                     "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
                     "iperf: page allocation failure: order:4, mode:0x40cc0"):
            self.assertEqual(self.bad([f"[    1.0] {line}"])[0],
                             [f"bad kernel message (test: none running): [    1.0] {line}"])

    def test_what_a_healthy_kernel_says(self):
        self.assertEqual(self.bad(["kmemleak: Kernel memory leak detector initialized",
                                   "kasan: KernelAddressSanitizer initialized",
                                   "tun: Universal TUN/TAP device driver, 1.6"]), ([], ""))

    def test_the_test_that_ran(self):
        found, _ = self.bad(["<5>kvnet-test: begin a_test.x", "BUG: one",
                             "kvnet-test: end a_test.x", "BUG: two"])
        self.assertEqual(found, ["bad kernel message (test: a_test.x): BUG: one",
                                 "bad kernel message (test: none running): BUG: two"])

    def test_of_races_those_of_kvnet_count(self):
        found, note = self.bad(race("tun_one", "bridge_two"))
        self.assertEqual(found, [])
        self.assertEqual(note, "# data races: 0 of kvnet, 0 of those that races.list knows, "
                               "1 of the kernel")
        self.assertEqual(self.bad(race("tun_one", "tun_two", "kvnet_three"))[0], [])
        found, _ = self.bad(race("tun_one", "kvnet_two"))
        self.assertEqual(found, ["bad kernel message (test: some_test): "
                                 "BUG: KCSAN: data-race in one [tun] / other"])
        self.assertEqual(self.bad(race("tun_one", "kvnet_two"), ["one / other"])[0], [])

    def test_what_takes_a_stack_has_no_part_in_a_race(self):
        stack = ["save_stack_trace", "stack_trace_save", "kcsan_found", "__tsan_read8", "tun_one",
                 "kvnet_two"]
        found, _ = self.bad(race(*stack))
        self.assertRegex(found[0], " KCSAN: data-race in tun_one \\[tun\\]$")
        self.assertEqual(self.bad(race(*stack), ["tun_one"])[0], [])

    def test_what_stands_beside_a_race_counts(self):
        self.assertEqual(len(self.bad(race("tun_one") + ["WARNING: bad"])[0]), 1)
        held, _ = kernel_log.judge_races(race("tun_one", "tun_two"), [])
        self.assertIn("kvnet-test: end some_test", held)

    def test_command(self):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as log:
            def status(text):
                log.write(text)
                log.flush()
                command = os.path.join(needs.TOP, "scripts", "dmesg-verdict.sh")
                return subprocess.run([command, log.name], capture_output=True, check=False)

            empty, healthy, bad = status(""), status("all is well\r\n"), status("BUG: oh\r\n")
        self.assertEqual([done.returncode for done in (empty, healthy, bad)], [1, 0, 1])
        self.assertEqual(bad.stdout, b"bad kernel message (test: none running): BUG: oh\n")


if __name__ == "__main__":
    unittest.main()
