# SPDX-License-Identifier: GPL-2.0
"""Tests of lists.py."""
import os
import tempfile
import unittest
from unittest import mock

from . import lists
from .source import Source

TEXT = """\
int first(int a)
{
	if (a == 1)
		return 2;
	return 0;
}

int second(int a)
{
	put(a);
	return 0;
}
"""


def parsed(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "folder.list")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return lists.parse(path)


class Tree(unittest.TestCase):
    """A driver of two files."""
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = folder.name
        for name in ("vq/one.c", "two.c"):
            path = os.path.join(self.tree, "drivers", "kvnet", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(TEXT.replace("first", "third") if name == "two.c" else TEXT)
        self.source = Source(self.tree)
        self.made = lists.generated(self.source)


class ByHand(unittest.TestCase):
    def test_block(self):
        one, two = parsed("mutant room/a\nbug CVE-1: words\n- x = 1;\n+ x = 2;\n\n"
                          "mutant room/b\nfile third.h\n- y();\n")
        self.assertEqual((one.name, one.file, one.bug), ("room/a", "room.c", "CVE-1: words"))
        self.assertEqual((two.name, two.file), ("room/b", "third.h"))

    def test_unknown_line_ends_it(self):
        with self.assertRaises(SystemExit):
            parsed("mutant room/a\nwords\n")

    def test_spaces_do_not_matter(self):
        m = parsed("mutant room/a\n- if (a == 1)\n-   return 2;\n+ return 3;\n")[0]
        start, end, new = m.change(TEXT)
        self.assertEqual((TEXT[start:end], new), ("if (a == 1)\n\t\treturn 2;", "return 3;"))

    def test_what_is_left_out_leaves_an_empty_statement(self):
        self.assertEqual(parsed("mutant room/a\n- put(a);\n")[0].change(TEXT)[2], ";")

    def test_refused(self):
        for text in ("- return 0;\n", "- nothing();\n", "- put(a);\n+ put(a);\n"):
            with self.assertRaises(ValueError):
                parsed("mutant room/a\n" + text)[0].change(TEXT)


class Chosen(Tree):
    def names(self, *names):
        return {m.name for m in lists.chosen(self.made, names, self.source)}

    def test_by_file_and_function(self):
        self.assertEqual(self.names("first"), {m.name for m in self.made if m.function == "first"})
        for name in ("one.c", "one", "vq/one.c", "drivers/kvnet/vq/one.c"):
            self.assertEqual(self.names(name), {m.name for m in self.made if m.file == "one.c"})
        with self.assertRaisesRegex(lists.Unknown, "'unknown'"):
            self.names("first", "unknown")

    def test_changed_since_what_is_no_commit(self):
        with self.assertRaisesRegex(lists.Unknown, "^CHANGED=nonsense: git says: "):
            list(lists.changed(self.made, self.source, "nonsense"))

    def test_function_of_two_files_has_its_file_in_its_name(self):
        self.assertEqual(len({m.name for m in self.made}), len(self.made))
        self.assertIn("one.second:drop:put(a)", self.names())

    def test_order_of_names(self):
        files = [m.file for m in lists.chosen(self.made, ["two.c", "first"], self.source)]
        self.assertEqual(files, sorted(files, reverse=True))

    def test_judged_are_those_by_hand_bugs_and_a_sample(self):
        hand = parsed("mutant room/a\n- put(a);\n")
        self.made[0].bug = "CVE-1: words"
        with mock.patch.object(lists, "SAMPLED", 1):
            self.assertEqual(lists.judged(hand + self.made), hand + self.made)
        with mock.patch.object(lists, "SAMPLED", 1 << 40):
            self.assertEqual(lists.judged(hand + self.made), hand + self.made[:1])

    def test_bug_of_a_mechanical_one(self):
        name = self.made[0].name
        with mock.patch.object(lists, "read_table", lambda _: {name: "CVE-1: words"}):
            made = lists.generated(self.source)
        self.assertEqual([m.name for m in made if m.bug], [name])
        self.assertEqual(lists.chosen(made, ["CVE-1"], self.source), made[:1])


if __name__ == "__main__":
    unittest.main()
