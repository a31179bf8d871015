#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the check of words: python3 scripts/test_words.py"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import words  # noqa: E402  pylint: disable=wrong-import-position

SOME = words.read_list(["# who: the actor", "", "who|whom | the actor", "lent|lone | single", "put[ _]off | defer"])


def found(text, **options):
    return [(number, word) for number, word, _ in words.findings(text, SOME, **options)]


class Words(unittest.TestCase):
    def test_words_and_parts_of_names(self):
        self.assertEqual(found("who has it\nthe Lone one"), [(1, "who"), (2, "Lone")])
        self.assertEqual(found("kvnet_lent(), calls_put_off, WHOM=x"), [(1, "WHOM"), (1, "lent"), (1, "put_off")])

    def test_parts_of_words_are_others(self):
        self.assertEqual(found("whose, whole, alone, silent, talented, clone2, lone2"), [])

    def test_what_to_say(self):
        self.assertEqual([instead for _, _, instead in words.findings("a lone frame", SOME)], ["single"])

    def test_old_names_may_stand_in_their_table(self):
        text = "lone\nNames that changed in 0.9\n----\n``packets_lent``"
        self.assertEqual(found(text, may_end=True), [(1, "lone")])
        self.assertEqual(found(text), [(1, "lone"), (4, "lent")])

    def test_the_list_can_be_read(self):
        with open(words.LIST, encoding="utf-8") as file:
            everything = words.read_list(file)
        said = {word for _, word, _ in words.findings("Nobody who was born lends soft_busy; at rest; kvnet_crew", everything)}
        self.assertEqual(said, {"Nobody", "who", "born", "lends", "soft_busy", "at rest", "kvnet_crew", "crew"})


if __name__ == "__main__":
    unittest.main()
