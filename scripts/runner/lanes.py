# SPDX-License-Identifier: GPL-2.0
"""
Lanes: what does not need each other runs at the same time, each in a thread that starts programs.
Each lane has a log (build/log/lane-NAME.log), which is shown when it ends, and tells its steps
meanwhile. The run itself, outside of any lane, writes to the standard output.
"""
import fcntl
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback

START = int(os.environ.setdefault("KVNET_START", str(int(time.time()))))
# seconds for programs to end when they are told to
PATIENCE = 15


def elapsed():
    return int(time.time()) - START


class Stopped(Exception):
    """The run is ended from outside."""


class Died(Exception):
    """A command that the rest needs has failed."""


def only_run(folder):
    """The lock by which one run at a time writes this folder, until it is closed."""
    lock = open(f"{folder}.lock", "wb")  # pylint: disable=consider-using-with
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise Died(f"another run is writing {folder}: wait for its end, or stop it") from error
    return lock


class Programs:
    """Those that run, each in a process group of its own: what it starts ends with it."""
    def __init__(self):
        self.lock, self.running, self.stopped = threading.Lock(), set(), False

    def run(self, argv, out=None, env=None):
        """Status and seconds of CPU time; 128 and more for one that a signal ended."""
        with self.lock:
            if self.stopped:
                raise Stopped()
            # 3 is for progress, past the log of a lane: tell() of lib.sh
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT if out else None,
                                       env=env, process_group=0, pass_fds=(3,))
            self.running.add(process.pid)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except ChildProcessError as error:
            raise Stopped() from error
        process.returncode = status = os.waitstatus_to_exitcode(status)
        with self.lock:
            self.running.discard(process.pid)
        return 128 - status if status < 0 else status, usage.ru_utime + usage.ru_stime

    def end(self):
        """All of them, and what they have started."""
        with self.lock:
            self.stopped = True
            groups = set(self.running)
        for sign, seconds in (signal.SIGTERM, PATIENCE), (signal.SIGKILL, PATIENCE):
            deadline = time.monotonic() + seconds
            groups = {group for group in groups if kill_group(group, sign)}
            while groups and time.monotonic() < deadline:
                time.sleep(0.05)
                groups = {group for group in groups if kill_group(group, 0)}


def kill_group(group, sign):
    """Was there a process of it?"""
    reap(group)
    try:
        os.killpg(group, sign)
    except ProcessLookupError:
        return False
    return True


def reap(pid):
    """One whose thread does not wait for it any more."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def how_far(total, done, seconds):
    """The first twentieth says little of the rest."""
    if not total or 20 * done < total:
        return f"{seconds} s"
    if done >= total:
        return f"all but done, {seconds} s"
    part, left = 100 * done // total, seconds * (total - done) // done
    return f"{done} of about {total} ({part} %), {seconds} s, about {left} s to go"


class Lane:
    """What a job is given: where it says what, and what counts its tests."""
    def __init__(self, run, name=""):
        self.run, self.name, self.out = run, name, None
        self.passed = self.failed = 0
        self.cpu = 0.0
        # of them it tells its number
        self.steps = self.step_number = 0

    def print(self, text):
        print(text, file=self.out or sys.stdout, flush=True)

    def tell(self, text):
        """For the terminal, past the log."""
        print(f"[{elapsed():4d}s] {self.name}{self.name and ': '}{text}", flush=True)

    def say(self, text):
        if self.steps:
            self.step_number += 1
            text = f"step {self.step_number} of {self.steps}: {text}"
        self.print(f"[{elapsed():4d}s] {text}")
        if self.name:
            self.tell(text)

    def call(self, argv, env=None, out=None):
        """The status of a program, whose output is for the log, or for out."""
        env = {**os.environ, **(env or {})}
        if self.name:
            env["KVNET_LANE"] = self.name
        status, cpu = self.run.programs.run([str(word) for word in argv], out or self.out, env)
        self.cpu += cpu
        return status

    def need(self, argv, env=None):
        if self.call(argv, env):
            raise Died(f"{' '.join(map(str, argv))} failed")

    def step(self, name, argv, env=None):
        """One that is a test as a whole: a program, or a function of this lane."""
        self.say(name)
        good = argv(self) if callable(argv) else not self.call(argv, env)
        if good:
            self.print(f"ok - {name}")
            self.passed += 1
            self.run.results.note("steps", name, "ok")
        else:
            self.fail(name)
        return good

    def fail(self, name, environment="steps"):
        """Of which no log has more to say."""
        self.print(f"not ok - {name}")
        self.failed += 1
        self.run.results.fail(name, environment)

    def watch(self, text, total=0, done=lambda: 0, every=10):
        """While it lasts: tells how far something is, each time after three times as long."""
        return Watch(self, text, total, done, every)


class Watch:
    def __init__(self, lane, text, total, done, every):
        self.lane, self.text, self.total, self.done, self.every = lane, text, total, done, every
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def loop(self):
        start = time.monotonic()
        while not self.over.wait(self.every):
            seconds = int(time.monotonic() - start)
            self.lane.tell(f"{self.text}: {how_far(self.total, self.done(), seconds)}")
            self.every *= 3

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Lanes:
    """Some of them at the same time."""
    def __init__(self, run):
        self.run, self.ended = run, queue.SimpleQueue()

    def together(self, now, later=()):
        """Each is a name and a job. Those that come later begin where one has ended. Waits for all,
        and adds up."""
        later, running, ended = list(later), 0, []
        for job in now:
            self.begin(*job)
            running += 1
        while running:
            lane, died = self.ended.get()
            if later:
                self.begin(*later.pop(0))
            else:
                running -= 1
            ended.append((lane, self.add_up(lane, died)))
        print()
        for lane, text in ended:
            self.run.results.show_times(self.run.main, lane.name, text)

    def begin(self, name, job):
        lane = Lane(self.run, name)
        threading.Thread(target=self.body, args=(lane, job), daemon=True).start()

    def path(self, lane):
        return f"{self.run.log}/lane-{lane.name}.log"

    def body(self, lane, job):
        died = ""
        with open(self.path(lane), "w", encoding="utf-8", errors="replace") as lane.out:
            try:
                job(lane)
            except Stopped:
                died = "stopped"
            except Died as error:
                lane.print(f"# {error}")
                died = "died"
            except BaseException:  # pylint: disable=broad-exception-caught
                traceback.print_exc(file=lane.out)
                died = "died"
        self.ended.put((lane, died))

    def add_up(self, lane, died):
        """Shows its log, and returns it; one that did not come to its end has failed."""
        if died:
            lane.failed += 1
            self.run.results.fail(f"lane {lane.name}: {died}", "steps")
        self.run.main.passed += lane.passed
        self.run.main.failed += lane.failed
        said = died or f"{lane.cpu:.0f} s of CPU"
        print(f"\n[{elapsed():4d}s] ===== {lane.name}: {lane.passed} passed, "
              f"{lane.failed} failed, {said} =====", flush=True)
        with open(self.path(lane), encoding="utf-8", errors="replace") as log:
            text = log.read()
        print(text, end="", flush=True)
        return text
