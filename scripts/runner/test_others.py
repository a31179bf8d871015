# SPDX-License-Identifier: GPL-2.0
"""Tests of verbs that are no tests of the module: python3 scripts/runner/test_others.py"""
import contextlib
import io
import os
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
import forms  # noqa: E402
import lanes  # noqa: E402
import long_runs  # noqa: E402
import matrix  # noqa: E402
import packages  # noqa: E402
import plan  # noqa: E402
import results  # noqa: E402
import tiers  # noqa: E402


class Case(unittest.TestCase):
    """Commands are noted, and end with the status that "fails" says of them."""
    def setUp(self):
        self.build = self.enterContext(tempfile.TemporaryDirectory())
        self.said = self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.run_ = types.SimpleNamespace(build=self.build, log=f"{self.build}/log", verb="some")
        os.makedirs(self.run_.log)
        self.commands, self.fails = [], lambda command: False
        self.run_.programs = types.SimpleNamespace(run=self.note)
        self.run_.results = results.Results(self.run_.log, [])
        self.run_.main = lanes.Lane(self.run_)
        self.tier = tiers.Tier(self.run_, None)

    def note(self, argv, _out, _env):
        self.commands.append(" ".join(argv))
        return int(bool(self.fails(self.commands[-1]))), 0.5

    def options(self, **values):
        self.enterContext(unittest.mock.patch.dict(os.environ, values))

    def ran(self, words):
        return [command for command in self.commands if words in command]


class BuildMatrix(Case):
    def test_each_is_built_and_shown(self):
        self.options(KERNELS="6.12 newest", ARCHES="arm64", COMPILERS="")
        self.fails = lambda command: "--clang 6.12" in command or "is_made" in command
        os.makedirs(f"{self.build}/kernel-6.12/lib/modules/6.12.9+deb12-amd64")
        with open(f"{self.run_.log}/test-unit-arm64.log", "w", encoding="utf-8"):
            pass
        matrix.Matrix(self.tier).run_all()
        self.assertEqual([command.partition("build-module.sh ")[2]
                          for command in self.ran("build-module.sh")],
                         ["--arch arm64 6.12", "--arch arm64 --clang 6.12"])
        self.assertIn("kernel           with   arm64         \n"
                      "6.12.9+deb12     gcc    ok, 0 s       \n"
                      "6.12.9+deb12     clang  FAILED, 0 s   \n"
                      "newest           gcc    -             \n"
                      "newest           clang  -             \n", self.said.getvalue())
        # the unit tests' log is empty
        self.assertEqual((self.run_.main.passed, self.run_.main.failed), (2, 2))
        self.assertEqual(self.run_.results.finish(self.run_.main), 2)

    def test_programs_with_clang_only_where_it_is_wanted(self):
        for compilers in "gcc", "clang":
            self.options(KERNELS="6.12", ARCHES="amd64", COMPILERS=compilers)
            self.commands.clear()
            matrix.Matrix(self.tier).run_all()
            self.assertEqual(bool(self.ran("selftests/uapi")), compilers == "clang")


class TryPackages(Case):
    def system(self):
        system = packages.System(self.tier, "deb12", "1.2")
        self.addCleanup(system.lock.close)
        return system

    def write(self, path, text=""):
        path = f"{self.build}/packages-deb12/root/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_what_is_left_is_found(self):
        system = self.system()
        self.write("usr/bin/a")
        self.write("usr/lib/modules/6.1/modules.dep", "1")
        system.before = packages.files(system.root)
        self.write("usr/lib/modules/6.1/modules.alias", "2")
        system.nothing_left()
        self.write("etc/b")
        with self.assertRaisesRegex(packages.Bad, "left, or gone:\n.*/etc/b$"):
            system.nothing_left()

    def test_how_long_it_took(self):
        system = self.system()
        with self.assertRaises(packages.Bad):
            system.how_long("# took boot 9.5\n# took guest \n", 30.4, 19.6)
        system.how_long("# took boot 9.6\n# took guest 7\n", 30.4, 19.6)
        self.assertIn("deb12: from a bare system to a guest on kvnet by the packages: 67 s (apt "
                      "install kvnet 30, QEMU 20, boot 10, guest 7)", system.times)

    def test_a_step_says_why_it_has_failed(self):
        system = self.system()
        self.fails = lambda command: True
        system.step("refuse", system.make_refuses)
        self.assertLess(system.step("time", lambda: None), 30)
        self.assertIn("# said: []\nnot ok - deb12: refuse\n", self.said.getvalue())
        self.assertEqual((self.run_.main.passed, self.run_.main.failed), (1, 1))

    def test_apt_takes_fresh_lists_when_it_fails(self):
        system = self.system()
        self.fails = lambda command: "install" in command and not self.ran("apt-get update")
        system.install_others("zsh")
        self.assertEqual((len(self.commands), len(self.ran("install -y"))), (3, 2))
        self.fails = lambda command: True
        with self.assertRaises(packages.Bad):
            system.install_others("zsh")

    def test_one_run_at_a_time(self):
        system = self.system()
        with self.assertRaisesRegex(lanes.Died, "another run is writing .*/packages-deb12: wait"):
            self.system()
        system.lock.close()
        self.system()


