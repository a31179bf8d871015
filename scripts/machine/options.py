# SPDX-License-Identifier: GPL-2.0
"""The command line, as far as both kinds of machine have the same."""

import argparse
import os
import re
import sys
from pathlib import Path

import rig


class Parser(argparse.ArgumentParser):
    def __init__(self, kind, usage, about, after):
        super().__init__(prog=f"scripts/{kind}.sh", usage=usage, description=about, epilog=after,
                         allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.add_argument("--timeout", type=int, default=900, metavar="SECONDS",
                          help="for the whole run (default 900)")
        self.add_argument("--add", action="append", default=[], metavar="FILE[:DEST]",
                          help="put a file or directory at DEST, by default /kvnet/<its name>; "
                          "DEST without a slash in front is below /kvnet; may be repeated")
        self.add_argument("--env", action="append", default=[], type=variable, metavar="NAME=VALUE",
                          help="set a variable for the script; may be repeated")
        self.add_argument("--append", default="", metavar="WORDS",
                          help="more words for the kernel command line")
        self.add_argument("--output", type=Path, metavar="FILE",
                          help="the script's output (of the attempt that counts)")
        self.add_argument("--name", metavar="NAME", help="name of the log directory build/log/NAME")
        self.add_argument("--no-verdict", dest="verdict", action="store_false",
                          help="do not fail on a bad kernel message")

    def error(self, message):
        rig.die(f"{message}; see {self.prog} --help")

    def parse(self, words):
        """The options; script is what stands after "--"."""
        words, script = split(words)
        options, rest = self.parse_known_args(words)
        if rest:
            if rest[0].startswith("-"):
                self.error(f"unknown option {rest[0]}")
            rig.die(f"unexpected '{rest[0]}'; the script comes after --")
        options.script = script
        options.shell = getattr(options, "shell", False)
        if not script and not options.shell:
            self.print_help(sys.stderr)
            sys.exit(1)
        if script and not os.path.isfile(script[0]):
            rig.die(f"no such script: {script[0]}")
        return options


def split(words):
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1:]


def variable(text):
    """NAME=VALUE; what is no name would be a command in the script's shell."""
    name, _, value = text.partition("=")
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise argparse.ArgumentTypeError(f"no name of a variable: '{name}'")
    return name, value
