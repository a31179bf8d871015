# SPDX-License-Identifier: GPL-2.0
"""
What each verb does: packages, builds, and then tests, in lanes.
"""
import os
import random
import re
import shutil
import tempfile

import lanes
import machines
from machines import NET, SCRIPTS, UAPI, library, option
from needs import TOP

SERIES = ("6.12", "6.1")
SMP = "smp-kasan"
# memory in MB for two test hosts and User-Mode Linux at the same time
LANES_MB = 8000
# what a checkout needs to build a module and to run User-Mode Linux
CHECKOUT = ("Kbuild", "drivers", "include", "scripts", "selftests/lib", "selftests/net",
            "selftests/perf/floor")
# rows of the laboratory, one of each kind
ROWS = "pps gso queues rr sender crowd load neighbour bridge notso xdp floor idle".split()
LABORATORY = {"LANE": "native", "UML": "debug", "QUICK": "1", "REPEAT": "1", "BENCH_MS": "20",
              "ONLY": ""}


def script(name, *words):
    return [f"{SCRIPTS}/{name}", *words]


def make(folder, *words):
    return ["make", "-s", "-C", f"{TOP}/{folder}", *words]


def kernel_of_uml(flavour):
    return f"uml-{flavour}" if flavour else "uml"


class Tier:
    """The builds and tests that the verbs are made of. first: is this tier one?"""
    def __init__(self, run, plan, first=False):
        self.run, self.plan, self.first = run, plan, first
        self.results, self.build, self.log = run.results, run.build, run.log
        self.machines = machines.Machines(run, first)
        self.took = f"{self.log}/seconds-of-{run.verb}"

    def say_how_long(self, what):
        """And how long it took here the last time."""
        last = ""
        if os.path.exists(self.took):
            with open(self.took, encoding="utf-8") as file:
                last = f"it took {file.read().strip()} s the last time; "
        seeds = f"KSFT_SEED={option('KSFT_SEED')} UNIT_SEED={option('UNIT_SEED')}"
        self.run.main.say(f"{what}: {last}{seeds}")

    def note_seconds(self):
        with open(self.took, "w", encoding="utf-8") as file:
            print(lanes.elapsed(), file=file)

    def lanes(self, *now, later=()):
        lanes.Lanes(self.run).together(now, later)

    ### builds

    def build_uapi(self, lane, names=()):
        """names: not all of them. Where they run there is no debugger."""
        tests = [f"TESTS={' '.join(f'{name}_test' for name in names)}"] if names else []
        command = make("selftests/uapi", "-j", str(os.cpu_count()), "CFLAGS=-O1 -s",
                       f"OUTPUT={self.build}/uapi", *tests)
        return lane.step("uapi tests build", library('locked uapi "$@"', *command))

    def build_net_tools(self, lane):
        """The programs of net tests, in the test host and in the guest."""
        command = make("selftests/net", f"OUTPUT={self.build}/net-tools")
        lane.need(library('locked net-tools "$@"', *command))

    def build_module(self, lane, series):
        lane.step(f"kvnet.ko for {series} builds without a warning (W=1, sparse)",
                  script("build-module.sh", "--sparse", series))

    def build_uml_module(self, lane):
        lane.step("kvnet.ko for User-Mode Linux builds without a warning",
                  script("build-module.sh", "uml"))

    def build_uml(self, lane):
        lane.steps = 4
        if lane.step("User-Mode Linux is there", script("uml/build.sh", "uml")):
            self.build_uml_module(lane)
        lane.step("kvnet.ko for User-Mode Linux with two CPUs",
                  script("build-module.sh", kernel_of_uml(SMP)))
        lane.step("kvnet.ko whose calls can fail, for two CPUs",
                  script("build-module.sh", "--failing", kernel_of_uml(SMP)))

    def have_newest(self):
        return not self.run.main.call(library("is_made kernel-newest && is_made root-newest"))

    def get_newest(self, lane):
        """It needs more than the others, and a network to the backports of the next release:
        without these its tests are skipped. What is there stays as it is."""
        lane.say("the newest kernel, and what builds modules for it")
        lane.call(script("setup.sh", "newest"))
        if not self.have_newest():
            self.results.skip(lane, "test-newest", "the newest kernel", "cannot be had here")
            lane.say("kvnet.ko for newest: skipped")
            return
        lane.need(script("mkimage.sh", "newest"))
        self.build_module(lane, "newest")

    def build_for_hosts(self, lane):
        lane.steps = 10
        lane.say("kernels and QEMU of the test hosts")
        lane.need(script("setup.sh"))
        lane.say("images of the test hosts and of guests")
        for series in SERIES:
            lane.need(script("mkimage.sh", series))
        lane.say("other VMMs: dpdk, libvirt")
        for name in "dpdk", "libvirt":
            if lane.call(script("mkvmm.sh", name)):
                lane.print(f"# no {name}: its tests will be skipped")
        for series in SERIES:
            self.build_module(lane, series)
        self.get_newest(lane)
        lane.need(script("mkimage.sh", "--guests"))
        lane.say("the kernel's own tests of network drivers")
        lane.call(script("setup.sh", "--kernel-tests"))
        self.build_uapi(lane)
        self.static(lane)

    ### tests that need no machine

    def logged(self, lane, name, argv, env=None):
        """A program with a log of its own: its status, and where the log is."""
        path = f"{self.log}/test-{name}.log"
        with open(path, "w", encoding="utf-8") as out:
            return lane.call(argv, env, out), path

    def show(self, lane, path, wanted=""):
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if re.search(wanted, line):
                    lane.print(line.rstrip())

    def static(self, lane):
        lane.say("static checks")
        status, path = self.logged(lane, "static", script("check.py", "static"))
        self.show(lane, path)
        self.results.count(lane, path, "static", "static checks", status)

    def unit(self, lane, names=()):
        lane.say("unit tests")
        command = make("selftests/unit", "run", f"OUTPUT={self.build}/unit",
                       f"TESTS={' '.join(names)}", f"ONCE={'1' if self.first else ''}")
        with lane.watch("unit tests"):
            status, path = self.logged(lane, "unit", library('locked unit "$@"', *command))
        self.show(lane, path, "^not ok|^# |passed,|^unit:|error|ERROR")
        self.results.count(lane, path, "unit", "unit tests", status)
        if not names:
            self.tools(lane)

    def tools(self, lane):
        """kvnetctl, QEMU's own device, what the scripts share, installing, litmus tests, the quick
        proofs; not in tier one: the other proofs, the model of a queue's run state, the laboratory's
        arithmetic and reports, ten seconds of fuzzing."""
        tests = f"{TOP}/selftests"
        kvnetctl = make("selftests/kvnetctl", "run", f"OUTPUT={self.build}/unit/kvnetctl")
        qemu = make("selftests/qemu", "run", f"OUTPUT={self.build}/unit/qemu")
        parts = {"kvnetctl": library('locked unit "$@"', *kvnetctl), "rig": [f"{tests}/rig/run.sh"],
                 "qemu": library('locked unit "$@"', *qemu),
                 "packages": [f"{tests}/packages/quick.sh"],
                 "models": [f"{tests}/models/run.sh", *(["litmus"] if self.first else [])]}
        if lane.call(script("setup.sh", "--proofs")):
            self.results.skip(lane, "proofs", "CBMC", "cannot be had here")
        else:
            parts["proofs"] = ["python3", "-B", f"{tests}/proofs/prove.py",
                               "--quick" if self.first else "--no-mutants"]
        if not self.first:
            parts |= {"bench": script("bench.sh", "test"), "fuzz": script("fuzz.sh")}
        for name, command in parts.items():
            status, path = self.logged(lane, f"tools-{name}", command, {"FUZZ_SECONDS": "10"})
            self.show(lane, path, "" if status else " passed, ")
            # what kvnetctl's parts say is in its last sums
            self.results.count(lane, path, name, name, status, only_last_sums=True)

    ### tests in User-Mode Linux

    def moved(self, lane):
        """A copy of the checkout below /tmp, reached through a link: it finds User-Mode Linux in
        the cache; a module of one file is built there."""
        path = f"{self.log}/moved.log"
        with tempfile.TemporaryDirectory(prefix="kvnet-moved.") as folder, \
                open(path, "w", encoding="utf-8") as out:
            try:
                good = self.try_moved(lane, folder, out)
            except OSError as error:
                print(f"# {error}", file=out)
                good = False
        if not good:
            self.show(lane, path)
        return good

    def try_moved(self, lane, folder, out):
        tree, link = f"{folder}/tree", f"{folder}/link"
        for name in CHECKOUT:
            copy = shutil.copytree if os.path.isdir(f"{TOP}/{name}") else shutil.copy2
            os.makedirs(os.path.dirname(f"{tree}/{name}"), exist_ok=True)
            copy(f"{TOP}/{name}", f"{tree}/{name}")
        os.symlink("tree", link)
        shutil.copytree(f"{self.build}/mod-uml", f"{tree}/build/mod-uml", symlinks=True)
        os.makedirs(f"{tree}/build/uapi")
        shutil.copy2(f"{self.build}/uapi/ioctl_test", f"{tree}/build/uapi/")
        built = os.stat(f"{self.build}/uml/linux")
        module = [f"{link}/scripts/build-module.sh", "--floor", "uml"]
        test = [f"{link}/scripts/uml.sh", "--name", "moved", "--timeout", "300",
                "--", f"{link}/scripts/vm/uapi.sh", "ioctl"]
        for command in module, test:
            if lane.call(["env", "-u", "KVNET_BUILD", *command], out=out):
                return False
        if not os.path.samestat(os.stat(f"{tree}/build/uml/linux"), built):
            print("# User-Mode Linux was built again", file=out)
            return False
        return True

    def installed(self, lane):
        """Some of the uapi tests as they are where they were installed."""
        tests = "ioctl_test loop_test"
        if lane.call(make("selftests", "install", "TARGETS=uapi", f"TESTS={tests}",
                          f"OUTPUT={self.build}", f"INSTALL_PATH={self.build}/ksft")):
            lane.fail("uapi tests can be installed")
            return
        self.machines.uml(lane, "installed-uml", ["--add", f"{self.build}/ksft:ksft"],
                          f"{TOP}/selftests/rig/installed.sh", [], 300)

    def failing(self, lane, names, flavour=""):
        lane.step(f"kvnet.ko whose calls can fail{flavour and ', '}{flavour}",
                  script("build-module.sh", "--failing", kernel_of_uml(flavour)))
        self.machines.uapi_uml_failing(lane, names, flavour)

    def idle(self, lane, names):
        self.machines.uapi_uml_as(lane, "idle", names, "--append", "time-travel")

    def variants(self, names):
        """With those that run again, unless the caller says otherwise."""
        one_way = option("KVNET_LAYOUT") or option("BACKEND", "kvnet") != "kvnet"
        if one_way or os.environ.get("PACKED") in ("", "0"):
            return list(names)
        return self.plan.again(names)

    def laboratory(self, lane):
        """Does it work? Rows in its lane of User-Mode Linux, with the kernel that looks for bugs;
        no figure decides anything."""
        out = f"{self.log}/lab"
        lane.say("laboratory")
        shutil.rmtree(out, ignore_errors=True)
        lane.step("laboratory: rows of every kind", script("bench.sh"), {**LABORATORY, "OUT": out})
        lane.step("laboratory: results, plots and report",
                  ["python3", "-B", f"{TOP}/tools/bench", "check", out, *ROWS])
        lane.step("laboratory: a run does not differ from itself", self.same_results)

    def same_results(self, lane):
        out = f"{self.log}/lab"
        status, path = self.logged(lane, "lab", script("bench.sh", "compare", out, out))
        with open(path, encoding="utf-8") as file:
            # one that compares nothing proves nothing
            same = re.search(r"^([1-9]\d*) of \1 rows: no difference", file.read(), re.M)
        self.show(lane, path, "rows: " if same else "")
        return bool(same) and not status

    def in_uml(self, lane):
        """What of "all" needs no test host."""
        self.unit(lane)
        lane.step("User-Mode Linux runs from a checkout that was moved below /tmp", self.moved)
        self.installed(lane)
        self.machines.uapi_uml(lane, self.variants(self.plan.usual_uapi()))
        self.idle(lane, self.plan.idle())
        self.failing(lane, self.plan.failing())
        self.machines.net_uml(lane, self.plan.net_uml())
        self.laboratory(lane)

    def in_smp(self, lane):
        """On two CPUs, under KASAN and lockdep."""
        self.machines.uapi_uml(lane, self.plan.usual_uapi(), SMP, KSFT_LONG="1/3")
        self.machines.uapi_uml_failing(lane, self.plan.failing_smp(), SMP)

    ### tier one

    def run_first(self):
        main, plan = self.run.main, self.plan.first()
        # what is repeated to meet a race is for "all"
        self.run.default(KSFT_SEED="1", UNIT_SEED="1", KSFT_LONG="1/3")
        os.environ["LIFE_CYCLES"] = "1"
        self.say_how_long("tier one")
        main.say("part 1 of 3: packages")
        main.need(script("setup.sh", "--first"))
        main.say("part 2 of 3: builds")
        # the longest one, with both CPUs for itself; the other mostly waits for the network
        self.lanes(("user-mode-linux", self.first_uml), ("downloads", self.first_downloads))
        self.lanes(("build-uml", self.first_build_uml), ("build-host", self.first_build_host),
                   ("units", self.unit))
        # tests have deadlines: none runs beside a build
        main.say("part 3 of 3: tests")

        def uml(name):
            return lambda lane: self.machines.uapi_uml_as(lane, name, plan[f"uapi-uml-{name}"])

        def host(lane):
            self.machines.both_in_host(lane, "6.12", plan["test-6.12"], SHORT="1",
                                       STREAM_BYTES=1 << 23)

        def failing(lane):
            self.machines.uapi_uml_failing(lane, plan["uapi-uml-failing"], "",
                                           "--append", "time-travel")

        self.lanes(("uml-1", uml("1")), ("uml-2", uml("2")), ("uml-waiting", uml("waiting")),
                   later=[("test-6.12", host), ("uml-failing", failing)])
        self.note_seconds()

    def first_uml(self, lane):
        lane.step("User-Mode Linux is there", script("uml/build.sh", "uml"))

    def first_downloads(self, lane):
        lane.say("kernel and QEMU of the test host")
        lane.need(script("setup.sh", "6.12"))

    def first_build_uml(self, lane):
        lane.steps = 3
        self.build_uml_module(lane)
        lane.step("kvnet.ko whose calls can fail", script("build-module.sh", "--failing", "uml"))
        self.build_uapi(lane)

    def first_build_host(self, lane):
        lane.steps = 3
        self.build_module(lane, "6.12")
        lane.say("images of the test host and its guest")
        lane.need(script("mkimage.sh", "6.12"))
        self.build_net_tools(lane)
        self.static(lane)

    ### all of it

    def run_all(self):
        main = self.run.main
        self.run.default(KSFT_SEED=random.getrandbits(30), UNIT_SEED=random.getrandbits(30))
        self.say_how_long("everything")
        main.say("part 1 of 3: packages")
        main.need(script("setup.sh", "--fuzz"))
        main.say("part 2 of 3: builds")
        self.lanes(("uml-build", self.build_uml), ("builds", self.build_for_hosts))
        # "make life" has them die a thousand times
        os.environ["LIFE_CYCLES"] = "1"
        # tests have deadlines: none runs beside a build
        main.say("part 3 of 3: tests")
        self.build_net_tools(main)
        self.run_machines(self.have_newest())
        self.note_seconds()

    def run_machines(self, newest):
        """User-Mode Linux and a test host, the others where one has ended; two at the same time
        only where there are CPUs for them: see testing.rst. One host after the other where there
        is less memory."""
        def host(name, **how):
            tests = self.plan.host(name, newest)
            return f"test-{name}", lambda lane: self.machines.both_in_host(lane, name, tests, **how)

        jobs = [host("6.12"), host("6.1"), host("newest", mem="2048", nodes="2"),
                host("newest-net", mem="2048"), ("uml-smp", self.in_smp)]

        def one_by_one(lane):
            for _, job in jobs:
                job(lane)

        if free_mb() < LANES_MB:
            self.lanes(("uml", self.in_uml), ("tests", one_by_one))
        else:
            now = 2 if os.cpu_count() >= 4 else 1
            self.lanes(("uml", self.in_uml), *jobs[:now], later=jobs[now:])

    ### verbs with TESTS and KERNEL

    def run_unit(self, names):
        self.run.main.need(script("setup.sh", "--packages-only"))
        self.unit(self.run.main, names)

    def run_uml(self, uapi, net, flavour):
        """uapi and net: those that TESTS names. On two CPUs no guests run, and no time travels."""
        main, tests, named = self.run.main, self.plan.uapi, uapi or net
        failing = [name for name in uapi if tests[name].module == "failing"]
        idle = [name for name in uapi if tests[name].clock and not flavour]
        usual = [name for name in uapi if name not in failing + idle]
        if not named:
            usual = self.plan.usual_uapi()
        if not named and not flavour:
            failing, idle, net = self.plan.failing(), self.plan.idle(), self.plan.net_uml()
        main.need(script("setup.sh", "--packages-only"))
        module = script("build-module.sh", kernel_of_uml(flavour))
        if not main.step("kvnet.ko for User-Mode Linux", module):
            return
        if (usual or idle or failing) and not self.build_uapi(main, uapi):
            return
        if usual:
            self.machines.uapi_uml(main, self.variants(usual), flavour)
        if idle:
            self.idle(main, idle)
        if failing:
            self.failing(main, failing, flavour)
        if net:
            self.machines.net_uml(main, net)

    def run_host(self, kind, names, series):
        main = self.run.main
        main.need(script("setup.sh", series))
        if not main.step(f"kvnet.ko for {series}", script("build-module.sh", series)):
            return
        if kind == "net":
            # what trace wants are programs of 230 MB: only where it is named
            net = names or [name for name in self.plan.net if name != "trace"]
            self.machines.host(main, series, f"net-{series}", NET, names, net=net)
        elif self.build_uapi(main, names):
            entries = self.variants(names or self.plan.usual_uapi())
            self.machines.host(main, series, f"uapi-{series}", UAPI, entries, uapi=entries)

    def run_debug(self, names, kernels):
        """On kernels that look for bugs and have two CPUs, one after the other, since what races
        shall have both: all in User-Mode Linux, then in the test host what may differ there."""
        main = self.run.main
        self.run.default(SYSFUZZ_SECONDS="120", RUN_SECONDS="7200")
        self.build_uapi(main, names)
        for kernel in kernels:
            if kernel in machines.DEBUG_HOSTS:
                main.step(f"the test host's kernel {kernel} is there", script("setup.sh", kernel))
                main.step(f"kvnet.ko for {kernel}", script("build-module.sh", kernel))
            else:
                main.step(f"kvnet.ko for User-Mode Linux, {kernel}",
                          script("build-module.sh", kernel_of_uml(kernel)))
        if main.failed:
            return
        for kernel in kernels:
            if kernel in machines.DEBUG_HOSTS:
                self.debug_host(names or self.plan.debug(kernel), kernel)
                continue
            self.machines.uapi_uml(main, self.variants(names or self.plan.usual_uapi()), kernel)
            if not names:
                self.failing(main, self.plan.failing() + self.plan.failing_smp(), kernel)

    def debug_host(self, names, kernel):
        entries = self.variants(names) if option("PACKED") else names
        self.machines.host(self.run.main, kernel, f"uapi-{kernel}", UAPI, entries, uapi=entries,
                           KSFT_LONG=option("KSFT_LONG", "1/3"))


def free_mb():
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(re.search(r"^MemAvailable: +(\d+)", file.read(), re.M)[1]) // 1024
