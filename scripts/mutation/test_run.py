# SPDX-License-Identifier: GPL-2.0
"""Tests of run.py and lane.py, with a lane that builds and boots nothing."""
import os
import tempfile
import time
import unittest
from unittest import mock

from . import lane, run, uml
from .unit import NotBuilt


class Mutant:
    bug, function, file = "", "f", "a.c"

    def __init__(self, name):
        self.name = name


class Order:
    """Each mutant has these tests."""
    def __init__(self, *tests):
        self.tests, self.noted = list(tests), []

    def of(self, _):
        return self.tests

    def note(self, mutant, test):
        self.noted.append((mutant.name, test))


class Kernel:
    """words: of each mutant's module, in turn, the last word; "dies" ends the kernel."""
    def __init__(self, words):
        self.words, self.boots = words, []

    def boot(self, stage, jobs, _):
        names = []
        for path, _ in jobs:
            with open(path, encoding="utf-8") as file:
                names.append(file.read())
        self.boots.append((stage.name, names))
        said = {}
        for i, name in enumerate(names):
            word = self.words[name].pop(0)
            text = "# variant split\n## leak_test\n"
            if word == "killed":
                text += "not ok 1 leak_test.case # 1 ms\n"
            said[i] = uml.Said(None if word == "dies" else word, text)
            if word in ("dies", "broken"):
                break
        return said, []


class Lane:
    """quick: name -> killer or exception."""
    def __init__(self, folder, quick, words):
        self.modules, self.log, self.quick_words = folder, "log", quick
        self.uml = Kernel(words)

    def note(self, text):
        pass

    def quick(self, mutant, _):
        word = self.quick_words.get(mutant.name)
        if isinstance(word, Exception):
            raise word
        return word

    def build_module(self, mutant, _, path):
        if self.quick_words.get(mutant.name + " module"):
            raise NotBuilt
        with open(path, "w", encoding="utf-8") as out:
            out.write(mutant.name)


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for patch in (mock.patch.object(run, "ALL", self.folder), mock.patch("builtins.print")):
            patch.start()
            self.addCleanup(patch.stop)

    def tried(self, words, quick=(), tests=("uml:leak",), known=(), several=12):
        """Name -> word of its verdict, and the killer."""
        names = list(words) or list(dict(quick))
        self.order = Order(*tests)
        self.all = run.Run([Mutant(name) for name in names], self.order, dict(known))
        self.lane = Lane(self.folder, dict(quick), {k: list(v) for k, v in words.items()})
        with mock.patch.object(uml, "SEVERAL", several):
            run.Worker(self.all, self.lane).work()
        return {line[11:].split(" ")[0]: (line[:10].strip(), line.partition(": ")[2])
                for line in self.all.lines}

    def test_quick_tests_first(self):
        said = self.tried({}, {"a": "unit:x case", "b": NotBuilt(), "c": ValueError("twice")},
                          ["unit:x", "uml:leak"])
        self.assertEqual(said, {"a": ("killed", "unit:x case"), "b": ("not built", ""),
                                "c": ("in error", "twice")})
        self.assertEqual(self.lane.uml.boots, [])
        self.assertEqual(self.order.noted, [("a", "unit:x")])

    def test_several_in_one_kernel(self):
        said = self.tried({"a": ["killed"], "b": ["passed"], "c": ["killed"]})
        self.assertEqual(said["a"], ("killed", "uml:split leak_test.case"))
        self.assertEqual(said["b"], ("survived", ""))
        self.assertEqual(self.lane.uml.boots, [("plain", ["a", "b", "c"])])

    def test_after_a_kernel_that_died_the_rest_has_another(self):
        said = self.tried({"a": ["dies"], "b": ["broken"], "c": ["passed"]})
        self.assertEqual([said[name][0] for name in "abc"], ["killed", "killed", "survived"])
        self.assertEqual([boot[1] for boot in self.lane.uml.boots],
                         [["a", "b", "c"], ["b", "c"], ["c"]])

    def test_leak_after_one_that_was_killed_is_looked_at_again(self):
        said = self.tried({"a": ["killed"], "b": ["leaked", "passed"], "c": ["leaked", "leaked"]})
        self.assertEqual(said["b"][0], "survived")
        self.assertEqual(said["c"][0], "killed")
        self.assertEqual([boot[1] for boot in self.lane.uml.boots], [["a", "b", "c"], ["b", "c"]])

    def test_stages(self):
        said = self.tried({"a": ["passed", "killed"], "b": ["passed", "passed"]},
                          tests=("uml:leak", "uml:fault_each@failing"))
        self.assertEqual((said["a"][0], said["b"][0]), ("killed", "survived"))
        self.assertEqual([boot[0] for boot in self.lane.uml.boots], ["plain", "failing"])

    def test_no_more_than_several(self):
        self.tried({name: ["passed"] for name in "abcde"}, several=2)
        self.assertEqual([boot[1] for boot in self.lane.uml.boots], [["a", "b"], ["c", "d"], ["e"]])

    def test_module_that_does_not_build(self):
        self.assertEqual(self.tried({"a": []}, {"a module": 1})["a"][0], "not built")

    def test_equivalent(self):
        known = {"a": "equivalent: why", "b": "equivalent: why"}
        said = self.tried({"a": ["passed"], "b": ["killed"]}, known=known)
        self.assertEqual(said["a"], ("equivalent", "why"))
        self.assertEqual(said["b"][0], "survived")
        self.assertIn("said to be equivalent", said["b"][1])

    def test_begins_nothing_after_its_time(self):
        with mock.patch.dict(os.environ, {"MINUTES": "0"}):
            self.assertEqual(self.tried({"a": ["passed"]}), {})

    def test_a_kernel_in_which_nothing_begins_is_an_error(self):
        with mock.patch.object(Kernel, "boot", lambda *_: ({}, [])):
            with self.assertRaises(RuntimeError):
                self.tried({"a": ["passed"]})

    def test_summary(self):
        lines = ["killed     a (0 s)", "equivalent b (0 s)", "survived   c (0 s)"]
        self.assertTrue(run.summary(3, 1, lines[:2]))
        self.assertFalse(run.summary(3, 0, lines))


class Cache(unittest.TestCase):
    def test_only_the_same_inputs(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(run, "CACHE", folder):
            path = os.path.join(folder, "a.c")
            with open(path, "w", encoding="utf-8") as out:
                out.write("one")
            passed, key = run.Passed(), run.hash_of(["t"], [path])
            self.assertIsNone(passed.get(key))
            passed.put(key, 2.5)
            self.assertEqual(passed.get(run.hash_of(["t"], [path])), 2.5)
            with open(path, "w", encoding="utf-8") as out:
                out.write("two")
            self.assertIsNone(passed.get(run.hash_of(["t"], [path])))


class Copies(unittest.TestCase):
    def test_what_is_the_same_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            old, new = os.path.join(folder, "old"), os.path.join(folder, "new")
            for place, name, text in ((old, "a/b.c", "b"), (old, "c.c", "new"), (new, "a/b.c", "b"),
                                      (new, "c.c", "old"), (new, "gone.c", "")):
                path = os.path.join(place, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)
                os.utime(path, (1, 1))
            lane.make_same(old, new)
            self.assertEqual(lane.files_below(new), {"a/b.c", "c.c"})
            self.assertEqual(os.stat(os.path.join(new, "a/b.c")).st_mtime, 1)
            self.assertGreater(os.stat(os.path.join(new, "c.c")).st_mtime, time.time() - 600)


if __name__ == "__main__":
    unittest.main()
