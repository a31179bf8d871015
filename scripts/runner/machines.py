# SPDX-License-Identifier: GPL-2.0
"""
Runs tests in User-Mode Linux and in test hosts, by the command lines of scripts/uml.sh and
scripts/vm.sh.
"""
import os
import re

import plan
from needs import TOP

SCRIPTS = os.path.join(TOP, "scripts")
UAPI = f"{SCRIPTS}/vm/uapi.sh"
BOTH = f"{SCRIPTS}/vm/all.sh"
NET = f"{TOP}/selftests/net/run.sh"

# kernels of a test host that look for bugs, and run no guests
DEBUG_HOSTS = ("kasan", "kcsan", "kmsan")
# What is freed sooner is found sooner; and an access is watched for up to a millisecond, since
# the other CPU, which is emulated, gets nowhere within KCSAN's 80 us. The 256 MB where PCI's
# configuration is would get a shadow from KMSAN, for minutes.
DEBUG_WORDS = ("pci=nommconf rcupdate.rcu_expedited=1 kcsan.udelay_task=1000"
               " kcsan.udelay_interrupt=200 kcsan.skip_watch=4000")

# the caller's options that tests take from the environment
ROUNDS = ("KSFT_SEED", "KSFT_LONG", "LIFE_CYCLES")
WAYS = ("BACKEND", "KVNET_PARAMS", "KVNET_LAYOUT", "KVNET_WORKER", "SYSFUZZ_SECONDS",
        "SHORTCUT_SECONDS", "SHORTCUT_SEED")
UAPI_OPTIONS = ROUNDS + WAYS + ("KSFT_SLOW",)
HOST_OPTIONS = ROUNDS + WAYS + ("QEMU", "STREAM_BYTES", "SHORT")
GUEST_OPTIONS = ("BACKEND", "KVNET_PARAMS", "MIGRATE_CHAIN", "KERNEL_TESTS")

# what net tests want beyond the usual: the script that makes a tree for the test host
TREES = {"dpdk": ("vmm-dpdk", "mkvmm.sh", "dpdk"),
         "libvirt": ("vmm-libvirt", "mkvmm.sh", "libvirt"),
         "qemu": ("vmm-qemu", "mkqemu.sh"),
         "trace": ("vmm-tracers", "mkvmm.sh", "tracers")}


def option(name, otherwise=""):
    return os.environ.get(name) or otherwise


def choose(name, there):
    """What the caller's option names of these; all if it names none."""
    chosen = option(name).split()
    plan.known(f"unknown {name}", chosen, there)
    return chosen or list(there)


def options(names, **more):
    """--env for those that the caller has set, and more."""
    values = {name: option(name) for name in names} | more
    return [word for name in values if values[name] for word in ("--env", f"{name}={values[name]}")]


def library(call, *words):
    """A command that is a function of lib.sh; the words are "$@" in it."""
    return ["bash", "-euo", "pipefail", "-c", f". {SCRIPTS}/lib.sh; {call}", "runner", *words]


def files_done(path):
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().count(": all of it took ")


