#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Are the words those of virtio, vhost, NAPI and ethtool, and has each sentence an actor?

    scripts/words.py FILE...

Refuses what words.list does, and says what to use instead. CHANGELOG.rst may name what has
changed, below its heading "Names that changed".
"""
import os
import re
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.list")
OLD_NAMES = re.compile(r"Names that changed")


def read_list(lines):
    """[(compiled expression, what to use instead)]"""
    found = []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            word, instead = line.rsplit(" | ", 1)
            # letters and digits belong to a word, an underscore parts two
            found.append((re.compile(rf"(?<![^\W_])(?:{word.strip()})(?![^\W_])", re.IGNORECASE), instead.strip()))
    return found


def findings(text, words, may_end=False):
    """[(line, word, what to use instead)]; may_end: old names may follow at the end."""
    for number, line in enumerate(text.splitlines(), 1):
        if may_end and OLD_NAMES.match(line):
            return
        for word, instead in words:
            for match in word.finditer(line):
                yield number, match.group(), instead


def main(paths):
    with open(LIST, encoding="utf-8") as file:
        words = read_list(file)
    bad = False
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            continue
        for number, word, instead in findings(text, words, path.endswith("CHANGELOG.rst")):
            print(f'{path}:{number}: "{word}": say {instead}')
            bad = True
    sys.exit(bad or not paths)


if __name__ == "__main__":
    main(sys.argv[1:])
