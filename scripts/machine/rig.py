# SPDX-License-Identifier: GPL-2.0
"""
What scripts/lib.sh is for shell: where things are, how to stop with one line, locks and
the cache. The locks are flock(2) on the same files as lib.sh's.
"""

import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("KVNET_BUILD") or TOP / "build").resolve()
CACHE = Path(os.environ.get("KVNET_CACHE") or Path.home() / ".cache/kvnet").resolve()
# of the machine, not of the checkout
LOCKS = Path("/run/kvnet" if os.access("/run", os.W_OK) else f"/tmp/kvnet-locks-{os.getuid()}")


class Ended(BaseException):
    """A signal asks this script to end."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def end_by_signal(number, _frame):
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Ended(number)


def say(text):
    print(f"{prog()}: {text}", file=sys.stderr, flush=True)


def prog():
    return f"{sys.argv[1] if len(sys.argv) > 1 else 'machine'}.sh"


def die(text):
    sys.exit(f"{prog()}: {text}")


def info(text):
    """Progress, with the seconds since the verb that called this script began."""
    now = int(time.time())
    elapsed = now - int(os.environ.get("KVNET_START") or now)
    print(f"[{elapsed:4d}s] {text}", file=sys.stderr, flush=True)


def start(*command, **options):
    """
    Children have all that this script has open: the log of a lane, and the locks, which
    are held until the last process of a machine has gone.
    """
    return subprocess.Popen([str(word) for word in command], close_fds=False, **options)


def status_of(*command, **options):
    with start(*command, **options) as process:
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            raise


def run(*command, **options):
    """A command without which there is nothing to go on with."""
    status = status_of(*command, **options)
    if status:
        sys.exit(status if status > 0 else 128 - status)


### locks

def open_lock(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    file = open(path, "wb")  # pylint: disable=consider-using-with
    os.set_inheritable(file.fileno(), True)
    return file


def try_lock(path):
    """The lock's file, or None while another process has it."""
    file = open_lock(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    except BlockingIOError:
        file.close()
        return None


def hold(path):
    """Waits for the lock; until the file is closed, and what was started meanwhile has ended."""
    file = try_lock(path)
    if not file:
        info(f"{path.name}: waiting for another run that is at it")
        file = open_lock(path)
        fcntl.flock(file, fcntl.LOCK_EX)
    return file


def run_locked(name, *command):
    with hold(BUILD / "locks" / name):
        run(*command)


def own_log(log):
    """One run at a time writes a directory of logs."""
    lock = try_lock(log / "lock")
    return lock or die(f"another run is writing {log}: wait for its end, or stop it")


def take_cpu():
    """
    One of the machine's CPUs, and its lock. The kernel that is a process and its processes
    take turns, never two at a time; on two CPUs each turn wakes one that has just gone to
    sleep. Runs side by side, of any checkout, take different ones while there are.
    """
    cpus = list(os.sched_getaffinity(0))
    random.shuffle(cpus)
    for cpu in cpus:
        lock = try_lock(LOCKS / f"cpu-{cpu}")
        if lock:
            return cpu, lock
    return cpus[-1], None


### the cache, and what is built

def is_made(name):
    """Is there an entry of the cache that this checkout uses?"""
    link = BUILD / name
    return link.is_symlink() and Path(f"{os.readlink(link)}.made").is_file()


def is_newer(path, other):
    """As test -nt."""
    if not path.exists():
        return False
    return not other.exists() or path.stat().st_mtime_ns > other.stat().st_mtime_ns


def build_net_tools():
    """The programs of net tests, in the test host and in the guest."""
    run_locked("net-tools", "make", "-s", "-C", TOP / "selftests/net", f"OUTPUT={BUILD}/net-tools")
