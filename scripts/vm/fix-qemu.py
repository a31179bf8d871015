#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A copy of QEMU with two faults of its emulated SVM mended.

    fix-qemu.py <qemu-system-x86_64> <copy>

1. An interrupt is delivered twice. When a nested guest is entered with an
interrupt to be injected, helper_vmrun() notes the vector in exception_index,
delivers it, and leaves the note there. If the virtual CPU stops before the
guest's next exit (the end of its instruction budget, a kick by another thread),
the note is taken for an exception and the vector is delivered again, whatever
the guest's interrupt flag says: its handler then waits for a lock that it holds
itself. Frequent when instructions are counted.

2. A nested guest gets the host's registers, and loops for ever. Whenever any CPU
restores the state of its FPU (fxrstor and the like, at each switch of tasks),
cpu_clear_ignne() clears one bit in hflags2 of the FIRST CPU, by a plain
read-modify-write from whatever thread. What the first CPU writes to its hflags2
at that moment is lost. If do_vmexit() has just cleared HF2_NPT_MASK, the bit
comes back, the host's next instruction is looked for through the guest's nested
page table, and the "exit" that this causes saves the host's state into the
guest's VMCB. The global interrupt flag is in the same word. The bit to be
cleared stands for a DOS-style FPU interrupt, ignored after a write to port F0h:
nothing but a guest with CR0.NE = 0 that unmasks FPU errors could tell.

Each is one instruction, and becomes a no-op. Both are in 7.2 and 10.0.

Exit status 3, and no copy, if a place is not found exactly once.
"""

import os
import re
import sys

PLACES = {
    "the interrupt's note in helper_vmrun()": (re.compile(
        rb"(\x89[\xb0-\xb7].{4})"			# exception_index = vector
        rb"\xc7[\x80-\x87].{4}\0\0\0\0"			# exception_is_int = 0
        rb"\x48\xc7[\x80-\x87].{4}\xff\xff\xff\xff"	# exception_next_eip = -1
        rb"\xf6\x05.{4}.\x0f\x85.{4}"			# log?
        rb"\xba\x01\0\0\0\x48\x89.\xe8", re.S),		# do_interrupt_x86_hardirq(env, vector, 1)
        b"\x66\x0f\x1f\x44\x00\x00"),
    "the clearing in cpu_clear_ignne()": (re.compile(
        rb"\x48\x83\xec\x08\x48\x8b\x3d.{4}"		# first_cpu
        rb"\x4c\x8d\x05.{4}\xb9.{4}\x48\x8d\x15.{4}\x48\x8d\x35.{4}\xe8.{4}"	# X86_CPU()
        rb"(\x81\xa0.{4}\x7f\xff\xff\xff)"		# hflags2 &= ~HF2_IGNNE_MASK
        rb"\x48\x83\xc4\x08", re.S),
        b"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"),
}


def main():
    source, copy = sys.argv[1:]
    with open(source, "rb") as file:
        data = bytearray(file.read())
    for name, (pattern, nop) in PLACES.items():
        places = [match.span(1) for match in pattern.finditer(data)]
        if len(places) != 1:
            print(f"{source}: {len(places)} places look like {name}, not one: left as it is", file=sys.stderr)
            return 3
        start, end = places[0]
        assert end - start == len(nop)
        data[start:end] = nop
    partial = f"{copy}.{os.getpid()}"
    with open(partial, "wb") as file:
        file.write(data)
    os.chmod(partial, 0o755)
    os.replace(partial, copy)
    return 0


sys.exit(main())