class Machines:
    def __init__(self, run, first):
        self.build, self.log, self.results, self.first = run.build, run.log, run.results, first

    def start(self, lane, name, command, files):
        """One machine, which runs this many test files; returns what it said."""
        tap, output = f"{self.log}/{name}.tap", f"{self.log}/{name}/output.log"
        script = command.index("--")
        command = command[:script] + ["--name", name, "--output", tap] + command[script:]
        lane.say(f"{name}: starting")
        if os.path.exists(tap):
            os.unlink(tap)
        if lane.name:
            # its tests are in the log of the lane, which is shown later
            with lane.watch(f"{name}: test files", files, lambda: files_done(output), 60):
                status = lane.call(command)
        else:
            status = lane.call(command)
        text = self.results.count(lane, tap, name, name, status)
        if not lane.name:
            self.results.show_times(lane, name, text)
        lane.say(f"{name}: ended")
        return text

    ### User-Mode Linux

    def uml(self, lane, name, words, script, arguments, timeout=1200):
        command = [f"{SCRIPTS}/uml.sh", "--timeout", timeout, *words, "--", script, *arguments]
        self.start(lane, name, command, len(arguments))

    def uapi_uml(self, lane, entries, flavour="", **env):
        words = [f"--{flavour or 'debug'}",
                 *options(UAPI_OPTIONS, UAPI_TIMEOUT=option("RUN_SECONDS"), **env)]
        timeout = option("RUN_SECONDS", "3600")
        self.uml(lane, f"uapi-{flavour or 'uml'}", words, UAPI, entries, timeout)

    def uapi_uml_as(self, lane, name, entries, *words):
        self.uml(lane, f"uapi-uml-{name}", [*words, *options(ROUNDS)], UAPI, entries)

    def uapi_uml_failing(self, lane, entries, flavour="", *words):
        """With a module whose calls fail."""
        end = f"-{flavour}" if flavour else ""
        module = f"{self.build}/failing-uml{end}/drivers/kvnet/kvnet.ko"
        words = [f"--{flavour or 'debug'}", "--add", module, *words]
        self.uapi_uml_as(lane, f"failing{end}", entries, *words)

    def net_uml(self, lane, names):
        """With real guests. QEMU 7.2 cannot migrate one whose CPU it emulates: test_migrate.sh."""
        if not os.access(f"{self.build}/qemu10/usr/bin/qemu-system-x86_64", os.X_OK):
            self.results.skip(lane, "net-uml", " ".join(names), "QEMU 10.0 cannot be had here")
            return
        words = ["--guest", *options(GUEST_OPTIONS, QEMU="10.0", MIGRATE_LOAD="50")]
        if {"kernel", "tap"} & set(names):
            words += self.kernel_tests(lane)
        self.uml(lane, "net-uml", words, NET, names, 4800)

    def kernel_tests(self, lane):
        """The kernel's own, and a guest with a kernel of their release; test_kernel.sh and
        test_tap.sh say what could not be had."""
        lane.call([f"{SCRIPTS}/setup.sh", "--kernel-tests"])
        lane.call([f"{SCRIPTS}/mkimage.sh", "--guests"])
        places = {"kernel-tests": "kernel-tests", "guest-newest": "guests/newest"}
        return ["--add", f"{TOP}/tools/qemu-kvnet:tools/qemu-kvnet", *[
            word for name, place in places.items() if os.path.exists(f"{self.build}/{name}")
            for word in ("--add", f"{self.build}/{name}:{place}")]]

    ### test hosts

    def host(self, lane, series, name, script, arguments, uapi=(), net=(), mem="", nodes="", **env):
        """uapi and net: those that run there."""
        words = ["--kernel", series, "--timeout", option("RUN_SECONDS", "3600"), "--disk", 2048,
                 "--mem", mem or option("HOST_MB", "3072"),
                 "--nodes", nodes or option("NODES", "1"), "--append", option("HOST_APPEND")]
        if series == "6.1":
            env["SHORT"] = "1"
        if series in DEBUG_HOSTS:
            # what looks at each access, on an emulated CPU, takes its time; at all memory, 20 s
            env |= {"KSFT_SLOW": option("KSFT_SLOW", "20"), "KSFT_LEAKS": "end"}
            words += ["--append", DEBUG_WORDS]
        words += options(HOST_OPTIONS, UAPI_TIMEOUT=option("RUN_SECONDS"), **env)
        words += self.extras(lane, {test.partition(":")[0] for test in net})
        # tier one has it under AddressSanitizer only
        if not self.first:
            self.build_kvnetctl(lane)
            words += ["--add", f"{self.build}/tools/kvnetctl"]
        text = self.start(lane, name, [f"{SCRIPTS}/vm.sh", *words, "--", script, *arguments],
                          len(uapi) + len(net))
        # what kvnetctl has printed as JSON: selftests/net/test_kvnetctl.sh
        if re.search("^# json ", text, re.M):
            fits = ["python3", "-B", f"{TOP}/selftests/kvnetctl/fits.py", f"{self.log}/{name}.tap"]
            lane.step("JSON of kvnetctl fits its schema", fits)

    def build_kvnetctl(self, lane):
        """Its libmnl is there for ip(8)."""
        lane.need(library('locked tools make -s -C "$@"', f"{TOP}/tools/kvnetctl",
                          f"OUTPUT={self.build}/tools"))

    def extras(self, lane, net):
        """Trees of VMMs and tracers, guests with other kernels. What cannot be had is left out, and
        its test says so."""
        words = []
        for test, (tree, script, *arguments) in TREES.items():
            if test in net and not lane.call([f"{SCRIPTS}/{script}", *arguments]):
                words += ["--tree", f"{self.build}/{tree}"]
                if test == "trace":
                    words += ["--add", f"{TOP}/Documentation/debugging.rst",
                              "--add", f"{TOP}/tools/trace:/kvnet/tools/trace"]
        if "tap" in net and not lane.call([f"{SCRIPTS}/setup.sh", "--kernel-tests"]):
            for name in "tun", "tap":
                file = f"kernel-tests/tools/testing/selftests/net/{name}"
                words += ["--add", f"{self.build}/{file}:/kvnet/{file}"]
        return words + (["--guests"] if "guests" in net else [])

    def both_in_host(self, lane, host, tests, **how):
        """Of "first" and "all": uapi tests, then net tests."""
        uapi, net = tests
        if uapi or net:
            how["UAPI"] = " ".join(uapi)
            self.host(lane, host.removesuffix("-net"), f"test-{host}", BOTH, net, uapi, net, **how)
