#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# The generic-netlink family stands in two places, in YAML for the kernel's tools and in a
# header for C. Are they the same?
#
#   scripts/check-spec.py SPEC HEADER
import re
import sys

try:
    import yaml
except ImportError:
    print("no python3-yaml: skipped")
    sys.exit(0)


def constant(*words):
    return "_".join(words).upper().replace("-", "_")


def number(entries, first):
    """Names with their numbers; each has one of its own, or the next."""
    for entry in entries:
        name = entry if isinstance(entry, str) else entry["name"]
        if not isinstance(entry, str):
            first = entry.get("value", first)
        yield name, first
        first += 1


def from_spec(path):
    with open(path, encoding="utf-8") as file:
        spec = yaml.safe_load(file)
    family = spec["name"]
    found = {}
    for what in spec["definitions"]:
        for name, value in number(what["entries"], 0):
            found[constant(family, what["name"], name)] = value
    for what in spec["attribute-sets"]:
        for name, value in number(what["attributes"], 1):
            found[constant(family, "a", what["name"], name)] = value
    for name, value in number(spec["operations"]["list"], 1):
        found[constant(family, "cmd", name)] = value
    return found


def from_header(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    found = {}
    for body in re.findall(r"enum[^{;]*\{([^}]*)\}", text):
        value = -1
        for entry in filter(None, (part.strip() for part in body.split(","))):
            name, _, given = (part.strip() for part in entry.partition("="))
            if name.endswith("_MAX"):
                continue
            value = int(given, 0) if given else value + 1
            found[name] = value
    return found


def refused(path):
    """What the kernel's schema of specifications does not take, as ynl.sh has shown: its tool then reads nothing."""
    with open(path, encoding="utf-8") as file:
        spec = yaml.safe_load(file)
    for what in spec["attribute-sets"]:
        for attribute in what["attributes"]:
            for name, value in attribute.get("checks", {}).items():
                if isinstance(value, int) and value < 0:
                    yield f"{what['name']}.{attribute['name']}: {name} is below 0"


def main():
    spec, header = from_spec(sys.argv[1]), from_header(sys.argv[2])
    wrong = [name for name in sorted(spec.keys() | header.keys()) if spec.get(name) != header.get(name)]
    for name in wrong:
        print(f"{name}: {spec.get(name)} in the specification, {header.get(name)} in the header")
    problems = list(refused(sys.argv[1]))
    for problem in problems:
        print(problem)
    sys.exit(bool(wrong or problems) or not spec)


main()
