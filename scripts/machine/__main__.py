# SPDX-License-Identifier: GPL-2.0
"""
Machines in which the module may be loaded, for scripts/vm.sh and scripts/uml.sh:

    python3 -B scripts/machine vm|uml [options] -- script.sh [arguments]
"""

import os
import signal
import sys

import rig
import uml
import vm


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, rig.end_by_signal)
    kind, *words = sys.argv[1:] or [""]
    kinds = {"vm": (vm.parser, vm.TestHost), "uml": (uml.parser, uml.UserModeLinux)}
    if kind not in kinds:
        sys.exit(__doc__.strip())
    parser, machine = kinds[kind]
    try:
        sys.exit(machine(parser().parse(words)).main())
    except BrokenPipeError:
        # the reader of the script's output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except rig.Ended as ended:
        # the caller is to see of what
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)


main()
