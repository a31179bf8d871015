# SPDX-License-Identifier: GPL-2.0
"""kvnetctl as it is called, on a kernel that is not there (fake.h): python3 cli_test.py PROGRAM"""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
import fits

PROGRAM = None


def run(*args, fake="", status=0, env=None, log=None):
    """Output and errors; the status has to be this."""
    env = {**os.environ, "FAKE": fake, "TZ": "UTC", **(env or {})}
    if log:
        env["FAKE_LOG"] = log
    done = subprocess.run([PROGRAM, *args], env=env, capture_output=True, timeout=60, check=False)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == status, f"{args}: status {done.returncode}, wanted {status}: {out}{err}"
    return out, err


@contextlib.contextmanager
def running(*args, env, **pipes):
    """A command that does not end by itself: at last it is killed, also where the test has failed."""
    with subprocess.Popen([PROGRAM, *args], env={**os.environ, **env}, stdout=subprocess.PIPE, text=True, **pipes) as it:
        try:
            yield it
        finally:
            it.kill()


class Json(unittest.TestCase):
    """One schema for what each command prints."""

    def fits(self, name, text):
        self.assertIsNone(fits.problem(name, text), f"{name}: {text}")

    def test_commands(self):
        for name, args in {
                "list": ["list"], "show": ["show"], "stats": ["stats"], "doctor": ["doctor"],
                "rates": ["stats", "-i", "0.02", "-n", "1"], "top": ["top", "-i", "0.02", "-n", "1"],
        }.items():
            with self.subTest(name):
                bad = name == "doctor"
                text, _ = run(*args, "-j", status=1 if bad else 0)
                self.assertEqual(text.count("\n"), 1)
                self.fits(name, text)
                pretty, _ = run(*args, "-p", status=1 if bad else 0)
                self.fits(name, pretty)
                self.assertGreater(pretty.count("\n"), 5)

    def test_lines(self):
        text, _ = run("monitor", "-j", "-n", "6")
        for line in text.splitlines():
            self.fits("monitor", line)
        self.assertEqual([json.loads(line)["event"] for line in text.splitlines()],
                         ["device-added", "workers-started", "queue-started", "queue-broken", "queue-stopped", "device-removed"])

    def test_rates_are_a_document_each(self):
        text, _ = run("stats", "-j", "-i", "0.02", "-n", "3")
        for line in text.splitlines():
            self.fits("rates", line)
        self.assertEqual(text.count("\n"), 3)

    def test_rates_are_per_second(self):
        """Device 1 has 1000 packets more at each look. A slow look makes the time to the next one shorter."""
        start = time.monotonic()
        text, _ = run("stats", "1", "-j", "-i", "1", "-n", "1")
        most = time.monotonic() - start
        queues = json.loads(text)
        self.assertEqual(len(queues), 2)
        for queue in queues:
            self.assertGreaterEqual(queue["pps"], 1000 / most - 0.1)
            self.assertLessEqual(queue["pps"], 1000 / 0.1)

    def test_a_schema_that_fits_anything_is_none(self):
        self.assertIsNotNone(fits.problem("list", '[{"id": 1}]'))
        self.assertIsNotNone(fits.problem("list", "[{"))
        self.assertIsNotNone(fits.problem("no such", "[]"))

    def test_what_is_said_is_the_same_in_text(self):
        value = json.loads(run("show", "1", "-j")[0])[0]
        text = run("show", "1")[0]
        for key in ("cgroup", "netns", "layout"):
            self.assertRegex(text, rf"(?m)^ +{key} +{re.escape(str(value[key]))}$")
        self.assertIn(" ".join(value["features"][:3]), text)


