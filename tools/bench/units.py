# SPDX-License-Identifier: GPL-2.0
"""Values in base units, written for people: 6220000 1/s is 6.22 M/s."""

LARGE = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
TIME = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
NAMES = {"1/s": "/s", "bit/s": "bit/s", "B": "B", "B/s": "B/s"}


def scale_for(values, unit):
    """(divisor, name) that suits the largest of these values."""
    top = max((abs(v) for v in values), default=0)
    if unit in SECONDS:
        base = SECONDS[unit]
        for size, name in TIME:
            if top * base >= size * 0.9995:
                return size / base, name
        return 1e-9 / base, "ns"
    if unit in NAMES:
        for size, name in LARGE:
            if top >= size * 0.9995:
                return size, name + NAMES[unit]
        return 1, NAMES[unit]
    return 1, "" if unit in ("1", "count") else unit


def digits(value):
    """Three digits that count, never an exponent."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    if size >= 0.001:
        return f"{value:.3g}"
    return f"{value:.1g}"


def text(value, unit):
    divisor, name = scale_for([value], unit)
    return f"{digits(value / divisor)} {name}".strip()


def percent(ratio, signed=False):
    value = 100 * ratio
    sign = "+" if signed and value > 0 else ""
    if abs(value) >= 10:
        return f"{sign}{value:.0f} %"
    return f"{sign}{value:.1f} %"
