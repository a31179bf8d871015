#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of what runs machines: python3 -B scripts/machine/test_machine.py"""

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
import follow
import rig
import tree
import uml
import vm

SCRIPT = __file__


def refused(parser, *words):
    """What is said of a command line that is refused; SystemExit with a text is status 1."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            parser.parse(list(words))
        except SystemExit as end:
            return end.code if isinstance(end.code, str) else (end.code, said.getvalue())
    return None


class Scratch(unittest.TestCase):
    def setUp(self):
        self.enterContext(contextlib.chdir(self.enterContext(tempfile.TemporaryDirectory())))
        self.dir = Path.cwd()

    def write(self, name, text):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class CommandLine(unittest.TestCase):
    def test_all_after_the_dashes_is_the_scripts(self):
        found = uml.parser().parse(["--smp", "--", SCRIPT, "--smp-kasan", "--", "a b"])
        self.assertEqual(found.flavour, "smp")
        self.assertEqual(found.script, [SCRIPT, "--smp-kasan", "--", "a b"])

    def test_repeated_options_are_kept_in_order(self):
        words = "--add a --env A=1 --add b:c --env B= --tree t --".split()
        found = vm.parser().parse([*words, SCRIPT])
        self.assertEqual((found.add, found.tree), (["a", "b:c"], ["t"]))
        self.assertEqual(found.env, [("A", "1"), ("B", "")])

    def test_empty_values_are_values(self):
        found = vm.parser().parse(["--append", "", "--icount", "", "--", SCRIPT])
        self.assertEqual((found.append, found.icount), ("", ""))

    def test_value_keeps_further_equals_signs(self):
        found = uml.parser().parse(["--env", "P=a=b c", "--", SCRIPT])
        self.assertEqual(found.env, [("P", "a=b c")])

    def test_shell_needs_no_script(self):
        self.assertTrue(vm.parser().parse(["--shell"]).shell)
        self.assertIn("unknown option --shell", refused(uml.parser(), "--shell", "--", SCRIPT))

    def test_wrong_ones_are_refused(self):
        for parser in (vm.parser(), uml.parser()):
            self.assertIn("unknown option --none", refused(parser, "--none", "--", SCRIPT))
            self.assertIn("the script comes after --", refused(parser, SCRIPT))
            self.assertIn("expected one argument", refused(parser, "--mem"))
            self.assertIn("unknown option --time", refused(parser, "--time", "3", "--", SCRIPT))
            self.assertIn("no such script: /none", refused(parser, "--", "/none"))
            self.assertIn("no name of a variable", refused(parser, "--env", "a b=1", "--", SCRIPT))
            status, said = refused(parser)
            self.assertEqual(status, 1)
            self.assertIn("usage: ", said)
        for words in (("--kernel", "5.10"), ("--accel", "xen"), ("--qemu", "9"), ("--smp", "two")):
            self.assertIn("invalid", refused(vm.parser(), *words, "--", SCRIPT))

    def test_kernels_are_those_of_the_shell(self):
        text = (rig.TOP / "scripts/lib.sh").read_text(encoding="utf-8")
        series, debug, others = (re.search(f'^{name}_ALL="(.*)"', text, re.M)[1].split()
                                 for name in ("SERIES", "DEBUG", "UML"))
        self.assertEqual(list(vm.SERIES), [*series, "newest", *debug])
        self.assertEqual([uml.kernel_name(flavour) for flavour in uml.FLAVOURS], others)


class Paths(Scratch):
    def test_scripts_of_the_repository_run_where_they_are(self):
        for name in ("scripts/vm/uapi.sh", "selftests/net/run.sh", "tools/bench/inside/paper.py"):
            self.assertEqual(tree.inside_path(rig.TOP / name), f"/kvnet/{name}")
        os.symlink(rig.TOP, "link")
        self.assertEqual(tree.inside_path("link/scripts/vm/uapi.sh"), "/kvnet/scripts/vm/uapi.sh")

    def test_others_run_in_kvnet(self):
        self.assertEqual(tree.inside_path(rig.TOP / "selftests/rig/x.sh"), "/kvnet/x.sh")
        self.assertEqual(tree.inside_path("/tmp/try.sh"), "/kvnet/try.sh")

    def test_added_files(self):
        for item, dest in (("a/b.ko", "/kvnet/b.ko"), ("a/b:c", "/kvnet/c"), ("a:/opt/x", "/opt/x"),
                           ("a:/kvnet/guests/6.1", "/kvnet/guests/6.1")):
            self.assertEqual(tree.split_add(item), (item.split(":")[0], dest))


class Scripts(Scratch):
    def test_arguments_and_variables_arrive_as_they_are(self):
        values = ["", "a b", "$HOME `x`", "'\"\\", "ä\n!"]
        self.write("env", tree.env_script([(f"V{n}", value) for n, value in enumerate(values)]))
        command = '. ./env; printf "%s|" "$V0" "$V1" "$V2" "$V3" "$V4"'
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "|".join(values) + "|")
        words = shlex.split(tree.run_script(["/tmp/t.sh", *values]).split("\n", 1)[1])
        self.assertEqual(words, ["exec", "bash", "/kvnet/t.sh", *values])
        self.assertIn("exec /usr/bin/python3 -uSB /kvnet/t.py", tree.run_script(["/tmp/t.py"]))

    def test_the_same_files_are_the_same_archive(self):
        for name in ("one", "two"):
            for file in (("b/c", "b-d", "a") if name == "one" else ("a", "b-d", "b/c")):
                self.write(f"{name}/{file}", file)
            os.symlink("nowhere", f"{name}/link")
            tree.archive(name, f"{name}.cpio")
        self.assertEqual(Path("one.cpio").read_bytes(), Path("two.cpio").read_bytes())
        listed = subprocess.run(["cpio", "-t", "--quiet", "-F", "one.cpio"],
                                capture_output=True, text=True, check=True)
        self.assertEqual(listed.stdout.split(), [".", "a", "b", "b-d", "b/c", "link"])


class HostCommand(Scratch):
    def words(self, *words, accel="tcg"):
        found = vm.parser().parse([*words, "--", SCRIPT])
        with unittest.mock.patch.object(vm, "tsc_words", lambda: ["tsc_early_khz=1"]):
            return [*vm.machine_arguments(found, "IMAGE", "LOG", accel),
                    "-append", vm.kernel_words(found, accel)]

    def after(self, name, words):
        return [words[at + 1] for at, word in enumerate(words) if word == name]

    def test_kvm_tells_no_frequency(self):
        words = self.words(accel="kvm")
        self.assertEqual(self.after("-cpu", words), ["host"])
        self.assertNotIn("tsc_early", self.after("-append", words)[0])

    def test_virtual_time_is_one_thread_and_a_seed(self):
        words = self.words("--icount", "7")
        self.assertEqual(self.after("-accel", words), ["tcg,thread=single"])
        self.assertEqual(self.after("-seed", words), ["7"])
        self.assertEqual(self.after("-icount", words), ["shift=1,sleep=off"])
        self.assertIn(" nokaslr ", self.after("-append", words)[0])
        self.assertNotIn("tsc_early", self.after("-append", words)[0])

    def test_last_node_has_what_is_left(self):
        self.assertEqual(vm.node_arguments(5, 1000, 3), [
            "-smp", "5,sockets=5",
            "-object", "memory-backend-ram,id=node0,size=333M",
            "-numa", "node,cpus=0,memdev=node0",
            "-object", "memory-backend-ram,id=node1,size=333M",
            "-numa", "node,cpus=1,memdev=node1",
            "-object", "memory-backend-ram,id=node2,size=334M",
            "-numa", "node,cpus=2-4,memdev=node2"])

    def test_disks(self):
        found = vm.parser().parse(["--system", "/S", "--disk", "3", "--", SCRIPT])
        self.assertEqual(vm.disk_arguments(found, self.dir), [
            "-drive", "file=/S/disk,format=raw,if=virtio,snapshot=on",
            "-drive", f"file={self.dir}/disk,format=raw,if=virtio,cache=unsafe"])
        self.assertEqual((self.dir / "disk").stat().st_size, 3 << 20)

    def test_counts_need_virtual_time(self):
        found = vm.parser().parse(["--count", "f", "--", SCRIPT])
        with self.assertRaisesRegex(SystemExit, "needs --icount"):
            vm.count_arguments(found, f"{rig.BUILD}/qemu10/usr/bin/qemu-system-x86_64")


class UmlCommand(unittest.TestCase):
    def test_memory_is_on_disk_where_there_is_no_room(self):
        self.assertEqual(uml.memory_dir(1 << 40, "LOG"), "LOG")


class Status(Scratch):
    def attempt(self, output, console="", accel="tcg", shell=False):
        self.write("output.log", output)
        self.write("console.log", console)
        return vm.attempt_status(self.dir, accel, shell)

    def test_of_the_host(self):
        self.assertEqual(self.attempt("@@vm-up\nx\n@@vm-status 3\n"), 3)
        self.assertEqual(self.attempt("@@vm-up\n@@vm-status 3\n@@vm-status 0\n"), 0)
        self.assertEqual(self.attempt("@@vm-up\nx\n"), 124)
        self.assertEqual(self.attempt("@@vm-up\nx\n", "[ 1.0] Kernel panic - not syncing"), 1)
        self.assertEqual(self.attempt("x @@vm-up\n"), 125)
        self.assertEqual(self.attempt("", shell=True), 124)

    def test_fault_of_the_emulator(self):
        for accel, status in (("tcg", 125), ("kvm", 0)):
            found = self.attempt("@@vm-up\n@@vm-status 0\n", "Oops: int3: 0000", accel)
            self.assertEqual(found, status)

    def test_of_user_mode_linux(self):
        cases = ((5, True), (0, False), (None, True), (None, False))
        self.assertEqual([uml.run_status(*case) for case in cases], [5, 0, 124, 1])

    def test_bad_kernel_message(self):
        good = self.write("good", "[ 1.0] all is well\n")
        bad = self.write("bad", "[ 1.0] BUG: it is not\n")
        found = [follow.verdict(*case) for case in ((0, good), (0, bad), (7, bad))]
        self.assertEqual(found, [0, 99, 7])


class Following(Scratch):
    def follow(self, command, limits, shell=False):
        """What is shown, and the log."""
        self.shown, self.stopped = io.BytesIO(), 0
        process = rig.start("bash", "-c", command, stdout=subprocess.PIPE, process_group=0)

        def stop(process):
            self.stopped += process.poll() is None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        follow.follow(process, follow.Output("log", shell, self.shown), limits, stop)
        return self.shown.getvalue(), Path("log").read_bytes()

    def test_own_lines_are_not_shown(self):
        shown, log = self.follow(r'printf "@@vm-up\r\na\r\n@@vm-status 0\nend"', follow.Limits(60))
        self.assertEqual((shown, log), (b"a\nend\n", b"@@vm-up\na\n@@vm-status 0\nend"))
        follow.save_output("log", "saved")
        self.assertEqual((Path("saved").read_bytes(), follow.status_in("log")), (b"a\nend", 0))

    def test_a_shell_shows_all_at_once(self):
        shown, _log = self.follow('printf "@@vm-up\n$ "', follow.Limits(60), shell=True)
        self.assertEqual(shown, b"@@vm-up\n$ ")

    def test_time_is_over(self):
        self.assertEqual(self.follow("echo a; sleep 1000", follow.Limits(1))[0], b"a\n")
        self.assertEqual(self.stopped, 1)

    def test_what_stays_behind_is_ended(self):
        self.assertEqual(self.follow("sleep 1000 & echo a", follow.Limits(60))[0], b"a\n")
        self.assertEqual(self.stopped, 0)

    def test_limits(self):
        limits = follow.Limits(100, boot=10, stall=5)
        cases = (((9, 9, False), False), ((10, 0, False), True), ((50, 4, True), False),
                 ((50, 5, True), True), ((100, 0, True), True))
        for case, over in cases:
            self.assertEqual(limits.is_over(*case), over, case)
        self.assertFalse(follow.Limits(100).is_over(99, 99, False))


class Locks(Scratch):
    def test_the_shells_are_the_same(self):
        lock = self.dir / "lock"
        with rig.hold(lock):
            self.assertEqual(rig.status_of("flock", "-n", lock, "true"), 1)
            self.assertIsNone(rig.try_lock(lock))
        self.assertEqual(rig.status_of("flock", "-n", lock, "true"), 0)

    def test_what_was_started_holds_them_too(self):
        lock = self.dir / "lock"
        file = rig.try_lock(lock)
        with rig.start("cat", stdin=subprocess.PIPE) as process:
            file.close()
            self.assertIsNone(rig.try_lock(lock))
            process.stdin.close()
            process.wait()
            rig.try_lock(lock).close()

    def test_a_log_is_one_runs(self):
        with rig.own_log(self.dir), self.assertRaisesRegex(SystemExit, "another run is writing"):
            rig.own_log(self.dir)

    def test_each_takes_another_cpu(self):
        with unittest.mock.patch.object(rig, "LOCKS", self.dir):
            taken = [rig.take_cpu() for _ in range(len(os.sched_getaffinity(0)) + 1)]
        self.assertEqual({cpu for cpu, _ in taken}, os.sched_getaffinity(0))
        self.assertIsNone(taken[-1][1])
        for _, lock in taken[:-1]:
            lock.close()


if __name__ == "__main__":
    unittest.main()
