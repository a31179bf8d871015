# SPDX-License-Identifier: GPL-2.0
"""
The laboratory's lanes in which a process is the guest, inside the measured machine: User-Mode Linux
or a test host. Works off a plan (tools/bench/cases.py), in which kvnet, vhost_net and others take
turns, and prints the rows of scripts/bench.sh; fails if a sample could not be taken, whatever the
figures are. Variables:

  LANE     native, native2, icount, smp
  BENCH_MS milliseconds of a sample, about
  LIVES    how often the processes of a repetition begin anew: where their memory lies is chance,
           and counts; each time is a repetition of its own
  REPEAT   repetitions; those beyond are for the tests that cannot tell 5 % yet
"""

import os
import re
import subprocess
import sys

import dpdk
import host
from host import LANE, Failed

LOG = "/tmp/sample.log"
LAB = "/kvnet/lab"
MODULES = ("kvnet_floor", "kvnet_hosttime", "kvnet_uncounted")
LIVES, REPEAT = (int(os.environ.get(name, "1")) for name in ("LIVES", "REPEAT"))


def logged(words, **variables):
    """Runs it; what it says."""
    with open(LOG, "w", encoding="utf-8") as log:
        status = subprocess.call(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **variables})
    return status, host.text_of(LOG)


def together(rep, program, words, turns, **more):
    """Slices of several backends in turn."""
    return logged([LAB, program], BENCH_TURNS=" ".join(turns), BENCH_ROW=f"lane={LANE} rep={rep}", BENCH=words,
                  KSFT_SEED=str(rep), **more)


def alone(rep, program, words, turn):
    """A sample of one backend, by a program that takes no turns."""
    name, node, layout, *parameters = turn.split(":")
    if parameters[0]:
        for parameter, value in zip(("pin_rings", "rx_inline", "poll_us", "rx_usecs"), parameters):
            host.write(f"/sys/module/{os.path.basename(node)}/parameters/{parameter}", value)
    variables = {"KVNET_DEV": node, "KVNET_LAYOUT": layout, "BENCH_PINNED": parameters[0],
                 "BENCH_ROW": f"lane={LANE} rep={rep} backend={name}", "BENCH": words}
    if program == "dpdk":
        return dpdk.sample(lambda *peer, **more: logged(peer, **variables, **more), name, node, layout, words)
    return logged([LAB, program], **variables)


class Plan:
    def __init__(self, text):
        lines = [line.split("|") for line in text.splitlines()]
        self.turns = {name: turn for kind, name, turn in (line for line in lines if line[0] == "backend")}
        self.lines = [(int(line[0]), *line[1:]) for line in lines if line[0] != "backend"]
        self.rows, self.asked, self.open = [], 0, []

    def find_offered(self):
        """Of those that the plan names, these can be had; and warms up what all use."""
        for name, turn in list(self.turns.items()):
            status, said = together(0, "pps", "test=pps dir=tx size=64", [turn], BENCH_MS="20")
            if "SKIP" in said:
                print(f"@note lane={LANE} text={name}_is_not_here:_the_device_does_not_offer_it")
                del self.turns[name]
            elif status or "@bench" not in said:
                raise Failed(f"{said}\nno sample through {name}")

    def sample(self, how, rep, program, words, turns):
        status, said = how(rep, program, words, turns)
        found = re.findall("^@bench.*", said, re.M)
        if status or not found:
            raise Failed(f"{said}\nno sample of '{words}'")
        print("\n".join(found))
        self.rows += found

    def is_open(self, number, words):
        """The machine's speed is not always the same, nor are all tests as sensitive: some need more repetitions."""
        if number <= REPEAT:
            return True
        if number != self.asked:
            self.asked, self.open = number, open_tests(self.rows)
        return words in self.open

    def line(self, number, step, program, words, names):
        """A row of a repetition."""
        turns = [self.turns[name] for name in names.split() if name in self.turns]
        if not turns or not self.is_open(number, words):
            return
        # the host knows the time
        print(f"@progress {step}: {LANE}: {re.sub('(test|dir)=', '', words)}")
        rep = (number - 1) * LIVES + 1
        if program in ("idle", "dpdk"):
            for turn in turns:
                self.sample(alone, rep, program, words, turn)
        else:
            for life in range(LIVES):
                self.sample(together, rep + life, program, words, turns)


def open_tests(lines):
    """What it takes to tell is beside this directory, and slow to start with on an emulated CPU."""
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import rows  # pylint: disable=import-outside-toplevel
    import still_open  # pylint: disable=import-outside-toplevel

    return still_open.open_tests(rows.Results.parse(lines))


def facts():
    host.fact("kernel", os.uname().release)
    if LANE in ("native2", "smp"):
        host.fact("cpus", str(os.cpu_count()))
    if LANE == "smp" and host.EMULATED:
        host.note("Emulated CPUs, in real time: what they share and what it costs to wake one is not as on hardware")
    # a kernel whose scheduler has no better clock
    if LANE == "native" and int(host.text_of("/proc/self/schedstat").split()[0]) % 1000000 == 0:
        host.note("The worker's time is counted in ticks of 10 ms: no more than a hint")


def main():
    host.run(*host.in_lib("load_kvnet && BACKEND=vhost load_backend"))
    for name in MODULES:
        if os.path.exists(f"/kvnet/{name}.ko"):
            host.run("insmod", f"/kvnet/{name}.ko")
    facts()
    plan = Plan(host.text_of(f"/kvnet/bench-{LANE}.plan"))
    plan.find_offered()
    for line in plan.lines:
        plan.line(*line)
    for name in ("kvnet",) + MODULES:
        if os.path.isdir(f"/sys/module/{name}"):
            host.run("rmmod", name)


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"# {error}")
