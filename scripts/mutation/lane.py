# SPDX-License-Identifier: GPL-2.0
"""A copy of the sources, in which one mutant at a time is tried."""
import filecmp
import os
import shutil

from . import uml
from .process import run_logged
from .source import BUILD, TOP, Source
from .unit import NotBuilt, Units

PARTS = ("Kbuild", "drivers", "include", "scripts", "selftests")
# of the cache
ENTRIES = ("uml", "uml-src", "uml-smp-kasan", "uml-smp-kasan-src", "kernel-6.12")


def files_below(folder):
    return {os.path.relpath(os.path.join(at, name), folder)
            for at, _, names in os.walk(folder) for name in names}


def make_same(old, new):
    """Makes new a copy of old. What is the same already stays, so that nothing is built again."""
    if os.path.isfile(old):
        if not os.path.exists(new) or not filecmp.cmp(old, new, shallow=False):
            shutil.copy(old, new)
        return
    mine = files_below(old)
    for name in mine:
        if "__pycache__" in name:
            continue
        os.makedirs(os.path.dirname(os.path.join(new, name)), exist_ok=True)
        make_same(os.path.join(old, name), os.path.join(new, name))
    for name in files_below(new) - mine:
        os.remove(os.path.join(new, name))


class Lane:
    def __init__(self, number, took):
        everything = os.path.join(BUILD, "mutate")
        self.work = os.path.join(everything, f"lane-{number}")
        self.tree = os.path.join(self.work, "tree")
        self.log = os.path.join(self.work, "log")
        self.modules = os.path.join(self.work, "modules")
        os.makedirs(os.path.join(self.tree, "build"), exist_ok=True)
        shutil.rmtree(self.modules, ignore_errors=True)
        os.makedirs(self.modules)
        for part in PARTS:
            make_same(os.path.join(TOP, part), os.path.join(self.tree, part))
        with open(self.log, "w", encoding="utf-8"):
            pass
        self.source = Source(self.tree)
        self.units = Units(self.tree, os.path.join(self.tree, "build", "unit"), self.log, took)
        self.uml = uml.Uml(self, os.path.join(everything, "uapi"))
        self.times = None

    def share_entries(self):
        for name in ENTRIES:
            link = os.path.join(BUILD, name)
            mine = os.path.join(self.tree, "build", name)
            if os.path.islink(link):
                if os.path.lexists(mine):
                    os.remove(mine)
                os.symlink(os.readlink(link), mine)

    def note(self, text):
        with open(self.log, "a", encoding="utf-8") as out:
            print(text, file=out)

    ### one mutant

    def apply(self, mutant):
        """Its path."""
        path, text = self.source.path(mutant.file), self.source.text(mutant.file)
        start, end, new = mutant.change(text)
        self.times = os.stat(path)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text[:start] + new + text[end:])
        return path

    def restore(self, mutant):
        """With its time: nothing that was built of the mutant stays."""
        path = self.source.path(mutant.file)
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.source.text(mutant.file))
        os.utime(path, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))

    def quick(self, mutant, tests):
        """Unit tests and masks. The killer, or None."""
        path = self.apply(mutant)
        try:
            self.units.begin()
            for test in tests:
                kind, _, name = test.partition(":")
                if kind == "unit":
                    what = self.units.run(name, path)
                elif kind == "nospec":
                    what = self.nospec(mutant, name)
                else:
                    continue
                if what is not None:
                    return f"{test} {what}".strip()
            return None
        finally:
            self.restore(mutant)

    def nospec(self, mutant, function):
        """Empty if the mask of this function is missing in the object code."""
        file = self.source.relative(mutant.file)
        if not file.endswith(".c"):
            return None
        made = "drivers/kvnet/" + file[:-len(".c")] + ".o"
        if os.path.exists(os.path.join(self.tree, made)):
            os.remove(os.path.join(self.tree, made))
        if run_logged(["make", "-s", "-C", headers(self.tree), f"M={self.tree}", made], self.log):
            raise NotBuilt
        words = ["python3", "-B", os.path.join(self.tree, "scripts", "check-nospec.py"),
                 os.path.join(self.tree, "drivers", "kvnet"), function]
        status = run_logged(words, self.log)
        if status not in (0, 1):
            raise NotBuilt
        return "" if status else None

    def build_module(self, mutant, stage, path):
        module = self.uml.module(stage)
        if module is None:
            raise RuntimeError(f"the module does not build without a mutant; see {self.log}")
        file = self.source.relative(mutant.file)
        self.apply(mutant)
        try:
            module.make_mutant(file, path)
        finally:
            self.restore(mutant)
            module.restore(file, self.source.path(mutant.file))


def headers(tree):
    """Those of Debian's 6.12."""
    kernel = os.path.join(tree, "build", "kernel-6.12")
    release = os.listdir(os.path.join(kernel, "lib", "modules"))[0]
    return os.path.join(kernel, "usr", "src", f"linux-headers-{release}")
