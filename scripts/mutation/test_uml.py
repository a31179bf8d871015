# SPDX-License-Identifier: GPL-2.0
"""Tests of uml.py, as far as they need no kernel."""
import os
import tempfile
import unittest

from . import uml
from .unit import NotBuilt

OUTPUT = """\
boots
# mutant 10 begins
# variant split
## leak_test
TAP version 13
not ok 2 leak_test.nothing_leaks (deadline) # 120 ms
# leak_test: all of it took 1.2 s
# mutant 10 killed
# mutant 11 begins
# variant split
## leak_test
ok 1 leak_test.x # 1 ms
# variant packed
## loop_test (packed,in_order)
# mutant 11 passed
# mutant 12 begins
# variant split
## leak_test
ok 1 leak_test.x # 1 ms
uml.sh: User-Mode Linux died; the end of console.log:
"""


class Said(unittest.TestCase):
    def setUp(self):
        self.said = uml.said_of(OUTPUT)

    def test_words(self):
        self.assertEqual({n: one.word for n, one in self.said.items()},
                         {10: "killed", 11: "passed", 12: None})

    def test_case_that_failed(self):
        self.assertEqual(self.said[10].killer(), "uml:split leak_test.nothing_leaks (deadline)")

    def test_kernel_that_died(self):
        self.assertEqual(self.said[12].killer(), "uml:split leak_test.died")

    def test_what_is_no_case_counts_for_its_test(self):
        text = "# variant packed\n## loop_test\nnot ok - rmmod after the tests\n"
        self.assertEqual(uml.Said("killed", text).killer(),
                         "uml:packed loop_test.rmmod after the tests")
        text = "# variant split\n## leak_test\nnot ok - leak_test ended with status 137\n"
        self.assertEqual(uml.Said("killed", text).killer(),
                         "uml:split leak_test.ended with status 137")
        self.assertEqual(uml.Said("killed", "not ok - loading kvnet.ko\n").killer(),
                         "uml:split load_test.loading kvnet.ko")

    def test_leak(self):
        text = "## leak_test\nok 1 leak_test.x\n# bad kernel message: kmemleak: 2 leaks\n"
        self.assertEqual(uml.Said("leaked", text).killer(),
                         "uml:split leak_test.bad kernel message")

    def test_seconds_by_the_clock_outside(self):
        lines = [(10.0, "# variant packed\n"), (10.5, "## leak_test (packed)\n"),
                 (13.0, "# leak_test:packed,in_order: all of it took 40.1 s\n")]
        self.assertEqual(uml.seconds_of(lines), {"leak@packed": 2.5})


class Tests(unittest.TestCase):
    def test_stages(self):
        for test, name in (("uml:leak", "plain"), ("uml:leak@packed", "plain"),
                           ("uml:fault_each@failing", "failing"), ("uml:tap@smp", "smp"),
                           ("uml:tap@smp_failing", "smp_failing")):
            self.assertEqual(uml.stage_of(test).name, name)

    def test_order_stays(self):
        self.assertEqual(uml.test_lines(["uml:b", "uml:a", "uml:a@packed", "uml:c"]),
                         "split b a\npacked a\nsplit c\n")


class Modules(unittest.TestCase):
    """The commands that the build system has noted, with cat in the place of a compiler."""
    relative = False

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = folder.name
        self.module = uml.Module(self.tree, "mod", "uml", os.path.join(self.tree, "clean"),
                                 os.path.join(self.tree, "log"))
        place = self.place = self.module.place
        os.makedirs(os.path.join(self.tree, "build", "uml"))
        os.makedirs(os.path.join(self.tree, "drivers", "kvnet", "mem"))
        os.makedirs(os.path.join(place, "mem"))
        here = "drivers/kvnet" if self.relative else place
        for name in ("one", "two"):
            made = f"{here}/mem/{name}.o"
            self.write(f"{place}/mem/.{name}.o.cmd",
                       f"savedcmd_{made} := cat -g {here}/mem/{name}.c > {made}\n\n"
                       f"deps_{made} := {here}/mem/{name}.c {here}/mem/x/../{name}.h \\\n")
            self.write(f"{place}/mem/{name}.c", name)
            self.write(f"{place}/mem/{name}.o", name)
        objects = f"{here}/mem/one.o {here}/mem/two.o"
        self.write(f"{place}/.kvnet.o.cmd",
                   f"savedcmd_{here}/kvnet.o := cat {objects} > {here}/kvnet.o\n")
        self.write(f"{place}/.kvnet.ko.cmd",
                   f"savedcmd_{here}/kvnet.ko := cat {here}/kvnet.o > {here}/kvnet.ko\n")
        for name in ("kvnet.o", "kvnet.ko"):
            self.write(f"{place}/{name}", "onetwo")
        script = os.path.join(self.tree, "scripts", "build-module.sh")
        os.makedirs(os.path.dirname(script))
        self.write(script, "#!/bin/sh\n")
        os.chmod(script, 0o755)
        self.assertTrue(self.module.build())

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_only_what_reads_the_file_is_built(self):
        self.write(f"{self.tree}/drivers/kvnet/mem/two.c", "TWO")
        self.module.make_mutant("mem/two.c", f"{self.tree}/1.ko")
        self.assertEqual(self.read(f"{self.tree}/1.ko"), "oneTWO")
        # nothing of the mutant stays
        self.assertEqual(self.read(f"{self.place}/mem/two.o"), "two")
        self.assertEqual(self.read(f"{self.place}/kvnet.o"), "onetwo")

    def test_header(self):
        self.assertIn(f"{self.place}/mem/one.h", self.module.reads[f"{self.place}/mem/one.o"])

    def test_failure(self):
        self.module.commands[f"{self.place}/mem/two.o"] = "false"
        self.write(f"{self.tree}/drivers/kvnet/mem/two.c", "TWO")
        with self.assertRaises(NotBuilt):
            self.module.make_mutant("mem/two.c", f"{self.tree}/1.ko")
        self.assertEqual(self.read(f"{self.place}/mem/two.o"), "two")


class RelativeModules(Modules):
    """As newer kernels note them."""
    relative = True


if __name__ == "__main__":
    unittest.main()
