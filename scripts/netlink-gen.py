#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Makes C of the specification of the netlink family, by the kernel's generator (that of Linux 6.12): the uapi header,
and the policies and operations of the module.

    scripts/netlink-gen.py            writes the files
    scripts/netlink-gen.py --check    are they what the specification gives?
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("KVNET_BUILD") or TOP / "build")
SPEC = "Documentation/netlink/specs/kvnet.yaml"
TOOL = BUILD / "uml-src/tools/net/ynl/ynl-gen-c.py"
SCHEMA = BUILD / "ynl/genetlink-legacy.yaml"
FILES = (("uapi", "header", "include/uapi/linux/kvnet.h"), ("kernel", "source", "drivers/kvnet/nl/netlink_gen.c"),
         ("kernel", "header", "drivers/kvnet/nl/netlink_gen.h"))


def generate(tree, check, mode, kind, name):
    """In a tree where the generator finds what it looks for in the kernel's; MAINTAINERS marks its root."""
    made = tree / name
    made.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["/usr/bin/python3", "-B", TOOL, "--spec", tree / SPEC, "--mode", mode, f"--{kind}", "-o", made], check=True)
    if check and subprocess.run(["diff", "-u", TOP / name, made], check=False).returncode:
        sys.exit(f"{name} is not what {SPEC} gives; run: scripts/netlink-gen.py")
    if not check and made.read_bytes() != (TOP / name).read_bytes():
        shutil.copy(made, TOP / name)


def main():
    if not (TOOL.exists() and SCHEMA.exists()):
        subprocess.run([TOP / "scripts/setup.sh", "--ynl"], check=True)
    with tempfile.TemporaryDirectory() as directory:
        tree = pathlib.Path(directory)
        (tree / SPEC).parent.mkdir(parents=True)
        shutil.copy(TOP / SPEC, tree / SPEC)
        shutil.copy(SCHEMA, tree / "Documentation/netlink")
        (tree / "MAINTAINERS").touch()
        for mode, kind, name in FILES:
            generate(tree, sys.argv[1:] == ["--check"], mode, kind, name)


main()
