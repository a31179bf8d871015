# SPDX-License-Identifier: GPL-2.0
"""
The files that a run brings into its machine: a directory that has /kvnet and what else
is to be merged into the root. They are copies: what is tested stays as it is now,
whatever is built meanwhile.
"""

import os
import shlex
import shutil
import stat
import subprocess

import rig


BENCH = "tools/bench"


def inside_path(script):
    """Where a file of the repository is in the machine."""
    path = os.path.realpath(script)
    for folder in ("scripts", "selftests/net", BENCH):
        if path.startswith(f"{rig.TOP}/{folder}/"):
            return f"/kvnet/{os.path.relpath(path, rig.TOP)}"
    return f"/kvnet/{os.path.basename(path)}"


def split_add(item):
    """FILE[:DEST] as the file and its absolute path in the machine."""
    file, colon, dest = item.partition(":")
    return file, os.path.join("/kvnet", dest if colon else os.path.basename(file))


def run_script(words):
    command = " ".join(shlex.quote(word) for word in [inside_path(words[0]), *words[1:]])
    program = "/usr/bin/python3 -uSB" if words[0].endswith(".py") else "bash"
    return f'echo "@@vm-up"\nexec {program} {command}\n'


def env_script(variables):
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables)


def archive(directory, file):
    """
    The same files give the same archive, or a seed of virtual time would not repeat.
    """
    names = [b"."]
    for folder, folders, files in os.walk(os.fsencode(directory)):
        names += [os.path.join(folder, name) for name in folders + files]
    names[1:] = [b"./" + os.path.relpath(name, os.fsencode(directory)) for name in names[1:]]
    for name in names:
        os.utime(os.path.join(os.fsencode(directory), name), (0, 0), follow_symlinks=False)
    with open(file, "wb") as output:
        subprocess.run(["cpio", "-o", "-0", "-H", "newc", "--quiet", "--reproducible"],
                       input=b"".join(name + b"\0" for name in sorted(names)),
                       cwd=directory, stdout=output, check=True)


def install_net_tools(folder):
    rig.run("install", "-D", "-t", folder, *(rig.BUILD / "net-tools").iterdir())


class Tree:
    def __init__(self, root):
        self.root = root
        self.kvnet = root / "kvnet"
        shutil.rmtree(root, ignore_errors=True)
        (self.kvnet / "selftests").mkdir(parents=True)
        rig.run("cp", "-r", rig.TOP / "scripts", self.kvnet / "scripts")
        rig.run("cp", "-r", rig.TOP / "selftests/net", self.kvnet / "selftests/net")

    def add_module(self, kernel):
        """kvnet.ko, if scripts/build-module.sh built it for that kernel."""
        module = rig.BUILD / f"mod-{kernel}/drivers/kvnet/kvnet.ko"
        if module.is_file():
            rig.run("cp", module, self.kvnet)

    def add_uapi_tests(self):
        folder = self.kvnet / "uapi"
        folder.mkdir()
        built = rig.BUILD / "uapi"
        tests = [entry.path for entry in (os.scandir(built) if built.is_dir() else ())
                 if entry.is_file(follow_symlinks=False) and entry.stat().st_mode & stat.S_IXUSR]
        if tests:
            rig.run("cp", "-t", folder, *tests)

    def add(self, item):
        """FILE[:DEST] of the command line."""
        file, dest = split_add(item)
        where = f"{self.root}{os.path.normpath(dest)}"
        os.makedirs(os.path.dirname(where), exist_ok=True)
        rig.run("cp", "-rL", file, where)

    def merge(self, directory):
        rig.run("cp", "-a", f"{directory}/.", f"{self.root}/")

    def write_script(self, words):
        inside = f"{self.root}{inside_path(words[0])}"
        if inside_path(words[0]).startswith(f"/kvnet/{BENCH}/"):
            (self.kvnet / BENCH).parent.mkdir(exist_ok=True)
            rig.run("cp", "-r", rig.TOP / BENCH, self.kvnet / BENCH)
        elif not os.path.exists(inside):
            rig.run("cp", words[0], inside)
        (self.kvnet / "run.sh").write_bytes(os.fsencode(run_script(words)))

    def write_env(self, variables):
        (self.kvnet / "env").write_bytes(os.fsencode(env_script(variables)))

    def add_guest_tools(self):
        """The guest's own second archive: the test programs that run in it."""
        tree = self.root.with_name("guest-tree")
        install_net_tools(tree / "usr/bin")
        archive(tree, self.kvnet / "guest-overlay.cpio")
        shutil.rmtree(tree)
