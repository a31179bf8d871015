#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of prove.py, without CBMC."""
import pathlib
import tempfile
import unittest

import prove


class CommentTest(unittest.TestCase):
    def test_value_goes_on_in_indented_lines(self):
        text = "/* one */\n/*\n * @shows: all\n *\tof it\n * @mutant: a\n * @mutant: b\n */\n"
        keys = {"shows": ["all of it"], "mutant": ["a", "b"]}
        self.assertEqual(prove.parse_comment(text), keys)

    def test_text_after_a_value_is_not_part_of_it(self):
        text = "/*\n * @quick: yes\n * text\n */"
        self.assertEqual(prove.parse_comment(text), {"quick": ["yes"]})

    def test_file_without_comment_has_no_keys(self):
        self.assertEqual(prove.parse_comment("int main(void);"), {})


class MutantTest(unittest.TestCase):
    def apply(self, mutant, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.c")
            path.write_text(text)
            prove.Mutant(mutant).apply(pathlib.Path(folder))
            return path.read_text()

    def test_text_is_replaced_once(self):
        self.assertEqual(self.apply(r"a.c: x;\n} => y;\n}", "x;\nx;\n}"), "x;\ny;\n}")

    def test_text_that_is_not_there_once_is_an_error(self):
        for text in ("", "x;x;"):
            with self.assertRaises(ValueError):
                self.apply("a.c: x; => y;", text)


class HarnessTest(unittest.TestCase):
    def test_each_says_what_it_needs_to_and_its_mutants_apply(self):
        paths = prove.harness_paths()
        self.assertGreater(len(paths), 20)
        for path in paths:
            harness = prove.Harness(path)
            for source in harness.sources:
                self.assertTrue((prove.MODULE / source).is_file(), source)
            for mutant in harness.mutants:
                text = (prove.MODULE / mutant.file).read_text()
                self.assertEqual(text.count(mutant.old), 1, f"{path.name}: {mutant}")

    def test_missing_key_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.c")
            path.write_text("/*\n * @shows: x\n */")
            with self.assertRaises(ValueError):
                prove.Harness(path)


if __name__ == "__main__":
    unittest.main()
