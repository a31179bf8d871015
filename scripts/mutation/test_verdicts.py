# SPDX-License-Identifier: GPL-2.0
"""Tests of verdicts.py."""
import unittest
from unittest import mock

from . import verdicts

FIRST = {"split leak_test", "failing fault_each_test"}


class Mutant:
    def __init__(self, name, file="a.c", function="f", old="x"):
        self.name, self.file, self.function, self.old = name, file, function, old

    def changes_mask(self):
        return "&" in self.old


class Killers(unittest.TestCase):
    def test_test_of_a_killer(self):
        for verdict, test in (("unit:area area_reads", "unit:area"),
                              ("uml:split leak_test.x", "uml:leak"),
                              ("uml:packed loop_test.y (deadline)", "uml:loop@packed"),
                              ("nospec:f", "nospec:f"), ("-", None), ("not built", None)):
            self.assertEqual(verdicts.test_of(verdict), test)

    def test_case_that_is_not_there(self):
        for said in "unit:hdr hdr_fix_table", "uml:split load_test.died", "unit:hdr hangs", "-":
            self.assertIsNone(verdicts.missing_case(said))
        self.assertEqual(verdicts.missing_case("unit:hdr hdr_fix"), "hdr_test.hdr_fix")
        self.assertEqual(verdicts.missing_case("uml:packed loop_test.no_case"), "loop_test.no_case")

    def test_tier_one(self):
        for test, known in (("unit:area", True), ("nospec:f", True), ("uml:leak", True),
                            ("uml:leak@packed", False), ("uml:life", False),
                            ("uml:fault_each@failing", True), (None, False)):
            self.assertEqual(verdicts.in_tier_one(test, FIRST), known, test)


class Judged(unittest.TestCase):
    """All by name: g:a to g:d are judged, g:x is not."""
    def status(self, known, without=0):
        with mock.patch.object(verdicts, "read_table", lambda _: known), \
             mock.patch.object(verdicts, "tier_one", lambda: FIRST), \
             mock.patch.object(verdicts, "WITHOUT", without), mock.patch("builtins.print") as said:
            names = {f"g:{letter}" for letter in "abcdx"}
            return verdicts.show_killers(names - {"g:x"}, names), said.call_args_list[0].args[0]

    def test_all_have_a_verdict(self):
        known = {"g:a": "unit:area case", "g:b": "uml:split leak_test.y", "g:c": "equivalent: why",
                 "g:d": "not built", "g:x": "-"}
        status, said = self.status(known)
        self.assertEqual(status, 0)
        self.assertIn("4 of 5 mutants are judged, 2 have been tried: tier one kills 2 (100.0 %)",
                      said)

    def test_survivor(self):
        known = {"g:a": "unit:area case", "g:b": "-", "g:c": "not built", "g:d": "not built"}
        self.assertEqual(self.status(known)[0], 1)

    def test_no_verdict(self):
        known = {"g:a": "unit:area case", "g:b": "unit:area case", "g:x": "unit:area case"}
        self.assertEqual(self.status(known)[0], 1)
        self.assertEqual(self.status(known, 2)[0], 0)

    def test_verdict_of_no_mutant(self):
        known = {f"g:{letter}": "unit:area case" for letter in "abcd"}
        self.assertEqual(self.status(known)[0], 0)
        self.assertEqual(self.status({**known, "hand/gone": "-"})[0], 1)


class Ordered(unittest.TestCase):
    def order(self, known, mutants, first=None):
        with mock.patch.object(verdicts, "file_tests", lambda: {
                "a.c": ["uml:slow", "uml:leak", "unit:area", "nospec:f"]}):
            order = verdicts.Order(mutants, known, first)
        order.seconds = {"uml:slow": 20, "uml:leak": 4, "unit:area": 0.1}
        return order

    def test_cheap_ones_first(self):
        m = Mutant("f:drop:x")
        self.assertEqual(self.order({}, [m]).of(m), ["unit:area", "uml:leak", "uml:slow"])

    def test_killers_of_the_function_first(self):
        known = {f"f:drop:{i}": "uml:split slow_test.x" for i in range(20)}
        mutants = [Mutant(name) for name in known]
        self.assertEqual(self.order(known, mutants).of(Mutant("f:drop:new"))[0], "uml:slow")

    def test_the_last_killer_first(self):
        m = Mutant("f:drop:x")
        with mock.patch.object(verdicts, "test_problem", lambda test: None):
            self.assertEqual(self.order({m.name: "uml:split slow_test.x"}, [m]).of(m)[0],
                             "uml:slow")

    def test_masks_for_what_changes_one(self):
        self.assertIn("nospec:f", self.order({}, []).of(Mutant("x", old="a & b")))

    def test_tier_one_only(self):
        self.assertEqual(self.order({}, [], FIRST).of(Mutant("x")), ["unit:area", "uml:leak"])

    def test_header_has_the_tests_of_its_c_file(self):
        self.assertEqual(verdicts.tests_of_file("a.h", {"a.c": ["unit:area"]}), ["unit:area"])


class Recorded(unittest.TestCase):
    LINES = ["killed     f:drop:x (3 s): unit:area case_a",
             "killed     hand/b (3 s): uml:split leak_test.y [CVE-1: words]",
             "survived   f:drop:s (9 s)", "not built  f:drop:n (0 s)",
             "survived   f:drop:e (9 s): said to be equivalent, but unit:a b fails",
             "in error   f:drop:z (0 s): words", "40 mutants: 1 killed"]

    def test_lines(self):
        known = {"f:drop:e": "equivalent: why", "f:drop:z": "unit:b c"}
        self.assertEqual(verdicts.updated(known, self.LINES), {
            "f:drop:x": "unit:area case_a", "hand/b": "uml:split leak_test.y", "f:drop:s": "-",
            "f:drop:n": "not built", "f:drop:e": "equivalent: why", "f:drop:z": "unit:b c"})

    def test_judged_or_equivalent(self):
        known = {"f:drop:x": "unit:area case_a", "f:drop:s": "-", "f:drop:e": "equivalent: why",
                 "f:drop:gone": "equivalent: why"}
        self.assertEqual(verdicts.kept(known, {"f:drop:x"}, {"f:drop:x", "f:drop:s", "f:drop:e"}),
                         {"f:drop:x": "unit:area case_a", "f:drop:e": "equivalent: why"})

    def test_survivor_of_tier_one_keeps_a_killer_of_another(self):
        known = {"f:drop:s": "uml:packed leak_test.x"}
        self.assertEqual(verdicts.updated(known, self.LINES, "1", FIRST)["f:drop:s"],
                         "uml:packed leak_test.x")
        known = {"f:drop:s": "uml:split leak_test.x"}
        self.assertEqual(verdicts.updated(known, self.LINES, "1", FIRST)["f:drop:s"], "-")


if __name__ == "__main__":
    unittest.main()
