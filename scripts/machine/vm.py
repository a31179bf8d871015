# SPDX-License-Identifier: GPL-2.0
"""The test host: a VM of QEMU."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import rig
from follow import TIMEOUT, Limits, Machine, Output, follow, status_in
from options import Parser
from tree import Tree, archive, install_net_tools

USAGE = """\
scripts/vm.sh [options] -- script.sh [arguments]
       scripts/vm.sh [options] --shell"""

ABOUT = """\
Boots the test host, a VM in which the module may be loaded, and runs one script in it as
root (bash), or with --shell a shell. Returns the script's status, 124 when its time is
over, 125 for a fault of the rig, 99 for a bad kernel message."""

AFTER = """\
In the test host: /kvnet/kvnet.ko (if scripts/build-module.sh built it for that kernel),
/kvnet/scripts and /kvnet/selftests/net (a script of this repository runs from there),
/kvnet/tools/qemu-kvnet, /kvnet/uapi/* (if built under build/uapi; not with --icount), QEMUs
under /opt/qemu-7.2 and /opt/qemu-10.0, modules by modprobe. Guests are started with the
functions of selftests/net/lib.sh.

Hardware virtualization is used when the CPU has it and a boot shows that it works;
otherwise QEMU emulates a CPU with SVM. An "Oops: int3" of the test host under emulation,
or one that does not boot, is a fault of the rig: the run is repeated (--retries).
Afterwards scripts/dmesg-verdict.sh reads the kernel log: a BUG, WARN and the like in it
fails the run, whatever the script said."""

# as in scripts/lib.sh: SERIES_ALL, newest, DEBUG_ALL
SERIES = ("6.12", "6.1", "newest", "kasan", "kcsan", "kmsan")
BOOT_SECONDS = 300
RIG_FAULT = 125

# Without cmpxchg16b, whose emulation leaves wrong flags behind for one instruction; an
# interrupt there ends in a double fault.
EMULATED_CPU = "EPYC,-cx16"


def parser():
    options = Parser("vm", USAGE, ABOUT, AFTER)
    add = options.add_argument
    add("--shell", action="store_true", help="a shell in the place of a script")
    add("--kernel", default="6.12", choices=SERIES, metavar="SERIES",
        help="6.12 (default), 6.1, newest, or one that looks for bugs and runs no guests, kasan, "
        "kcsan or kmsan; prepared by itself when needed")
    add("--stall", type=int, default=0, metavar="SECONDS",
        help="end it when the script says nothing for so long")
    add("--retries", type=int, default=2, metavar="N", help="after a fault of the rig (default 2)")
    add("--mem", type=int, default=3072, metavar="MB", help="memory (default 3072)")
    add("--smp", type=int, default=2, metavar="N", help="CPUs (default 2)")
    add("--nodes", type=int, default=1, metavar="N",
        help="NUMA nodes of it, with as much memory and a CPU each (default 1)")
    add("--system", default="", metavar="DIR",
        help="in the place of the test host a system of its own, made by scripts/mksystem.sh: "
        "DIR has kernel, boot.cpio and disk, which stays as it is")
    add("--disk", type=int, default=0, metavar="MB",
        help='an empty disk, /dev/vda after "modprobe virtio_blk"')
    add("--qemu", choices=("10.0", "7.2"),
        help="QEMU that runs the test host (default: 10.0 if present)")
    add("--tree", action="append", default=[], metavar="DIR",
        help="merge a directory into the test host's root; may be repeated")
    add("--guests", action="store_true",
        help="add guests with the other kernels, as /kvnet/guests/X/")
    add("--accel", choices=("kvm", "tcg"),
        help="with hardware virtualization, or fail; or with an emulated CPU")
    add("--icount", default="", metavar="SEED",
        help="virtual time: the same seed gives the same figures")
    add("--count", default="", metavar="FILE",
        help="with --icount: into FILE how often each piece of the kernel's code runs, see "
        "vm/count.c; needs QEMU 10.0")
    return options


def need_cache_entry(name, *setup):
    if not rig.is_made(name):
        rig.run(rig.TOP / "scripts/setup.sh", *setup)


### QEMU

def find_qemu(wanted):
    qemu = rig.BUILD / "qemu10/usr/bin/qemu-system-x86_64"
    if wanted != "7.2" and os.access(qemu, os.X_OK):
        return [str(qemu), "-L", f"{rig.BUILD}/qemu10/usr/share/qemu", "-L", "/usr/share/seabios"]
    if wanted == "10.0":
        rig.die("QEMU 10.0 is not under build/; run scripts/setup.sh or use --qemu 7.2")
    return ["qemu-system-x86_64"]


def repair_qemu(command):
    """
    An emulated test host's guests need a QEMU without a fault of its emulated SVM; where
    the copy cannot be made, the run may hang, and goes on without.
    """
    found = shutil.which(command[0])
    if not found:
        return command
    fixer = rig.TOP / "scripts/vm/fix-qemu.py"
    name = f"qemu-kvnet-{hashlib.sha256(fixer.read_bytes()).hexdigest()[:12]}"
    # beside its modules and data, which it looks for from where it is
    copy = Path(found).with_name(name)
    more = []
    if not found.startswith(f"{rig.BUILD}/"):
        copy = rig.BUILD / name
        more = ["-L", "/usr/share/qemu", "-L", "/usr/share/seabios"]
        os.environ["QEMU_MODULE_DIR"] = "/usr/lib/x86_64-linux-gnu/qemu"
    if not rig.is_newer(copy, Path(found)) and rig.status_of("python3", fixer, found, copy):
        return command + more
    return [str(copy), *command[1:], *more]


def has_virtualization():
    """What the test host on KVM needs; that it boots there is still to be found out."""
    known = rig.CACHE / "accel"
    if known.is_file() and known.read_text(encoding="ascii").strip() == "tcg":
        return False
    cpu = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return re.search(r"^flags.* (vmx|svm)( |$)", cpu, re.M) and os.access("/dev/kvm", os.W_OK)


def find_accel(options):
    """Hardware virtualization: the CPU's flag, and a nested boot that really works."""
    if options.icount or options.accel == "tcg" or not has_virtualization():
        return "tcg"
    known = rig.CACHE / "accel"
    if not known.is_file() and os.environ.get("KVNET_PROBE"):
        return "kvm"
    with rig.hold(rig.CACHE / "locks/accel"):
        if not known.is_file():
            works = probe_kvm(options.kernel)
            known.write_text("kvm\n" if works else "tcg\n", encoding="ascii")
            if not works:
                rig.info("no test host with hardware virtualization boots "
                         f"({rig.BUILD}/log/probe): emulating; to try again: rm {known}")
    return known.read_text(encoding="ascii").strip()


def probe_kvm(kernel):
    script = rig.BUILD / "probe.sh"
    script.write_text('grep -qE "^flags.* (vmx|svm)( |$)" /proc/cpuinfo && [ -e /dev/kvm ]\n',
                      encoding="ascii")
    command = [rig.TOP / "scripts/vm.sh", "--kernel", kernel, "--timeout", 60, "--retries", 0,
               "--name", "probe", "--", script]
    return rig.status_of(*command, env={**os.environ, "KVNET_PROBE": "1"},
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def tsc_words():
    """
    The emulated time stamp counter is this machine's; on a busy one the test host cannot
    find out how fast it is.
    """
    tool, source = rig.BUILD / "tsc-khz", rig.TOP / "scripts/vm/tsc-khz.c"
    if not rig.is_newer(tool, source):
        new = f"{tool}.{os.getpid()}"
        if rig.status_of("gcc", "-O2", "-o", new, source):
            return []
        os.rename(new, tool)
    return [f"tsc_early_khz={subprocess.check_output([tool], text=True).strip()}"]


def kernel_words(options, accel):
    words = "console=ttyS0 panic=-1 loglevel=7 mitigations=off tsc=reliable".split()
    if options.icount:
        words.append("nokaslr")
    elif accel == "tcg":
        words += tsc_words()
    return " ".join([*words, options.append])


def accel_arguments(options, accel):
    if options.icount:
        return ["-accel", "tcg,thread=single", "-cpu", EMULATED_CPU, "-icount", "shift=1,sleep=off",
                "-seed", options.icount, "-rtc", "base=2026-01-01,clock=vm"]
    if accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", EMULATED_CPU]


def node_arguments(smp, mem, nodes):
    """
    The last node has the CPUs that are left, too; none shares its cache with another
    node's.
    """
    if nodes <= 1:
        return ["-smp", str(smp)]
    words = ["-smp", f"{smp},sockets={smp}"]
    last = nodes - 1
    for node in range(nodes):
        size = mem // nodes if node < last else mem - last * (mem // nodes)
        cpus = node if node < last else f"{last}-{smp - 1}"
        words += ["-object", f"memory-backend-ram,id=node{node},size={size}M",
                  "-numa", f"node,cpus={cpus},memdev=node{node}"]
    return words


def disk_arguments(options, log):
    words = []
    if options.system:
        words += ["-drive", f"file={options.system}/disk,format=raw,if=virtio,snapshot=on"]
    if options.disk > 0:
        disk = log / "disk"
        disk.unlink(missing_ok=True)
        disk.touch()
        os.truncate(disk, options.disk << 20)
        words += ["-drive", f"file={disk},format=raw,if=virtio,cache=unsafe"]
    return words


def count_arguments(options, qemu):
    if not options.count:
        return []
    if not options.icount or not qemu.startswith(f"{rig.BUILD}/qemu10/"):
        rig.die("--count needs --icount and QEMU 10.0")
    plugin, source = rig.BUILD / "count.so", rig.TOP / "scripts/vm/count.c"
    if not rig.is_newer(plugin, source):
        rig.run("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                "-fvisibility=hidden", "-o", plugin, source)
    return ["-plugin", f"{plugin},out={options.count}"]


def root_image(image):
    """The image has one, unless it boots from a disk or from its initramfs alone."""
    file = Path(image) / "root.img"
    return file if file.exists() else None


def memory_arguments(options, root):
    """The root is an NVDIMM, read only: all test hosts share this machine's page cache of it."""
    words = ["-M", "q35", "-m", str(options.mem)]
    if root:
        size = root.stat().st_size >> 20
        words = ["-M", "q35,nvdimm=on", "-m", f"{options.mem},slots=1,maxmem={options.mem + size}M",
                 "-object", f"memory-backend-file,id=root,share=on,readonly=on,mem-path={root},"
                 f"size={size}M", "-device", "nvdimm,memdev=root,unarmed=on"]
    return words + node_arguments(options.smp, options.mem, options.nodes)


def machine_arguments(options, image, log, accel):
    """All but the program, and what is made for this run."""
    return ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            *memory_arguments(options, root_image(image)),
            *accel_arguments(options, accel),
            "-kernel", f"{image}/kernel", "-initrd", f"{log}/initrd",
            "-chardev", f"file,id=console,path={log}/console.log", "-serial", "chardev:console",
            "-chardev", "stdio,id=script,signal=on", "-serial", "chardev:script"]


def stop_qemu(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


### what becomes of an attempt

def attempt_status(log, accel, shell):
    """The script's, 124 after its time was over, or 125 for a fault of the rig."""
    status = status_in(log / "output.log")
    console = (log / "console.log").read_bytes()
    if accel == "tcg" and b"Oops: int3" in console:
        return RIG_FAULT
    if status is not None:
        return status
    if not shell and not re.search(rb"^@@vm-up", (log / "output.log").read_bytes(), re.M):
        return RIG_FAULT
    if re.search(rb"Kernel panic|Oops|BUG:", console):
        return 1
    return TIMEOUT


def show_oops(console):
    lines = console.read_bytes().split(b"\n")
    for at, line in enumerate(lines):
        if b"Oops: int3" in line:
            sys.stderr.buffer.write(b"\n".join(lines[at:at + 4]) + b"\n")
            break


class TestHost(Machine):
    def __init__(self, options):
        super().__init__(options, options.kernel)

    def prepare(self):
        options = self.options
        self.image = options.system or self.prepare_image()
        if options.guests:
            self.add_guests()
        rig.build_net_tools()
        tools = rig.BUILD / "net-tools"
        rig.run_locked("net-tools", "make", "-s", "-C", rig.TOP / "selftests/perf",
                       f"OUTPUT={tools}", tools / "rr", tools / "tally")
        qemu = find_qemu(options.qemu)
        self.accel = find_accel(options)
        if options.accel == "kvm" and self.accel != "kvm":
            rig.die("there is no hardware virtualization here that works")
        if self.accel == "tcg":
            qemu = repair_qemu(qemu)
        self.command = [*qemu, *machine_arguments(options, self.image, self.log, self.accel),
                        *disk_arguments(options, self.log), *count_arguments(options, qemu[0]),
                        "-append", kernel_words(options, self.accel)]
        self.write_initrd()

    def prepare_image(self):
        kernel = self.options.kernel
        need_cache_entry(f"kernel-{kernel}", kernel)
        rig.run(rig.TOP / "scripts/mkimage.sh", kernel)
        return rig.BUILD / f"image-{kernel}"

    def add_guests(self):
        """The guest with the test host's own kernel is there anyway."""
        need_cache_entry("kernel-newest", "--guests")
        rig.run(rig.TOP / "scripts/mkimage.sh", "--guests")
        for guest in sorted(rig.BUILD.glob("guest-*")):
            series = guest.name.removeprefix("guest-")
            if series != self.options.kernel:
                self.options.add.append(f"{guest}:/kvnet/guests/{series}")

    def write_initrd(self):
        """
        The image's, and what changes from run to run as a second archive: below /added, or for
        the root.
        """
        options = self.options
        tree = Tree(self.tree / "added")
        rig.run("install", "-D", "-t", tree.kvnet / "tools", rig.TOP / "tools/qemu-kvnet")
        install_net_tools(tree.root / "usr/bin")
        if not options.system:
            tree.add_module(options.kernel)
        # not in virtual time: with other files it is another run
        if not options.icount:
            tree.add_uapi_tests()
        for item in options.add:
            tree.add(item)
        for directory in options.tree:
            tree.merge(directory)
        if options.shell:
            (tree.kvnet / "shell").touch(mode=0o755)
        else:
            tree.write_script(options.script)
        tree.write_env([("VM_ACCEL", self.accel), *options.env])
        tree.add_guest_tools()
        overlay = self.log / "overlay.cpio"
        archive(self.tree if root_image(self.image) else tree.root, overlay)
        with open(self.log / "initrd", "wb") as initrd:
            rig.run("cat", f"{self.image}/boot.cpio", overlay, stdout=initrd)
        shutil.rmtree(self.tree)
        overlay.unlink()

    def run_once(self):
        options = self.options
        self.console.write_bytes(b"")
        limits = Limits(options.timeout)
        if not options.shell:
            limits = Limits(options.timeout, BOOT_SECONDS, options.stall)
        with open(self.log / "qemu.log", "wb") as errors:
            process = rig.start(*self.command, stdin=None if options.shell else subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=errors)
            follow(process, Output(self.output, options.shell), limits, stop_qemu)
        return attempt_status(self.log, self.accel, options.shell)

    def run(self):
        attempts = self.options.retries + 1
        for attempt in range(1, attempts + 1):
            status = self.run_once()
            if status != RIG_FAULT:
                return status
            shutil.copy(self.console, self.log / f"console-fault-{attempt}.log")
            rig.say("fault of the rig (the test host did not boot, or the emulator's int3 hazard); "
                    f"attempt {attempt} of {attempts}")
            show_oops(self.console)
        return RIG_FAULT

    def clean(self):
        super().clean()
        for name in ("initrd", "overlay.cpio", "disk"):
            (self.log / name).unlink(missing_ok=True)

    def explain(self, status):
        if status == RIG_FAULT:
            rig.say(f"the rig failed {self.options.retries + 1} times; see {self.log}")
        elif status == TIMEOUT:
            rig.say(f"the test host did not finish within {self.options.timeout} seconds or fell "
                    f"silent; see {self.log}")
