# SPDX-License-Identifier: GPL-2.0
"""The files of drivers/kvnet, and where the files of this package are."""
import glob
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.realpath(os.environ.get("KVNET_BUILD") or os.path.join(TOP, "build"))
CACHE = os.path.realpath(os.environ.get("KVNET_CACHE") or os.path.expanduser("~/.cache/kvnet"))
FOLDER = os.path.join(TOP, "scripts", "mutants")
VERDICTS = os.path.join(FOLDER, "verdicts")
TESTS = os.path.join(FOLDER, "tests")
BUGS = os.path.join(FOLDER, "bugs")


class Source:
    """The files of drivers/kvnet in a tree, by their names without folders."""
    def __init__(self, tree):
        self.driver = os.path.join(tree, "drivers", "kvnet")
        self.paths, self.texts = {}, {}
        for path in sorted(glob.glob(os.path.join(self.driver, "**", "*.[ch]"), recursive=True)):
            self.paths.setdefault(os.path.basename(path), []).append(path)

    def path(self, file):
        found = self.paths.get(file, [])
        if len(found) != 1:
            raise ValueError(f"needs one {file} below {self.driver}, there are {len(found)}")
        return found[0]

    def relative(self, file):
        """The path below drivers/kvnet."""
        return os.path.relpath(self.path(file), self.driver)

    def text(self, file):
        if file not in self.texts:
            with open(self.path(file), encoding="utf-8") as lines:
                self.texts[file] = lines.read()
        return self.texts[file]


def read_table(path):
    """Lines of a name, a tab and the rest."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split("\t", 1) for line in lines
                    if line.strip() and not line.startswith("#"))
