# SPDX-License-Identifier: GPL-2.0
"""
What the test host counts by itself while a test runs: exits of the guest (KVM's statistics),
processor time and switches of the worker, of QEMU's main loop and of the virtual CPUs (the
scheduler's), and kvnet's kicks and calls. Nothing is switched on for it, so nothing is slower
for it.
"""

import collections
import os
import time

from host import text_of

KVM_STATS = "/sys/kernel/debug/kvm"
# What KVM counts, and what it is called here. fpu_reload goes up whenever KVM_RUN returns to QEMU;
# insn_emulation by each access to a device's memory, also one that ends in an eventfd; io_exits
# and mmio_exits are those that QEMU serves.
KVM_NAMES = {"exits": "exits", "fpu_reload": "exits_to_qemu", "io_exits": "exits_port", "mmio_exits": "exits_mmio",
             "insn_emulation": "emulated", "hypercalls": "hypercalls", "irq_injections": "interrupts",
             "halt_exits": "exits_halt", "irq_exits": "exits_host_irq"}


def kvm_stat(name):
    return int(text_of(f"{KVM_STATS}/{name}"))


def kernel_workers():
    """Workers are threads of QEMU or, if it has chosen so, kernel threads: the latter's ids."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if text_of(f"/proc/{pid}/comm").startswith("kvnet-"):
                found.append(pid)
        except OSError:
            pass  # it has ended
    return found


def class_of(thread):
    if thread.startswith("CPU"):
        return "vcpu"
    return "worker" if thread.startswith(("vhost-", "kvnet-")) else "qemu"


class Counts:
    """Of a guest whose QEMU is process pid, and has the device open as descriptors."""

    def __init__(self, pid, descriptors):
        self.tasks = f"/proc/{pid}/task"
        self.workers = [f"/proc/{worker}" for worker in kernel_workers()]
        self.info = [f"/proc/{pid}/fdinfo/{fd}" for fd in descriptors]

    def add_threads(self, found):
        """Processor time, and how often each was put on a CPU."""
        for task in [f"{self.tasks}/{tid}" for tid in os.listdir(self.tasks)] + self.workers:
            try:
                kind, (ran, _, slices) = class_of(text_of(f"{task}/comm")), text_of(f"{task}/schedstat").split()
            except OSError:
                continue
            found[f"cpu_{kind}"] += int(ran)
            found[f"switches_{kind}"] += int(slices)

    def add_kvnet(self, found):
        for path in self.info:
            for line in text_of(path).splitlines():
                key, _, value = line.partition(":")
                if key in ("kvnet.rx.kicks", "kvnet.tx.kicks", "kvnet.rx.calls", "kvnet.tx.calls"):
                    found[key.rpartition(".")[2]] += int(value)

    def add_system(self, found):
        self.add_threads(found)
        for name, ours in KVM_NAMES.items():
            found[ours] = kvm_stat(name)
        found["switches"] = int(text_of("/proc/stat").partition("ctxt ")[2].split()[0])

    def while_running(self, action):
        """
        What action returns, and what was counted meanwhile. To count takes longer than some of what
        is counted, and more where kvnet has counters of its own. So the host's time is taken last,
        when the time slice in which all else was counted is over, and first in the end. In the other
        figures is what one of the two costs.
        """
        before, after = collections.Counter(), collections.Counter()
        self.add_kvnet(before)
        self.add_system(before)
        time.sleep(0.01)
        before["cpu_host"] = host_time()
        result = action()
        after["cpu_host"] = host_time()
        self.add_system(after)
        self.add_kvnet(after)
        after.subtract(before)
        return result, after


def host_time():
    """Of all CPUs: the time that anything but idle ran. A task's time slice is in it when it has ended."""
    lines = map(str.split, text_of("/proc/schedstat").splitlines())
    return sum(int(words[7]) for words in lines if words[0].startswith("cpu"))
