# SPDX-License-Identifier: GPL-2.0
"""
What options may be: a wrong one is refused before anything is built. Those that test programs read
would count as zero there, or as nothing.
"""
import glob
import os
import re

import plan
from needs import TOP

NUMBER = "a number above 0", "0*[1-9][0-9]*"
SEED = "a number", "[0-9]+|0x[0-9a-fA-F]+"
HEXADECIMAL = "a hexadecimal number, as the run that found it has said", "(0x)?[0-9a-fA-F]{1,16}"
ROUNDS = "a number above 0, or a part such as 1/3", "[1-9][0-9]*(/[1-9][0-9]*)?"
LAYOUT = "some of split, packed and in_order, with commas", "(split|packed|in_order)(,(packed|in_order))*"
STOP = r"(kvnet|vhost|off)/[0-9.]+(/postcopy)?"
CHAIN = "such as 'kvnet/10.0 vhost/7.2 kvnet/10.0/postcopy'", rf"\s*{STOP}(\s+{STOP})+\s*"

FORMS = {
    "RUN_SECONDS": NUMBER, "LIFE_CYCLES": NUMBER, "SYSFUZZ_SECONDS": NUMBER,
    "SHORTCUT_SECONDS": NUMBER, "SOAK_MINUTES": NUMBER, "GUESTS": NUMBER, "KSFT_SLOW": NUMBER,
    "UNIT_LONG": NUMBER, "STREAM_BYTES": NUMBER, "HOST_MB": NUMBER, "NODES": NUMBER,
    "KSFT_SEED": SEED, "UNIT_SEED": SEED, "SHORTCUT_SEED": HEXADECIMAL, "KSFT_LONG": ROUNDS,
    "KVNET_LAYOUT": LAYOUT, "KVNET_WORKER": ("task or kthread", "task|kthread"),
    "MIGRATE_CHAIN": CHAIN,
}
# names that other verbs have for something else
SYSFUZZ = {
    "SEED": HEXADECIMAL, "AGAIN": NUMBER,
    "OPS": ("numbers and ranges, such as 17,30-40", "[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*"),
}
# what make calls them
OF_MAKE = {"SYSFUZZ_SECONDS": "SECONDS", "LIFE_CYCLES": "CYCLES"}


def parameters():
    """Those of the module."""
    for path in glob.glob(f"{TOP}/drivers/kvnet/*.c"):
        with open(path, encoding="utf-8") as file:
            yield from re.findall(r"^module_param(?:_named)?\((\w+)", file.read(), re.M)


def check(verb):
    for name, (what, form) in (FORMS | (SYSFUZZ if verb == "sysfuzz" else {})).items():
        value = os.environ.get(name)
        if value and not re.fullmatch(form, value):
            raise plan.Unknown(f"{OF_MAKE.get(name, name)} is {what}, not '{value}'")
    words = [word.partition("=")[0] for word in os.environ.get("KVNET_PARAMS", "").split()]
    if words and os.environ.get("BACKEND") in (None, "", "kvnet"):
        plan.known("the module has no parameter", words, sorted(parameters()))