class Text(unittest.TestCase):
    def test_no_control_characters(self):
        for args in (["list"], ["show"], ["stats"], ["monitor", "-n", "6"],
                     ["top", "-b", "-i", "0.02", "-n", "1"]):
            out, err = run(*args)
            self.assertNotRegex(out + err, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", args)

    def test_no_colours_in_a_pipe(self):
        self.assertNotIn("\033", run("list", env={"TERM": "xterm-256color"})[0])

    def test_devices_by_name(self):
        for word in ("1", "tap0", "pid:4001"):
            self.assertIn("device 1: tap0", run("show", word)[0])
        self.assertEqual(run("stats", "tap0", "-j")[0].count('"queue"'), 4)

    def test_short_cut(self):
        """The other tap by name, but for one of another namespace, or that is not there."""
        queues = json.loads(run("show", "1", "-j")[0])[0]["queues"]
        self.assertEqual([(queue["shortcut"], queue["shortcut_ifindex"]) for queue in queues],
                         [(None, None), ("active", 1)])
        for device, fake, shown in (("1", "", "active (to lo)"), ("1", "foreign", "active (to 1)"), ("1", "macvtap", "-"),
                                    ("2", "", "no-bridge"), ("7", "", "-"), ("300", "", "active (to 2000000000)")):
            text = run("show", device, fake=fake)[0]
            self.assertRegex(text, rf"(?m)^ +0 +rx .* - *$", (device, fake))
            self.assertRegex(text, rf"(?m)^ +1 +tx .* {re.escape(shown)} *$", (device, fake))

    def test_zero_counters_are_for_all(self):
        self.assertNotIn("drop_tap", run("stats", "1")[0])
        self.assertIn("drop_tap", run("stats", "1", "-a")[0])
        self.assertIn("drop_tap", run("stats", "300")[0])

    def test_histograms(self):
        text = run("stats", "1")[0]
        self.assertRegex(text, r"(?m)^ +poll_packets +0:2 1:100 4-7:30$")
        self.assertRegex(text, r"(?m)^ +wake_latency_ns +1024-2047:5 2048-4095:6 1073741824-:1$")
        self.assertNotIn("poll_packets", run("stats", "7")[0])
        self.assertRegex(run("stats", "7", "-a")[0], r"(?m)^ +poll_packets +-$")
        value = json.loads(run("stats", "1", "-j")[0])[0]["histograms"]
        self.assertEqual(value["poll_packets"], {"sum": 250, "buckets": [2, 100, 0, 30]})


class Prometheus(unittest.TestCase):
    """The text format: each metric's lines stand together, below its two comments."""

    LINE = re.compile(r'([a-z_:][a-z0-9_:]*)(\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (\d+(?:\.\d+)?)')

    def test_format(self):
        for args in (["--prometheus"], ["stats", "--prometheus"]):
            text, _ = run(*args)
            seen, current, samples = set(), None, set()
            for line in text.split("\n")[:-1]:
                if line.startswith("# HELP "):
                    current = line.split()[2]
                    self.assertNotIn(current, seen)
                    seen.add(current)
                elif line.startswith("# TYPE "):
                    self.assertEqual(line.split()[2], current)
                    kind = line.split()[3]
                    self.assertEqual(kind == "counter", current.endswith("_total"))
                else:
                    match = self.LINE.fullmatch(line)
                    self.assertTrue(match, line)
                    name = re.sub("_(bucket|sum|count)$", "", match[1]) if kind == "histogram" else match[1]
                    self.assertEqual(name, current)
                    self.assertNotIn(match[1] + (match[2] or ""), samples)
                    samples.add(match[1] + (match[2] or ""))
            self.assertIn("kvnet_devices 4\n", text)
            self.assertRegex(text, r'kvnet_queue_packets_total\{device="1",tap="tap0",queue="rx"\} \d+\n')
            self.assertIn('kvnet_queue_from_the_future_total{device="1"', text)
            self.assertIn('kvnet_queue_state{device="7",tap="",queue="tx",state="broken"} 1\n', text)

    def histogram(self, metric):
        """le and value of each bucket, and sum and count, of one queue."""
        labels = 'device="1",tap="tap0",queue="tx"'
        text, _ = run("--prometheus")
        buckets = re.findall(rf'(?m)^{metric}_bucket\{{{labels},le="([^"]*)"\}} (\d+)$', text)
        ends = [re.search(rf'(?m)^{metric}_{part}\{{{labels}\}} (\S+)$', text)[1] for part in ("sum", "count")]
        return [(le, int(n)) for le, n in buckets], *ends

    def test_histogram_of_packets(self):
        buckets, total, count = self.histogram("kvnet_queue_poll_packets")
        self.assertEqual(buckets[:5], [("0", 2), ("1", 102), ("3", 102), ("7", 132), ("15", 132)])
        self.assertEqual(buckets[-2:], [("511", 132), ("+Inf", 132)])
        self.assertEqual((total, count), ("250", "132"))

    def test_histogram_of_time_is_in_seconds(self):
        buckets, total, count = self.histogram("kvnet_queue_wake_latency_seconds")
        self.assertEqual(buckets[:3], [("1.023e-06", 0), ("2.047e-06", 5), ("4.095e-06", 11)])
        # the last bucket of the module's has no end
        self.assertEqual(buckets[-2:], [("1.073741823", 11), ("+Inf", 12)])
        self.assertEqual((total, count), ("5.000020000", "12"))


class Set(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            self.log = file.name
        self.addCleanup(os.unlink, self.log)

    def logged(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_all_queue_pairs(self):
        run("set", "tap0", "shortcut", "off", "rx-direct", "on", "poll-us", "0", "tx-inline", "off", log=self.log)
        self.assertEqual(self.logged(), [f"{i} poll-us 0 tx-inline off rx-direct on shortcut off" for i in (1, 2)])

    def test_refused_by_one_of_several(self):
        _, err = run("set", "pid:4001", "poll-us", "1001", status=5, log=self.log)
        self.assertEqual(err, "kvnetctl: device 2: too long a spin\n")
        self.assertEqual(self.logged(), ["1 poll-us 1001", "2 poll-us 1001 refused"])

    def test_nothing_is_asked_for_before_all_is_read(self):
        run("set", "tap0", "poll-us", "1", "cpus", "x", status=2, log=self.log)
        self.assertEqual(self.logged(), [])

    def test_kernel_has_its_say(self):
        _, err = run("set", "7", "poll-us", "1", status=1)
        self.assertEqual(err, "kvnetctl: device 7: the device's owner is dead\n")
        self.assertEqual(json.loads(run("show", "7", "-j")[0])[0]["owner"], "dead")

    def rules(self, text):
        with tempfile.NamedTemporaryFile("w", delete=False) as file:
            file.write(text)
        self.addCleanup(os.unlink, file.name)
        return file.name

    def test_rules(self):
        name = self.rules("tap tap0 set poll-us 1\ncommand qemu* set rx-direct on poll-us 0\ntap nobody set poll-us 9\n")
        out, _ = run("rules", "check", name, "-j")
        self.assertIsNone(fits.problem("rules-check", out))
        out, _ = run("rules", "apply", name, "--dry-run", "-j", log=self.log)
        self.assertEqual(self.logged(), [])
        for line in out.splitlines():
            self.assertIsNone(fits.problem("rules", line), line)
            self.assertEqual(json.loads(line)["result"], "would-set")
        out, _ = run("rules", "apply", name, log=self.log)
        self.assertEqual(self.logged(), ["1 poll-us 1 rx-direct on", "2 poll-us 1 rx-direct on"])
        self.assertEqual(out, "".join(f"device {i} tap tap0 result set policy poll-us 1 rx-direct on\n" for i in (1, 2)))

    def test_rules_go_on_after_a_refusal(self):
        name = self.rules("any set poll-us 1200\n")
        out, _ = run("rules", "apply", name, "-j", status=1, log=self.log)
        self.assertEqual(self.logged(), ["1 poll-us 1200", "2 poll-us 1200 refused", "300 poll-us 1200"])
        self.assertEqual([json.loads(line)["result"] for line in out.splitlines()], ["set", "failed", "set"])
        for line in out.splitlines():
            self.assertIsNone(fits.problem("rules", line), line)

    def test_wrong_rules_apply_nothing(self):
        name = self.rules("any set poll-us 1\nany set\n")
        for verb in ("check", "apply", "run"):
            _, err = run("rules", verb, name, status=2, log=self.log)
            self.assertEqual(err, f"{name}:2: nothing is set\n"
                             f"kvnetctl: rules: 1 line of {name} wrong; nothing is applied\n")
        self.assertEqual(self.logged(), [])

    def test_rules_run(self):
        """Devices that are there, then the events; a reload; the end."""
        name = self.rules("tap b* set poll-us 2\n")
        env = {"FAKE": "", "FAKE_LOG": self.log}
        with running("rules", "run", name, env=env, stderr=subprocess.PIPE) as run_it:
            self.assertIn("device 300 ", run_it.stdout.readline())
            # the last event is that it has gone: what comes after a reload is new
            with open(name, "w", encoding="utf-8") as file:
                file.write("tap b* set poll-us 3\n")
            run_it.send_signal(signal.SIGHUP)
            self.assertIn("poll-us 3", run_it.stdout.readline())
            with open(name, "w", encoding="utf-8") as file:
                file.write("wrong\n")
            run_it.send_signal(signal.SIGHUP)
            self.assertIn(":1: 'wrong'", run_it.stderr.readline())
            self.assertIn("1 line", run_it.stderr.readline())
            run_it.terminate()
            self.assertEqual(run_it.wait(30), 0)
        self.assertEqual(self.logged(), ["300 poll-us 2", "300 poll-us 3"])

    def rules_run(self, fake, n, what="300 ", rule="tap b* set poll-us 2"):
        """What is said, and logged, of devices that are there and of events, until this is logged for the n-th time."""
        name = self.rules(rule + "\n")
        env = {"FAKE": fake, "FAKE_LOG": self.log}
        with running("rules", "run", name, env=env) as run_it:
            deadline = time.monotonic() + 30
            while sum(line.startswith(what) for line in self.logged()) < n and time.monotonic() < deadline:
                select.select([], [], [], 0.01)
            run_it.terminate()
            said = run_it.stdout.read().splitlines()
            self.assertEqual(run_it.wait(30), 0)
        return said, self.logged()

    def test_rules_try_again(self):
        """What was refused once is set after something else has happened to the device."""
        said, logged = self.rules_run("once", 2)
        self.assertEqual(logged, ["300 poll-us 2 refused", "300 poll-us 2"])
        self.assertEqual([line.split(" result ")[1].split()[0] for line in said], ["failed", "set"])

    def test_rules_in_a_storm_of_events(self):
        """A VMM causes 3000 events and is refused each time: that is tried a few times, told once, and others get their turn."""
        said, logged = self.rules_run("never", 2, what="1 ", rule="any set poll-us 2")
        self.assertEqual(logged[:3], [f"{i} poll-us 2 refused" for i in (1, 2, 300)])
        self.assertLess(logged.count("300 poll-us 2 refused"), 6)
        self.assertEqual(len(said), 3)

    def test_rules_after_lost_events(self):
        """Whose events were lost is looked for when no more are lost."""
        _, logged = self.rules_run("deaf", 1)
        self.assertEqual(logged, ["300 poll-us 2"])

    def test_rules_and_a_cgroup_that_is_not_told(self):
        """What is too deep to be told does not get what is for others."""
        name = self.rules("cgroup /machine.slice/* set rx-direct on\nany set poll-us 3\n")
        out, _ = run("rules", "apply", name, "-j", fake="deep", status=1, log=self.log)
        self.assertEqual(self.logged(), ["2 poll-us 3 rx-direct on", "300 poll-us 3"])
        said = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line["result"] for line in said], ["failed", "set", "set"])
        self.assertEqual(said[0]["error"], "cgroup path unknown (too long, or outside this cgroup namespace): "
                         "no rule applied")
        for line in out.splitlines():
            self.assertIsNone(fits.problem("rules", line), line)
        # nobody asks for it
        name = self.rules("any set poll-us 4\n")
        run("rules", "apply", name, fake="deep", log=self.log)
        self.assertIn("1 poll-us 4", self.logged())

    def test_a_command_line_that_never_comes(self):
        """A VMM can have the reader of its memory wait: that one goes on without, and no rule is applied."""
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(root + "/proc/4001")
            os.mkfifo(root + "/proc/4001/cmdline")
            with open(root + "/proc/4001/comm", "w", encoding="utf-8") as file:
                file.write("qemu\n")
            env = {"FAKE_ROOT": root}
            for words in (["list"], ["top", "-b", "-n", "1", "-i", "0.02"], ["--prometheus"]):
                self.assertIn("tap0", run(*words, env=env)[0])
            name = self.rules("vm web set nice 3\nany set poll-us 3\n")
            out, _ = run("rules", "apply", name, "-j", status=1, env=env, log=self.log)
        self.assertEqual(self.logged(), ["300 poll-us 3"])
        said = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line["result"] for line in said], ["failed", "failed", "set"])
        self.assertEqual(said[0]["error"], "reading its command line timed out: no rule applied")

    def test_a_foreign_tap(self):
        """Who makes a network namespace has taps of any name: they are told, and known by none."""
        name = self.rules("tap tap0 set poll-us 4\n")
        run("rules", "apply", name, fake="foreign", log=self.log)
        run("set", "tap0", "poll-us", "5", fake="foreign", log=self.log)
        self.assertEqual(self.logged(), ["2 poll-us 4", "2 poll-us 5"])
        self.assertEqual([dev["id"] for dev in json.loads(run("show", "-j", "tap0", fake="foreign")[0])], [2])
        out, _ = run("list", fake="foreign")
        self.assertRegex(out, r"(?m)^ *1 +tap0@4026531841 ")
        self.assertRegex(out, r"(?m)^ *2 +tap0 ")
        self.assertEqual([dev["tap"] for dev in json.loads(run("list", "-j", fake="foreign")[0])][:2], ["tap0", "tap0"])
        for words in (["show"], ["stats"], ["top", "-b", "-n", "1"], ["--prometheus"]):
            out, _ = run(*words, fake="foreign")
            self.assertIn("tap0@4026531841", out, words)

    def test_a_macvtap(self):
        """Its interface is not told: the device is shown without, and known by its id and its owner."""
        name = self.rules("tap * set poll-us 4\ncommand qemu* set poll-us 3\n")
        run("rules", "apply", name, fake="macvtap", log=self.log)
        run("set", "tap0", "poll-us", "5", fake="macvtap", log=self.log)
        run("set", "1", "poll-us", "6", fake="macvtap", log=self.log)
        self.assertEqual(self.logged(), ["1 poll-us 3", "2 poll-us 4", "300 poll-us 4", "2 poll-us 5", "1 poll-us 6"])
        for command in ("list", "show", "stats"):
            text, _ = run(command, "-j", fake="macvtap")
            self.assertIsNone(fits.problem(command, text), text)
            self.assertIsNone(json.loads(text)[0]["tap"])
        self.assertIn('"backend":"macvtap"', run("show", "-j", "1", fake="macvtap")[0])
        for words in (["list"], ["top", "-b", "-n", "1"]):
            self.assertRegex(run(*words, fake="macvtap")[0], r"(?m)^ *1 +- +4001 ")
        self.assertIn('{device="1",tap="",pid="4001",', run("--prometheus", fake="macvtap")[0])