class LongRuns(Case):
    def test_what_fails_is_made_smaller(self):
        for needed in ({17}, {0, 1, 511}, {3, 300}, set(range(5))):
            left = long_runs.smaller(list(range(512)), needed.issubset)
            self.assertEqual(left, sorted(needed))

    def sysfuzz(self, seed="", **options):
        """With a console that names this seed, where there is one."""
        self.options(KERNEL="", SEED="", OPS="", SYSFUZZ_SECONDS="7", **options)

        def fails(command):
            if "uml.sh" in command and seed and "sysfuzz-smaller" not in command:
                os.makedirs(f"{self.run_.log}/sysfuzz", exist_ok=True)
                with open(f"{self.run_.log}/sysfuzz/console.log", "w", encoding="utf-8") as file:
                    file.write(f"<5>sysfuzz: SEED={seed}\n")
            ops = command.partition("OPS=")[2].partition(" ")[0].split(",")
            return "uml.sh" in command and ("sysfuzz-smaller" not in command or "9" in ops)

        self.fails = fails
        long_runs.Sysfuzz(self.tier).run_all()
        return self.said.getvalue()

    def test_sysfuzz_says_what_fails(self):
        self.assertRegex(self.sysfuzz("1f3a"), "it fails: SEED=1f3a\n(.*\n)*SEED=1f3a OPS=9\n")
        self.assertRegex(self.ran("uml.sh")[0], "--timeout 321 .*--env SYSFUZZ_SECONDS=7 ")

    def test_sysfuzz_leaves_it_as_it_is(self):
        self.assertIn("it fails: SEED=2", self.sysfuzz("2", SMALLER="0"))
        self.assertEqual(len(self.ran("uml.sh")), 1)

    def test_sysfuzz_without_a_seed(self):
        self.assertNotIn("it fails", self.sysfuzz())

    def test_soak(self):
        self.options(KERNEL="", SOAK_MINUTES="2", GUESTS="4")
        long_runs.Soak(self.tier).run_all()
        self.assertRegex(self.commands[-1],
                         r"/uml\.sh --debug --guest --timeout 1980 --mem 2560 "
                         r"--env SOAK_MINUTES=2 --env GUESTS=4 --name soak --output \S+ -- \S+")
        self.options(KERNEL="6.12")
        long_runs.Soak(self.tier).run_all()
        self.assertIn("/vm.sh --kernel 6.12 --stall 1800 --retries 0 ", self.commands[-1])


class Forms(Case):
    def refused(self, verb, said, **options):
        with unittest.mock.patch.dict(os.environ, options, clear=True), \
                self.assertRaisesRegex(plan.Unknown, said):
            forms.check(verb)

    def test_wrong_options(self):
        self.refused("soak", "^SOAK_MINUTES is a number above 0, not 'x'", SOAK_MINUTES="x")
        self.refused("sysfuzz", "^SECONDS is", SYSFUZZ_SECONDS="0")
        self.refused("sysfuzz", "^SEED is a hexadecimal", SEED="1g")
        self.refused("sysfuzz", "^OPS is numbers and ranges", OPS="17-")
        self.refused("uml", "^CYCLES is", LIFE_CYCLES="1k")
        self.refused("uapi", "^KSFT_LONG is", KSFT_LONG="1/0")
        self.refused("uapi", "^KVNET_LAYOUT is some of", KVNET_LAYOUT="packed,inorder")
        self.refused("uapi", "^KVNET_WORKER is", KVNET_WORKER="thread")
        self.refused("uml", "^MIGRATE_CHAIN is such as", MIGRATE_CHAIN="kvnet/10.0")
        self.refused("net", "no parameter 'poll_ms'; there are: .*poll_us", KVNET_PARAMS="poll_ms=1")

    def test_right_options(self):
        for verb, options in (
                ("uml", {"SEED": "today", "OPS": "-", "KSFT_LONG": "1/3", "KSFT_SEED": "0x1f"}),
                ("sysfuzz", {"SEED": "1f3a20c7", "OPS": "17,30-40", "SYSFUZZ_SECONDS": ""}),
                ("uapi", {"KVNET_LAYOUT": "packed,in_order", "KVNET_PARAMS": "poll_us=0 tx_inline"}),
                ("net", {"KVNET_PARAMS": "experimental_zcopytx=1", "BACKEND": "vhost"}),
                ("uml", {"MIGRATE_CHAIN": "vhost/7.2 vhost/7.2 kvnet/10.0/postcopy"})):
            with unittest.mock.patch.dict(os.environ, options, clear=True):
                forms.check(verb)


if __name__ == "__main__":
    unittest.main()
