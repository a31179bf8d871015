# SPDX-License-Identifier: GPL-2.0
"""Tests of what tests need, and where they run: python3 scripts/runner/test_plan.py"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import needs  # noqa: E402  pylint: disable=wrong-import-position
import plan  # noqa: E402  pylint: disable=wrong-import-position


def uapi(name, *lines, folder="abi"):
    comment = "\n".join(f" * {line}" for line in ("What it does.", "", *lines))
    text = f"// SPDX\n/*\n{comment}\n */\n/*\n * @tier: all\n */\n"
    return needs.parse("uapi", name, text, folder)


def net(name, *lines):
    comment = "\n".join(f"# {line}" for line in ("What it does.", *lines))
    return needs.parse("net", name, f"#!/bin/bash\n{comment}\ncode\n# @hosts: 6.1\n")


SOME = plan.Plan([
    uapi("close", "@waits: yes", "@hosts: 6.1 6.12 newest", folder="lifecycle"),
    uapi("loop", "@again: packed slow", "@seconds: 9", "@hosts: 6.1", "@first-host: 6.12"),
    uapi("page", "@seconds: 5", "@hosts: newest", folder="memory"),
    uapi("pin", "@seconds: 3", "@again: kthread", folder="memory"),
    uapi("quick"),
    uapi("each", "@module: failing", folder="faults"),
    uapi("call", "@module: failing", "@tier: all", folder="faults"),
    uapi("full", "@module: failing-smp", "@tier: all"),
    uapi("idle", "@clock: travels", "@tier: all"),
    uapi("far", "@apart: yes", "@tier: all", "@debug: kasan kmsan"),
    uapi("memory"),
    net("traffic", "@hosts: newest", "@first-host: 6.12"), net("kill", "@hosts: newest"),
    net("exits"), net("also"), net("migrate", "@hosts: uml"), net("trace", "@tier: named"),
])


class Needs(unittest.TestCase):
    def test_only_the_first_comment_counts(self):
        self.assertEqual((uapi("a").tier, sorted(net("a").hosts)), ("first", ["6.12"]))

    def test_each_key(self):
        test = uapi("a", "@tier: all", "@hosts: 6.1 newest", "@again: packed", "@seconds: 12",
                    "@skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them")
        self.assertEqual((test.tier, test.hosts, test.again, test.seconds),
                         ("all", {"6.1", "newest"}, {"packed"}, 12))
        self.assertEqual(test.skips[0].why, "the test hosts have them")

    def test_what_is_wrong_is_refused(self):
        for line in ("@tier: second", "@tier: all first", "@tier:all", "@tier: named", "@hosts",
                     "@hosts:", "@hosts: 5.10", "@hosts: uml", "@kernels: 6.1", "@waits: no",
                     "@seconds: many", "@seconds: 0", "@skip: a | b", "@skip: a | ( | c",
                     "@skip: a |  | c"):
            with self.assertRaises(needs.Bad, msg=line):
                uapi("a", line)
        with self.assertRaises(needs.Bad):
            uapi("a", "@tier: all", "@tier: all")
        with self.assertRaises(needs.Bad):
            net("a", "@again: packed")

    def test_skips_of_both_kinds(self):
        skip = uapi("pin", "@skip: uapi-(uml|smp-).* | a_.*: no huge pages | why").skips[0]
        self.assertTrue(skip.allows("uapi-smp-kasan", "pin_test.a_page", "no huge pages"))
        for where, test, reason in (("test-6.1", "pin_test.a_page", "no huge pages"),
                                    ("uapi-uml", "pin_test.page", "no huge pages"),
                                    ("uapi-uml", "spin_test.a_page", "no huge pages"),
                                    ("uapi-uml", "pin_test.a_page", "no huge pages at all")):
            self.assertFalse(skip.allows(where, test, reason), (where, test, reason))
        skip = net("dpdk", "@skip: net-.* | packed ring: .* | why").skips[0]
        self.assertTrue(skip.allows("net-6.1", "dpdk", "packed ring: no AVX"))
        self.assertFalse(skip.allows("net-6.1", "kill", "packed ring: no AVX"))

    def test_a_tree_with_an_error(self):
        with tempfile.TemporaryDirectory() as top:
            for path, text in (("uapi/abi/a_test.c", "// SPDX\n/*\n * @hosts: 6.1\n */\n"),
                               ("net/test_b.sh", "#!/bin/bash\n# @hosts: mars\n")):
                os.makedirs(os.path.dirname(f"{top}/selftests/{path}"))
                with open(f"{top}/selftests/{path}", "w", encoding="utf-8") as file:
                    file.write(text)
            tests, bad = needs.read(top)
        self.assertEqual([(test.name, test.folder) for test in tests], [("a", "abi")])
        self.assertRegex(bad[0], "^selftests/net/test_b.sh: hosts cannot be 'mars'")
        self.assertEqual(len(bad), 1)

    def test_those_of_this_tree_are_right(self):
        tests, bad = needs.read()
        self.assertEqual(bad, [])
        self.assertGreater(len(tests), 50)


class Where(unittest.TestCase):
    def test_tier_one(self):
        first = SOME.first()
        self.assertEqual(first["uapi-uml-1"], ["loop", "quick"])
        self.assertEqual(first["uapi-uml-2"], ["page", "pin", "memory"])
        self.assertEqual(first["uapi-uml-waiting"], ["close"])
        self.assertEqual(first["uapi-uml-failing"], ["each"])
        self.assertEqual(first["test-6.12"], (["loop"], ["traffic"]))

    def test_list_for_mutants(self):
        lines = SOME.list_first()
        self.assertLessEqual({"split loop_test", "split each_test", "failing each_test"},
                             set(lines))
        self.assertFalse({"split call_test", "failing call_test", "split idle_test"} & set(lines))

    def test_all(self):
        everything = SOME.all()
        usual = ["close", "full", "loop", "memory", "page", "pin", "quick"]
        self.assertEqual(everything["uapi-uml"],
                         usual + ["loop:packed,in_order", "pin:kthread", "loop:slow"])
        self.assertEqual(everything["uapi-smp-kasan"], usual)
        self.assertEqual(everything["uapi-uml-idle"], ["idle"])
        self.assertEqual(everything["uapi-uml-failing"], ["call", "each"])
        self.assertEqual(everything["uapi-uml-failing-smp-kasan"], ["full"])
        self.assertEqual(everything["net-uml"], ["migrate"])
        self.assertEqual(everything["test-6.1"], (["close", "loop"], []))
        self.assertEqual(everything["test-6.12"], (["close"], ["exits", "also"]))
        self.assertEqual(everything["test-newest"], (["close", "page"], []))
        self.assertEqual(everything["test-newest-net"], ([], ["traffic", "kill"]))

    def test_without_the_newest_kernel(self):
        everything = SOME.all(newest=False)
        self.assertEqual(everything["test-6.12"],
                         (["close", "page"], ["traffic", "exits", "also", "kill"]))
        self.assertEqual(everything["test-newest"], ([], []))
        self.assertEqual(everything["test-newest-net"], ([], []))

    def test_debug(self):
        self.assertEqual((SOME.debug("kmsan"), SOME.debug("kcsan")), (["far"], []))

    def test_this_tree_runs_each_in_tier_two(self):
        tests, _ = needs.read()
        where = plan.Plan(tests)
        ran = {entry.partition(":")[0] for entries in where.all().values()
               for entry in (entries if isinstance(entries, list) else entries[0] + entries[1])}
        left = {test.name for test in tests if not (test.apart or test.tier == "named")}
        self.assertEqual(left - ran, set())


class Names(unittest.TestCase):
    def test_chosen(self):
        for words, names in (("close", ["close"]), ("close_test", ["close"]),
                             ("lifecycle/close", ["close"]), ("lifecycle", ["close"]),
                             ("memory", ["memory"]), ("memory/", ["page", "pin"]),
                             ("pin memory/ pin_test", ["pin", "page"]),
                             ("faults", ["call", "each"])):
            self.assertEqual(SOME.choose(["uapi"], words.split()), names, words)
        self.assertEqual(SOME.choose(["net"], ["traffic:packed", "test_kill"]),
                         ["traffic:packed", "kill"])
        self.assertEqual(SOME.choose(["uapi", "uml"], ["migrate", "loop"]), ["migrate", "loop"])

    def test_wrong_ones_are_refused_with_those_there_are(self):
        for kinds, word in ((["uapi"], "closed"), (["uapi"], "memory/close"), (["uapi"], "/close"),
                            (["uapi"], "loop:packed"), (["uapi", "uml"], "traffic"),
                            (["net"], "loop"), (["unit"], "no")):
            with self.assertRaises(plan.Unknown, msg=word):
                SOME.choose(kinds, [word])
        there = "no test 'closed'; there are: abi/far .* memory/pin"
        with self.assertRaisesRegex(plan.Unknown, there):
            SOME.choose(["uapi"], ["closed"])

    def test_units_are_those_of_the_tree(self):
        names = ["ring", "iotlb_test", "memtable_fuzz"]
        self.assertEqual(SOME.choose(["unit"], names), names)


if __name__ == "__main__":
    unittest.main()