class Place(unittest.TestCase):
    """Where workers run, and how: threads of the test's are the workers, two of device 1 and two of device 2."""

    def setUp(self):
        self.workers = [subprocess.Popen(["sleep", "300"]) for _ in range(4)]  # pylint: disable=consider-using-with
        for worker in self.workers:
            self.addCleanup(worker.wait)
            self.addCleanup(worker.kill)
        self.tids = [worker.pid for worker in self.workers]
        self.cpus = sorted(os.sched_getaffinity(0))
        self.log = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.log)

    def env(self, *tids, **more):
        return {"FAKE_TIDS": ",".join(str(tid) for tid in tids or self.tids), **more}

    def set(self, *words, status=0, fake="", env=None):
        """Errors; the module is asked for nothing."""
        log = self.log + "/log"
        _, err = run("set", *words, status=status, fake=fake, env=env or self.env(), log=log)
        self.assertFalse(os.path.exists(log))
        return err

    def both(self, what):
        """What is said of both workers of device 1."""
        return "kvnetctl: device 1: " + "; ".join(f"worker {i} (TID {self.tids[i]}): {what}" for i in range(2)) + "\n"

    def nodes(self, *lists):
        """A machine whose nodes have these CPUs."""
        for i, cpus in enumerate(lists):
            os.makedirs(f"{self.log}/sys/devices/system/node/node{i}")
            with open(f"{self.log}/sys/devices/system/node/node{i}/cpulist", "w", encoding="utf-8") as file:
                file.write(cpus + "\n")
        return {"FAKE_ROOT": self.log}

    def test_cpus(self):
        last = self.cpus[-1]
        self.set("tap0", "cpus", f"{last},4000-65535")
        for tid in self.tids:
            self.assertEqual(os.sched_getaffinity(tid), {last})
        self.set("tap0", "cpus", "all")
        for tid in self.tids:
            self.assertEqual(os.sched_getaffinity(tid), set(self.cpus))

    def test_cpus_that_there_are_not(self):
        err = self.set("1", "cpus", "60000", status=1)
        self.assertEqual(err, self.both("sched_setaffinity: Invalid argument: no CPU of the list is online and in the worker's cpuset"))
        self.assertEqual(os.sched_getaffinity(self.tids[0]), set(self.cpus))

    def test_nodes(self):
        first, last = self.cpus[0], self.cpus[-1]
        env = self.env(**self.nodes(f"{first},9000", f"{last}"))
        self.set("tap0", "node", "0", env=env)
        self.assertEqual(os.sched_getaffinity(self.tids[3]), {first})
        self.set("tap0", "cpus", "all", "node", "1", env=env)
        self.assertEqual(os.sched_getaffinity(self.tids[3]), {last})
        err = self.set("tap0", "cpus", f"{last + 1}-60000", "node", "1", env=env, status=1)
        self.assertEqual(err, "kvnetctl: device 1: no CPU of the list is on node 1; the devices after it are as they were\n")
        self.set("tap0", "node", "none", env=env)
        self.assertEqual(os.sched_getaffinity(self.tids[3]), set(self.cpus))
        err = self.set("tap0", "node", "7", env=env, status=2)
        self.assertEqual(err, "kvnetctl: set: no NUMA node 7 here\n")

    def test_the_node_of_the_memory(self):
        first, last = self.cpus[0], self.cpus[-1]
        env = self.env(**self.nodes(f"{first}", f"{last}"))
        err = self.set("1", "node", "auto", env=env, status=1)
        self.assertEqual(err, "kvnetctl: device 1: node auto: the NUMA node of the guest's memory is not known yet\n")
        self.set("1", "node", "auto", env={**env, "FAKE_NODE": "1"})
        self.assertEqual(os.sched_getaffinity(self.tids[0]), {last})

    def test_nice_and_class(self):
        tid = self.tids[0]
        self.set("1", "nice", "3")
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, tid), 3)
        self.set("1", "sched", "batch")
        self.assertEqual(os.sched_getscheduler(tid), os.SCHED_BATCH)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, tid), 3)
        err = self.set("1", "rt-priority", "3", status=1)
        self.assertEqual(err, self.both("sched_setscheduler: Invalid argument: rt-priority goes with sched fifo or rr"))
        self.set("1", "sched", "idle", "nice", "5")
        self.assertEqual(os.sched_getscheduler(tid), os.SCHED_IDLE)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, tid), 5)

    def test_real_time(self):
        tid = self.tids[0]
        try:
            os.sched_setscheduler(tid, os.SCHED_FIFO, os.sched_param(1))
        except PermissionError:
            self.skipTest("no real-time classes here")
        os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))
        self.set("1", "sched", "fifo", "nice", "2")
        self.assertEqual((os.sched_getscheduler(tid), os.sched_getparam(tid).sched_priority), (os.SCHED_FIFO, 1))
        self.set("1", "rt-priority", "33")
        self.set("1", "sched", "rr")
        self.assertEqual((os.sched_getscheduler(tid), os.sched_getparam(tid).sched_priority), (os.SCHED_RR, 33))
        self.set("1", "sched", "other")
        self.assertEqual((os.sched_getscheduler(tid), os.sched_getparam(tid).sched_priority), (os.SCHED_OTHER, 0))
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, tid), 2)

    def test_with_what_the_module_does(self):
        log = self.log + "/log"
        run("set", "tap0", "nice", "4", "poll-us", "9", env=self.env(), log=log)
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.read(), "1 poll-us 9\n2 poll-us 9\n")
        self.assertEqual([os.getpriority(os.PRIO_PROCESS, tid) for tid in self.tids], [4] * 4)
        # what the module refuses is not placed
        run("set", "2", "nice", "6", "poll-us", "1001", env=self.env(), status=5)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, self.tids[2]), 4)

    def test_threads_that_are_not_there(self):
        gone, one, *others = self.workers
        gone.kill()
        gone.wait()
        err = self.set("tap0", "nice", "1", status=1)
        self.assertEqual(err, f"kvnetctl: device 1: worker 0 (TID {gone.pid}): setpriority: No such process; "
                         "the devices after it are as they were\n")
        self.assertEqual([os.getpriority(os.PRIO_PROCESS, other.pid) for other in others],
                         2 * [os.getpriority(os.PRIO_PROCESS, 0)])
        err = self.set("1", "nice", "1", status=1, env=self.env(0, one.pid))
        self.assertEqual(err, "kvnetctl: device 1: worker 0 has no TID in this PID namespace\n")
        err = self.set("1", "nice", "1", status=1, fake="unborn")
        self.assertEqual(err, "kvnetctl: device 1: worker 0 has not started yet; worker 1 has not started yet\n")
        err = self.set("7", "nice", "1", status=1)
        self.assertEqual(err, "kvnetctl: device 7: the device's owner is dead\n")

    def test_some_of_a_devices_workers(self):
        """Those that can be placed are; which cannot is told."""
        gone, one = self.workers[:2]
        gone.kill()
        gone.wait()
        err = self.set("1", "nice", "1", status=1)
        self.assertEqual(err, f"kvnetctl: device 1: worker 0 (TID {gone.pid}): setpriority: No such process\n")
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, one.pid), 1)
        one.kill()
        one.wait()
        err = self.set("1", "nice", "1", status=1)
        self.assertEqual(err, self.both("setpriority: No such process"))

    def test_no_permission(self):
        if os.geteuid():
            self.skipTest("needs to be root, to be another user as well")
        program = os.path.join(tempfile.mkdtemp(), "kvnetctl")
        self.addCleanup(shutil.rmtree, os.path.dirname(program))
        os.chmod(os.path.dirname(program), 0o755)
        shutil.copy(PROGRAM, program)
        for words, call in ((["cpus", "all"], "sched_setaffinity: Operation not permitted"),
                            (["sched", "batch"], "sched_setscheduler: Operation not permitted"),
                            (["nice", "3"], "setpriority: Operation not permitted")):
            done = subprocess.run([program, "set", "1", *words], env={**os.environ, **self.env()}, user=65534,
                                  capture_output=True, check=False, text=True)
            self.assertEqual((done.returncode, done.stderr),
                             (5, self.both(call)))

    def test_rules(self):
        name = self.log + "/rules"
        with open(name, "w", encoding="utf-8") as file:
            file.write("tap tap0 set nice 2 poll-us 3\n")
        log = self.log + "/log"
        out, _ = run("rules", "apply", name, "-j", log=log, env=self.env())
        for line in out.splitlines():
            self.assertIsNone(fits.problem("rules", line), line)
            self.assertEqual(json.loads(line)["policy"], {"nice": 2, "poll_us": 3})
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.read(), "1 poll-us 3\n2 poll-us 3\n")
        self.assertEqual([os.getpriority(os.PRIO_PROCESS, tid) for tid in self.tids], [2] * 4)

    def test_rules_and_a_thread_that_has_ended(self):
        """Its device goes: that is no failure."""
        name = self.log + "/rules"
        with open(name, "w", encoding="utf-8") as file:
            file.write("tap tap0 set nice 2\n")
        self.workers[0].kill()
        self.workers[0].wait()
        out, _ = run("rules", "apply", name, env=self.env())
        self.assertEqual(out, "device 2 tap tap0 result set policy nice 2\n")

    def test_rules_run_tries_again(self):
        """A device is there when it begins, and its workers have not; then they do."""
        name = self.log + "/rules"
        with open(name, "w", encoding="utf-8") as file:
            file.write("tap b* set nice 2\n")
        env = {**self.env(0, 0, 0, 0, 0, 0, *self.tids[:2]), "FAKE": "late"}
        with running("rules", "run", name, env=env) as run_it:
            self.assertEqual(run_it.stdout.readline().split(" result ")[1],
                             "failed error worker 0 has not started yet; worker 1 has not started yet policy nice 2\n")
            self.assertEqual(run_it.stdout.readline().split(" result ")[1], "set policy nice 2\n")
            self.assertEqual([os.getpriority(os.PRIO_PROCESS, tid) for tid in self.tids], [2, 2, *2 * [os.getpriority(os.PRIO_PROCESS, 0)]])
            run_it.terminate()
            self.assertEqual(run_it.wait(30), 0)

    def test_rules_run_waits_for_the_workers(self):
        """A device comes: what is for its workers is set when all have begun, and nothing is refused before."""
        name = self.log + "/rules"
        with open(name, "w", encoding="utf-8") as file:
            file.write("tap b* set nice 2\n")
        env = {**self.env(0, 0, 0, 0, 0, 0, *self.tids[:2]), "FAKE": "comes"}
        with running("rules", "run", name, env=env) as run_it:
            self.assertEqual(run_it.stdout.readline().split(" result ")[1], "set policy nice 2\n")
            run_it.terminate()
            self.assertEqual(run_it.stdout.read(), "")
            self.assertEqual(run_it.wait(30), 0)
        self.assertEqual([os.getpriority(os.PRIO_PROCESS, tid) for tid in self.tids], [2, 2, *2 * [os.getpriority(os.PRIO_PROCESS, 0)]])


