# SPDX-License-Identifier: GPL-2.0
"""
Runs inside the test host: one repetition of the laboratory's lanes with a real guest, all systems
in turn, each with a guest of its own. Prints @bench and @fact rows. All names come from
tools/bench/cases.py. Variables:

  LANE      vtime (instructions are counted, work is fixed), kvm, emul
  REP       number of the repetition; in vtime the seed
  TESTS     of guest_tests.py, on each of SYSTEMS
  BOOTS     of guest_boots.py: layout, on LAYOUTS, the others, on SCALE
  QUICK=1   a quarter of the work
"""

import sys

import host
from guest import on_each
from guest_boots import BOOTS
from guest_tests import TESTS


def tests_of(guest):
    for name in host.names("TESTS"):
        TESTS[name](guest)


def main():
    host.begin()
    if host.names("TESTS"):
        on_each(host.names("SYSTEMS"), tests_of)
    for name in host.names("BOOTS"):
        BOOTS[name]()
    return bool(host.failures)


sys.exit(main())
