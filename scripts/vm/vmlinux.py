#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Takes the kernel itself, an ELF file, out of a bzImage: vmlinux.py BZIMAGE VMLINUX

QEMU boots it by its PVH entry. An emulated CPU then need not unpack the kernel at
each boot, which takes a guest within the test host 1 to 4 seconds.

A kernel without that entry, or packed in an unknown way, is copied as it is.
See Documentation/arch/x86/boot.rst of Linux: setup_sects, payload_offset.
"""
import lzma
import shutil
import struct
import subprocess
import sys
import zlib


def unzstd(data):
    return subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout


def ungzip(data):
    # the length at the end is gzip's own, which is missed here
    return zlib.decompressobj(31).decompress(data)


PACKERS = {b"\xfd7zXZ\0": lzma.decompress, b"\x28\xb5\x2f\xfd": unzstd, b"\x1f\x8b\x08": ungzip}
# its note: 4 bytes of "Xen" and their zero, an address of 4 or 8 bytes, and this type
PHYS32_ENTRY = 18


def payload(image):
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    return image[start:start + length]


def unpacked(data):
    """what is packed in it, whose length are its last 4 bytes; else None"""
    for magic, unpack in PACKERS.items():
        if data.startswith(magic):
            kernel = unpack(data[:-4])
            return kernel if len(kernel) == struct.unpack("<I", data[-4:])[0] else None
    return None


def has_pvh_entry(kernel):
    return any(struct.pack("<III", 4, size, PHYS32_ENTRY) + b"Xen\0" in kernel for size in (4, 8))


def main():
    source, target = sys.argv[1:]
    with open(source, "rb") as file:
        kernel = unpacked(payload(file.read()))
    if kernel and kernel.startswith(b"\x7fELF") and has_pvh_entry(kernel):
        with open(target, "wb") as file:
            file.write(kernel)
    else:
        shutil.copyfile(source, target)


main()
