#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is each case there that Documentation/conformance.rst names?"""
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent


def read(*patterns):
    return "".join(path.read_text() for pattern in patterns for path in TOP.glob(pattern))


class Cases(unittest.TestCase):
    def test_each_is_there(self):
        doc = read("Documentation/conformance.rst")
        cases = re.findall(r"\b([a-z_]+)\.([a-z]\w*_\w+)", doc)
        self.assertGreater(len(cases), 80)
        for test, case in cases:
            source = read(f"selftests/*/{test}_test.c", f"selftests/uapi/*/{test}_test.c",
                          "selftests/uapi/lib/hostile_rows.h" if test == "hostile" else "-")
            found = re.search(rf"\b(CASE\w*\((\w+, )?|[ASPD]\(){case}[,)]", source)
            self.assertTrue(found, f"there is no {test}.{case}")
        for proof in re.findall(r"proofs/([a-z]\w+)", doc):
            self.assertTrue((TOP / f"selftests/proofs/{proof}.c").exists(), proof)


if __name__ == "__main__":
    unittest.main()
