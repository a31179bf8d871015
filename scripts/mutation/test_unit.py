# SPDX-License-Identifier: GPL-2.0
"""Tests of unit.py, with gcc on a "unit test" of two files."""
import os
import shutil
import tempfile
import unittest

from . import unit

MAKEFILE = """\
programs: $(TESTS:%=$(OUTPUT)/asan/%_test)
$(OUTPUT)/asan/a_test: $(OUTPUT)/asan/a_test.o $(OUTPUT)/asan/part.o
$(OUTPUT)/asan/b_test: $(OUTPUT)/asan/b_test.o
$(OUTPUT)/asan/%_test:
	@gcc -o $@ $^
$(OUTPUT)/asan/%.o: %.c
	@mkdir -p $(OUTPUT)/asan
	@gcc $(CFLAGS) -c -o $@ $<
"""
PART = {"part.h": "#define TWO 2\nint twice(int a);\n",
        "part.c": '#include "part.h"\nint twice(int a)\n{\n\treturn a * TWO;\n}\n'}
TEST = """\
#include <stdio.h>
#include "part.h"
int main(void)
{
	if (twice(2) == 4)
		return puts("ok 1 - asan/a_test: doubles") < 0;
	while (twice(2) == 6)
		;
	if (twice(2) == 8)
		return 3;
	puts("not ok 1 - asan/a_test: doubles");
	return 1;
}
"""
OTHER = "int main(void)\n{\n\treturn 0;\n}\n"


class Parsing(unittest.TestCase):
    def test_commands(self):
        objects, programs = unit.commands(
            "mkdir -p /o\ncommand -v gcc >/dev/null || { \\\n\techo; exit 1; }\n"
            "gcc -DX='\"/a b\"' -c -o /o/a.o a.c\ngcc -o /o/a_test /o/a.o /o/b.o -pthread\n")
        self.assertEqual(objects, {"/o/a.o": ["gcc", '-DX="/a b"', "-c", "-o", "/o/a.o", "a.c"]})
        self.assertEqual(list(programs), ["/o/a_test"])

    def test_dependencies(self):
        self.assertEqual(unit.dependencies("/o/a.o: a.c ../b.h \\\n c.h\n"),
                         {"a.c", "../b.h", "c.h"})

    def test_killer(self):
        self.assertEqual(unit.killer("ok 1 - asan/a: b\nnot ok 2 - asan/a: c\n", "failed"), "c")
        report = "==1==ERROR: AddressSanitizer: heap-use-after-free on"
        self.assertEqual(unit.killer(report, "failed"), "AddressSanitizer: heap-use-after-free")
        self.assertEqual(unit.killer("x.c:1: runtime error: load of null\n", "failed"),
                         "runtime error: load of null")
        self.assertEqual(unit.killer("ok 1 - asan/a: b\n", "failed"), "died")
        self.assertEqual(unit.killer("", "hangs"), "hangs")


@unittest.skipUnless(shutil.which("gcc"), "needs gcc")
class Running(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = os.path.realpath(folder.name)
        self.place = os.path.join(self.tree, "selftests", "unit")
        os.makedirs(self.place)
        for name, text in {**PART, "Makefile": MAKEFILE, "a_test.c": TEST,
                           "b_test.c": OTHER}.items():
            self.write(name, text)
        self.took = {}
        self.units = unit.Units(self.tree, os.path.join(self.tree, "out"),
                                os.path.join(self.tree, "log"), self.took)
        self.assertTrue(self.units.build(["a", "b"]))
        self.assertIsNone(self.units.without_mutant("a"))

    def write(self, name, text):
        with open(os.path.join(self.place, name), "w", encoding="utf-8") as out:
            out.write(text)

    def mutated(self, name, old, new, test="a"):
        self.write(name, PART[name].replace(old, new))
        self.units.begin()
        try:
            return self.units.run(test, os.path.join(self.place, name))
        finally:
            self.write(name, PART[name])

    def test_without_a_mutant(self):
        self.assertLess(self.took["asan/a_test"], 10)
        self.assertEqual({os.path.basename(path) for path in self.units.inputs("a")}
                         & {"a_test.c", "part.c", "part.h"}, {"a_test.c", "part.c", "part.h"})

    def test_killed(self):
        self.assertEqual(self.mutated("part.c", "a * TWO", "a"), "doubles")
        self.assertEqual(self.mutated("part.c", "a * TWO", "8"), "died")
        self.assertEqual(self.mutated("part.h", "TWO 2", "TWO 7"), "doubles")

    def test_hangs(self):
        self.assertEqual(self.mutated("part.c", "a * TWO", "6"), "hangs")

    def test_survives(self):
        self.assertIsNone(self.mutated("part.c", "a * TWO", "a + a"))
        # what was built without a mutant is as it was
        self.assertIsNone(self.units.without_mutant("a"))

    def test_not_built(self):
        with self.assertRaises(unit.NotBuilt):
            self.mutated("part.c", "a * TWO", "nothing")

    def test_program_without_the_file_is_not_run(self):
        self.units.objects.clear()
        self.units.programs[os.path.join(self.units.out, "asan", "b_test")] = ["false"]
        self.assertIsNone(self.mutated("part.h", "TWO 2", "TWO 7", "b"))

    def test_broken_sources_do_not_build(self):
        self.write("b_test.c", "nothing")
        self.assertFalse(self.units.build(["b"]))


if __name__ == "__main__":
    unittest.main()
