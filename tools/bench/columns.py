# SPDX-License-Identifier: GPL-2.0
"""Cells as columns of text."""


def columns_text(head, lines):
    """Columns as wide as needed; the first is flush left."""
    cells = [head] + lines
    width = [max(len(line[i]) for line in cells if i < len(line)) for i in range(len(head))]
    return ["  ".join(cell.ljust(width[i]) if i == 0 else cell.rjust(width[i]) for i, cell in enumerate(line)).rstrip()
            for line in cells]
