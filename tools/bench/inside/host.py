# SPDX-License-Identifier: GPL-2.0
"""
What the programs of the laboratory share that run inside the measured machine, a test host or
User-Mode Linux: variables, rows, other programs, and the functions of selftests/net/lib.sh.
"""

import contextlib
import os
import subprocess
import time

LIB = "/kvnet/selftests/net/lib.sh"
LANE = os.environ.get("LANE", "")
REP = int(os.environ.get("REP") or 1)
QUICK = bool(os.environ.get("QUICK"))
EMULATED = os.environ.get("VM_ACCEL") == "tcg"

failures = []  # of what was to be measured


class Failed(Exception):
    """Why something could not be measured."""


def names(variable):
    return os.environ.get(variable, "").split()


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(text))


# rows

def say(text):
    print(f"@progress {LANE} {REP}: {text}")


def fact(key, value):
    print(f"@fact lane={LANE} key={key} value={value.replace(' ', '_')}")


def note(text):
    print(f"@note lane={LANE} text={text.replace(' ', '_')}")


# other programs

def run(*words):
    """Its output goes where this program's does."""
    if subprocess.call(words, stdin=subprocess.DEVNULL):
        raise Failed(f"{' '.join(words)} failed")


def answer(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(words)} failed: {done.stdout}")
    return done.stdout


def in_lib(command):
    """The words of a program: a shell that has selftests/net/lib.sh runs the command."""
    return "bash", "-c", f". {LIB}; {command}"


def wait_until(seconds, condition):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def listener(port):
    """Of a server that listens, in /proc/net/tcp."""
    return f":{port:04X} 00000000:0000"


@contextlib.contextmanager
def server(*words, port, table="tcp"):
    """A program that runs meanwhile, from when it listens."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            if not wait_until(30, lambda: listener(port) in text_of(f"/proc/net/{table}")):
                raise Failed(f"{' '.join(words)} does not listen")
            yield
        finally:
            program.kill()


@contextlib.contextmanager
def tried(what, *guests):
    """A failure is told and counted; then the guests end."""
    try:
        yield
    except (Failed, OSError) as error:
        print(f"# {error}")
        say(f"{what}: no result, or not all")
        failures.append(what)
    finally:
        for guest in guests:
            guest.stop()


def no_halt_poll():
    """
    KVM polls for a while before it lets a virtual CPU sleep. With instructions counted, each pass
    of that loop leaves the emulator: a run seems to hang.
    """
    write("/sys/module/kvm/parameters/halt_poll_ns", 0)


def begin():
    """What all measurements of real guests begin with."""
    cpus = [line.partition(": ")[2] for line in text_of("/proc/cpuinfo").splitlines() if line.startswith("model name")]
    version = answer("/opt/qemu-7.2/bin/qemu-system-x86_64", "--version").splitlines()[0]
    for key, value in (("kernel", os.uname().release), ("qemu", version.partition("version ")[2]),
                       ("accelerator", os.environ.get("VM_ACCEL", "unknown")), ("cpu", cpus[0]), ("cpus", str(len(cpus))),
                       ("clock", text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource").strip()),
                       ("guest", "one vCPU, 256 MB, kernel of the test host")):
        fact(key, value)
    if LANE == "vtime":
        no_halt_poll()
        os.sched_setaffinity(0, {0})
