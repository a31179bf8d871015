#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compares the memory of two guests, page by page: after a migration both must be the same.

    ramcmp.py FILE FILE

Shows the first pages that differ, with the bytes on both sides: what they hold often tells
which side wrote them. Exit status 1: a page differs, or the sizes do.
"""
import sys

PAGE = 4096
CHUNK = 256 * PAGE
SHOWN_PAGES = 8
SHOWN_BYTES = 32


def show(at, names, pages):
    differ = [i for i in range(PAGE) if pages[0][i] != pages[1][i]]
    first = differ[0] & ~7
    print(f"page {at:#x} differs in {len(differ)} bytes, from {first:#x} on")
    for name, page in zip(names, pages):
        print(f"  {name}: {page[first:first + SHOWN_BYTES].hex(' ', 8)}")


def main(*names):
    pages = wrong = 0
    with open(names[0], "rb") as a, open(names[1], "rb") as b:
        while True:
            chunks = a.read(CHUNK), b.read(CHUNK)
            size = len(chunks[0])
            if size != len(chunks[1]) or size % PAGE:
                print("the sizes differ, or are not of whole pages")
                return 1
            if not size:
                break
            for at in range(0, size if chunks[0] != chunks[1] else 0, PAGE):
                sides = [chunk[at:at + PAGE] for chunk in chunks]
                if sides[0] != sides[1]:
                    wrong += 1
                    if wrong <= SHOWN_PAGES:
                        show(pages * PAGE + at, names, sides)
            pages += size // PAGE
    print(f"{wrong} of {pages} pages differ")
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
