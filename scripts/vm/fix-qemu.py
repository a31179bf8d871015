#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A copy of QEMU in which the emulated SVM does not deliver an interrupt twice.

    fix-qemu.py <qemu-system-x86_64> <copy>

When a nested guest is entered with an interrupt to be injected, helper_vmrun()
notes the vector in exception_index, delivers it, and leaves the note there. If
the virtual CPU stops before the guest's next exit (the end of its instruction
budget, a kick by another thread), the note is taken for an exception and the
vector is delivered again, whatever the guest's interrupt flag says: its handler
then waits for a lock that it holds itself. Seen in 7.2 and 10.0; frequent when
instructions are counted. The note is one instruction: it becomes a no-op.

Exit status 3, and no copy, if the place is not found exactly once.
"""

import os
import re
import sys

PLACE = re.compile(
    rb"(\x89[\xb0-\xb7].{4})"			# exception_index = vector
    rb"\xc7[\x80-\x87].{4}\0\0\0\0"		# exception_is_int = 0
    rb"\x48\xc7[\x80-\x87].{4}\xff\xff\xff\xff"	# exception_next_eip = -1
    rb"\xf6\x05.{4}.\x0f\x85.{4}"		# log?
    rb"\xba\x01\0\0\0\x48\x89.\xe8", re.S)	# do_interrupt_x86_hardirq(env, vector, 1)
NOP6 = b"\x66\x0f\x1f\x44\x00\x00"


def main():
    source, copy = sys.argv[1:]
    with open(source, "rb") as file:
        data = bytearray(file.read())
    places = [match.start(1) for match in PLACE.finditer(data)]
    if len(places) != 1:
        print(f"{source}: {len(places)} places look like the fault, not one: left as it is", file=sys.stderr)
        return 3
    data[places[0]:places[0] + len(NOP6)] = NOP6
    partial = f"{copy}.{os.getpid()}"
    with open(partial, "wb") as file:
        file.write(data)
    os.chmod(partial, 0o755)
    os.replace(partial, copy)
    return 0


sys.exit(main())
