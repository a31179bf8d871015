# SPDX-License-Identifier: GPL-2.0
"""User-Mode Linux: a kernel that is a process."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import rig
from follow import TIMEOUT, Limits, Machine, Output, follow, status_in
from options import Parser
from tree import Tree, install_net_tools

USAGE = "scripts/uml.sh [options] -- script.sh [arguments]"

ABOUT = """\
Boots User-Mode Linux, a kernel that is a process and runs at the machine's own speed, and
runs one script in it as root (bash). Returns the script's status, 124 when its time is
over, 1 if the kernel dies, 99 for a bad kernel message."""

AFTER = """\
The script finds what it finds in the test host of scripts/vm.sh: /kvnet/kvnet.ko (if
scripts/build-module.sh built it for that kernel), /kvnet/scripts, /kvnet/selftests/net,
/kvnet/uapi/*, modules by modprobe. All else is this machine's own files, read-only;
nothing is loaded or configured on it.

Afterwards scripts/dmesg-verdict.sh reads the kernel log: a BUG, WARN, KASAN line and the
like in it fails the run, whatever the script said. So does a kernel that dies, with the
end of its log. UML_AS_BUILT=1: the caller has seen that the kernel is there."""

FLAVOURS = {
    "debug": "(default) the kernel that looks for bugs: KASAN, lockdep, kmemleak, failing "
             "allocations; built by itself, once",
    "fast": "the kernel to measure with, likewise",
    "smp": "the same with two CPUs, which are two of the machine's",
    "smp-kasan": "as --debug, with two CPUs",
    "smp-kcsan": "with two CPUs, looks for data races",
}
GUEST_SERIES = "6.12"
ROMS = ("kvmvapic", "linuxboot_dma", "linuxboot", "pvh")


def parser():
    options = Parser("uml", USAGE, ABOUT, AFTER)
    for flavour, text in FLAVOURS.items():
        options.add_argument(f"--{flavour}", dest="flavour", action="store_const", const=flavour,
                             default="debug", help=text)
    options.add_argument("--mem", type=int, metavar="MB",
                         help="size of its memory (default 768, with --guest 1536)")
    options.add_argument("--guest", action="store_true",
                         help="what a guest needs, for selftests/net/lib.sh: stock QEMU, which "
                         "emulates the CPU, and a kernel and an image")
    return options


def kernel_name(flavour):
    return "uml" if flavour == "debug" else f"uml-{flavour}"


def kernel_words(flavour, guest, append):
    words = []
    if flavour.startswith("smp"):
        # a process that has another task for each CPU cannot ptrace
        words += ["ncpus=2", "seccomp=on"]
    if guest:
        # kmemleak's own thread is nice, and among guests on a busy machine kept from
        # running: an RCU reader
        words.append("rcupdate.rcu_cpu_stall_timeout=120")
    elif flavour in ("debug", "smp-kasan", "smp-kcsan"):
        # ticks are 10 ms long, and a grace period takes some: half of some tests' time;
        # and the sooner something is freed, the sooner its late use is seen
        words.append("rcupdate.rcu_expedited=1")
    return words + append.split()


def memory_dir(megabytes, otherwise):
    """
    It keeps its memory in a file: in memory too, if there is room, and if code may run
    from there.
    """
    try:
        shm = os.statvfs("/dev/shm")
    except OSError:
        return otherwise
    room = shm.f_bavail * shm.f_frsize >> 20
    return "/dev/shm" if room > megabytes + 100 and not shm.f_flag & os.ST_NOEXEC else otherwise


def stop_uml(process):
    """
    It does not take SIGTERM well. Killed, it leaves processes of its own behind that keep
    the script's output open: it has made itself the leader of their process group.
    """
    if process.poll() is None:
        process.kill()
        process.wait()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_status(status, is_late):
    """What the script returned, 124 if the time was over, 1 for a kernel that died."""
    if status is not None:
        return status
    return TIMEOUT if is_late else 1


class UserModeLinux(Machine):
    def __init__(self, options):
        self.kernel = kernel_name(options.flavour)
        super().__init__(options, self.kernel)
        self.mem = options.mem or (1536 if options.guest else 768)
        self.root = self.log / "root"
        # its pid is in pid there, for tools/bench/profiling.py
        self.umid = f"kvnet-{os.getpid()}"
        self.root.mkdir(exist_ok=True)

    def prepare(self):
        if not os.environ.get("UML_AS_BUILT"):
            rig.run(rig.TOP / "scripts/uml/build.sh", self.kernel)
        tree = Tree(self.tree)
        tree.add_module(self.kernel)
        tree.add_uapi_tests()
        if self.options.guest:
            self.add_guest(tree)
        for item in self.options.add:
            tree.add(item)
        tree.write_script(self.options.script)
        tree.write_env([("VM_ACCEL", "uml"), ("GUEST_ACCEL", "tcg,tb-size=64"),
                        *self.options.env])

    def add_guest(self, tree):
        """
        What selftests/net/lib.sh finds in the test host as /opt/qemu-VERSION, /guest-kernel
        and /guest.cpio, which are links that scripts/uml/run makes, and guest-overlay.cpio.
        """
        if not rig.is_made(f"kernel-{GUEST_SERIES}"):
            rig.run(rig.TOP / "scripts/setup.sh", GUEST_SERIES)
        if not rig.is_made(f"guest-{GUEST_SERIES}"):
            rig.run(rig.TOP / "scripts/mkimage.sh", "--guests")
        rig.build_net_tools()
        kvnet, guest = tree.kvnet, rig.BUILD / f"guest-{GUEST_SERIES}"
        rig.run("cp", guest / "kernel", guest / "guest.cpio", kvnet)
        install_net_tools(kvnet / "guest/usr/bin")
        tree.add_guest_tools()
        old = kvnet / "opt/qemu-7.2"
        (old / "bin").mkdir(parents=True)
        (old / "bin/qemu-system-x86_64").symlink_to("/usr/bin/qemu-system-x86_64")
        (old / "share").symlink_to("/usr/share/qemu")
        qemu, new = rig.BUILD / "qemu10/usr", kvnet / "opt/qemu-10.0"
        if os.access(qemu / "bin/qemu-system-x86_64", os.X_OK):
            rig.run("install", "-D", "-t", new / "bin", qemu / "bin/qemu-system-x86_64")
            roms = [qemu / f"share/qemu/{name}.bin" for name in ROMS]
            rig.run("install", "-D", "-m", "644", "-t", new / "share", *roms,
                    "/usr/share/seabios/bios-256k.bin")

    def command(self, cpus):
        return ["taskset", "-c", ",".join(map(str, cpus)), f"{rig.BUILD}/{self.kernel}/linux",
                f"mem={self.mem}M", f"umid={self.umid}", "uml_dir=/tmp/",
                "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
                f"init={rig.TOP}/scripts/uml/init",
                "con=null", "con0=null,fd:2", "con1=null,fd:1", "ssl=null",
                "loglevel=7", "panic=-1",
                *kernel_words(self.options.flavour, self.options.guest, self.options.append),
                "--", f"{self.tree}/kvnet", f"{rig.BUILD}/{self.kernel}/root", f"{self.root}"]

    def run(self):
        cpu, self.cpu_lock = rig.take_cpu()
        cpus = [cpu]
        if self.options.flavour.startswith("smp"):
            cpus = sorted(os.sched_getaffinity(0))[:2]
        environment = {**os.environ, "TMPDIR": str(memory_dir(self.mem, self.log))}
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        began = time.monotonic()
        with open(self.console, "wb") as console:
            process = rig.start(*self.command(cpus), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=console, env=environment)
            follow(process, Output(self.output), Limits(self.options.timeout), stop_uml)
        return run_status(status_in(self.output), time.monotonic() - began >= self.options.timeout)

    def clean(self):
        super().clean()
        shutil.rmtree(f"/tmp/{self.umid}", ignore_errors=True)
        self.root.rmdir()

    def explain(self, status):
        if status == TIMEOUT:
            rig.say(f"not finished within {self.options.timeout} seconds; see {self.log}")
        elif status_in(self.output) is None:
            rig.say(f"User-Mode Linux died; the end of {self.console}:")
            rig.status_of("tail", "-n", "30", self.console, stdout=sys.stderr)
