#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of what the static checks look for: python3 scripts/test_check.py"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import check  # noqa: E402  pylint: disable=wrong-import-position

KNOWN = "# SPDX-License-Identifier: GPL-2.0\nvq.c MEMORY_BARRIER\n"
TOTAL = "total: 1 errors, 0 warnings, 9 lines checked"
TRACE = "DEFINE_EVENT(kvnet_work_class, kvnet_kick,\nTRACE_EVENT(kvnet_poll,\n__field(unsigned int, packets)"


def explained(stats="", doc="", scripts=""):
    return list(check.not_explained(stats, TRACE, doc, scripts))


class Check(unittest.TestCase):
    def test_checkpatch_may_say_what_is_known(self):
        known, other, kind = (f"drivers/{name}:7: {what}: a message" for name, what in (
            ("vq/vq.c", "WARNING:MEMORY_BARRIER"), ("tx.c", "WARNING:MEMORY_BARRIER"), ("vq/vq.c", "ERROR:SPACING")))
        self.assertEqual(list(check.not_known("\n".join([known, other, kind, TOTAL]), KNOWN)), [other, kind])

    def test_checkpatch_has_to_say_something(self):
        self.assertEqual(list(check.not_known(TOTAL, KNOWN)), [])
        self.assertEqual(list(check.not_known("cannot open it", KNOWN)), ["checkpatch has said nothing"])

    def test_pages(self):
        text = "see a@ and Documentation/b-c@:\nx/d@ _e@ f@x, (g@)".replace("@", ".rst")
        self.assertEqual(check.pages_in(text), [f"{page}.rst" for page in ("a", "b-c", "g")])

    def test_counters(self):
        doc = "kicks, polls   how many\nno_buf, or so\n"
        self.assertEqual(explained("\tX(kicks)\n\tX(polls) \\\n\tX(no_buf)\n", doc), [])
        self.assertEqual(explained("\tX(kicks)\n\tX(kick)\n", doc), ["debugging.rst does not explain kick"])

    def test_tracepoints(self):
        self.assertEqual(explained(doc="kvnet:kvnet_kick args->comm\n", scripts="kvnet:kvnet_poll args->packets"), [])
        self.assertEqual(explained(doc="kvnet:kvnet_pol\n", scripts="args->packet"),
                         ["there is no tracepoint kvnet:kvnet_pol", "no tracepoint has args->packet"])


if __name__ == "__main__":
    unittest.main()