class Bad(unittest.TestCase):
    """Bad input: a line, a status, and nothing else."""

    TABLE = [
        (2, "unknown command 'frob'; see kvnetctl -h", "frob"),
        (2, "unknown option -x; see kvnetctl -h", "list", "-x"),
        (2, "list: takes no option --all; see kvnetctl list -h", "list", "-a"),
        (2, "list: 'tap0' is one argument too many; see kvnetctl list -h", "list", "tap0"),
        (2, "list: takes no option --prometheus; see kvnetctl list -h", "list", "--prometheus"),
        (2, "stats: --json and --prometheus exclude each other; see kvnetctl stats -h", "stats", "--prometheus", "-j"),
        (2, "stats: --count goes with --interval", "stats", "-n", "3"),
        (2, "stats: --prometheus has no --interval: it counts, and Prometheus makes rates of it",
         "--prometheus", "-i", "1"),
        (2, "top: no column 'frob' to sort by; the heading of kvnetctl top -b names them", "top", "-s", "frob"),
        (2, "set: needs DEV SETTING VALUE [SETTING VALUE]...; see kvnetctl set -h", "set", "tap0", "nice"),
        (2, "set: poll-us needs a value: US", "set", "tap0", "nice", "1", "poll-us"),
        (2, "set: unknown setting 'colour'; there are: cpus node nice sched rt-priority poll-us tx-inline rx-direct "
         "rx-inline shortcut", "set", "tap0", "colour", "red"),
        (2, "set: rt-priority goes with sched fifo or rr, not with batch", "set", "tap0", "sched", "batch", "rt-priority", "3"),
        (2, "set: cpus 'x': not a list of CPUs, as 0-3,8, or all", "set", "tap0", "cpus", "x"),
        (2, "'pid:x': what comes after pid: is no process number", "show", "pid:x"),
        (2, "'' is no device: give its id, the name of its tap, pid:N or vm:NAME", "show", ""),
        (4, "no device with the id 5; kvnetctl list shows those that there are", "show", "5"),
        (4, "no device has a tap 'tap9' in its network namespace; kvnetctl list shows those that there are", "stats", "tap9"),
        (4, "no device has a tap 'a?[1m' in its network namespace; kvnetctl list shows those that there are", "show", "a\033[1m"),
        (4, "there is no process 2000000000", "set", "pid:2000000000", "nice", "1"),
        (4, "process 1 has no device of kvnet here", "show", "pid:1"),
        (4, "no VM 'web' has a device of kvnet here", "show", "vm:web"),
        (2, "rules: 'frob': neither check, apply nor run", "rules", "frob"),
        (2, "rules: check does nothing anyway: no --dry-run", "rules", "check", "--dry-run"),
        (2, "rules: /nonexistent: No such file or directory", "rules", "check", "/nonexistent"),
    ]

    def test_table(self):
        for status, line, *args in self.TABLE:
            with self.subTest(args):
                out, err = run(*args, status=status)
                self.assertEqual(err, f"kvnetctl: {line}\n")
                self.assertEqual(out, "")

    def everything(self, fake, status, line, commands):
        for args in commands:
            with self.subTest((fake, args)):
                out, err = run(*args, fake=fake, status=status)
                self.assertEqual(err, f"kvnetctl: {line}\n")
                self.assertEqual(out, "")

    ASKS = [["list"], ["show"], ["stats"], ["stats", "-i", "1"], ["--prometheus"], ["top", "-b"],
            ["set", "tap0", "nice", "1"], ["monitor"]]

    def test_no_module(self):
        with tempfile.NamedTemporaryFile("w") as rules:
            rules.write("any set nice 1\n")
            rules.flush()
            self.everything("none", 3, "the module kvnet is not loaded: modprobe kvnet",
                            [*self.ASKS, ["rules", "apply", rules.name], ["rules", "run", rules.name]])
        if not os.path.exists("/dev/kvnet"):
            self.everything("none", 3, "the module kvnet is not loaded: modprobe kvnet", [["features"]])
        self.assertIn("BAD   module  kvnet is neither loaded", run("doctor", fake="none", status=1)[0])

    def test_another_version(self):
        self.everything("version", 3, "the module kvnet speaks version 2 of its protocol, this kvnetctl version 1: "
                        "install both of one release", self.ASKS)

    def test_an_older_module(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(root + "/sys/module/kvnet")
            _, err = run("list", fake="none", status=3, env={"FAKE_ROOT": root})
        self.assertEqual(err, "kvnetctl: the module kvnet that is loaded is too old for kvnetctl: reload it "
                         "(rmmod kvnet; modprobe kvnet)\n")

    def test_no_permission(self):
        self.everything("denied", 5, "not permitted: this takes CAP_NET_ADMIN; run it as root", self.ASKS)

    def test_garbled_answers(self):
        for args in (["list"], ["show"], ["stats"]):
            self.assertEqual(run(*args, fake="garbled", status=1)[1],
                             "kvnetctl: the kernel's answer makes no sense\n")

    def test_lost_events(self):
        out, err = run("monitor", "-n", "2", fake="lost")
        self.assertEqual(err, "kvnetctl: events were lost: too many at a time\n")
        self.assertEqual(out.count("\n"), 2)

    def test_characters_of_eight_bits(self):
        """A terminal without UTF-8 takes the half of a character for what it likes."""
        for locale, want in ("C", "b?se?"), ("C.UTF-8", "b\u00f6se?"):
            self.assertIn(want, run("list", env={"LC_ALL": locale})[0])
        self.assertTrue(run("list", env={"LC_ALL": "C"})[0].isascii())

    def test_full_disk(self):
        for what in "list", "-h", "--version":
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([PROGRAM, what], stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, b"kvnetctl: writing the output failed\n")

    def test_no_output_at_all(self):
        """What is opened next would be in its place, and get what is printed."""
        def closed(*args):
            return subprocess.run(["sh", "-c", 'exec "$@" >&-', "-", PROGRAM, *args], stderr=subprocess.PIPE,
                                  check=False, text=True)
        done = closed("list")
        self.assertEqual((done.returncode, done.stderr), (1, "kvnetctl: writing the output failed\n"))
        self.assertNotIn("No such file", closed("rules", "check", "/proc/self/fd/1").stderr)


class Help(unittest.TestCase):
    def test_each_command_has_some(self):
        whole, _ = run("-h")
        commands = re.findall(r"(?m)^  ([a-z]+) ", whole)
        self.assertEqual(len(commands), 9)
        for command in commands:
            out, err = run(command, "-h")
            self.assertTrue(out.startswith(f"Usage: kvnetctl {command}"))
            self.assertEqual(err, "")
            self.assertLessEqual(max(map(len, out.splitlines())), 120)

    def test_manual_and_completions_know_all(self):
        """Commands, options and settings that help has are in the manual and both completions."""
        commands = re.findall(r"(?m)^  ([a-z]+) ", run("-h")[0])
        words = set(commands)
        for command in commands:
            words |= set(re.findall(r"--([a-z-]+)", run(command, "-h")[0]))
        words |= set(re.findall(r"(?m)^  ([a-z-]+) +\S+ +\S", run("set", "-h")[0]))
        self.assertGreater(len(words), 25)
        for name in ("kvnetctl.8", "kvnetctl.bash", "_kvnetctl"):
            with open(os.path.join(os.path.dirname(fits.SCHEMA), name), encoding="utf-8") as file:
                known = re.findall(r"[a-z][a-z-]*", file.read().replace("\\-", "-"))
            self.assertEqual(words - set(known), set(), name)

    def complete(self, *words, program=None):
        """What bash offers for the last of these words."""
        script = os.path.join(os.path.dirname(fits.SCHEMA), "kvnetctl.bash")
        line = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kvnetctl; echo "${COMPREPLY[*]}"'
        with tempfile.TemporaryDirectory() as path:
            os.symlink(program or PROGRAM, path + "/kvnetctl")
            done = subprocess.run(["bash", "-c", line, script, "kvnetctl", *words], capture_output=True,
                                  env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}, check=True)
        return done.stdout.decode().split()

    def test_bash_completion(self):
        self.assertEqual(self.complete("s"), ["show", "stats", "set"])
        self.assertEqual(self.complete("-j", "mon"), ["monitor"])
        self.assertEqual(self.complete("show", "tap"), ["tap0"] * 2)
        self.assertEqual(self.complete("set", "tap0", "c"), ["cpus"])
        self.assertEqual(self.complete("set", "tap0", "rx"), ["rx-direct", "rx-inline"])
        self.assertEqual(self.complete("set", "tap0", "shortcut", ""), ["on", "off"])
        self.assertEqual(self.complete("set", "tap0", "nice", "3", "sched", "f"), ["fifo"])
        self.assertEqual(self.complete("rules", ""), ["check", "apply", "run"])
        self.assertEqual(self.complete("stats", "--pro"), ["--prometheus"])
        self.assertEqual(self.complete("list", "--pro"), [])

    def test_completion_of_a_hostile_name(self):
        """What a tap is called is whatever its owner likes, and nothing that a shell runs."""
        with tempfile.TemporaryDirectory() as path:
            mark, program = path + "/mark", path + "/program"
            names = [f"$(touch${{IFS}}{mark})", f"`touch${{IFS}}{mark}`", "$HOME", "*", "a'b", "-x", "tap7"]
            with open(program, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\ncat <<'END'\nDEV TAP\n")
                file.writelines(f"{i + 1} {name}\n" for i, name in enumerate(names))
                file.write("END\n")
            os.chmod(program, 0o755)
            for command in ("show", "set", "stats"):
                self.assertEqual(self.complete(command, "", program=program), ["1", "2", "3", "4", "5", "6", "7", "tap7"])
            self.assertFalse(os.path.exists(mark))

    def test_version(self):
        self.assertRegex(run("-V")[0], r"^kvnetctl \S+\n$")

    def test_nothing(self):
        out, err = run(status=2)
        self.assertEqual(out, "")
        self.assertTrue(err.startswith("Usage: kvnetctl"))


def main():
    global PROGRAM  # pylint: disable=global-statement
    PROGRAM = os.path.abspath(sys.argv[1])
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(tests)
    failed = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - failed, 0)} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
