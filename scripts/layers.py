#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which file of drivers/kvnet may use which: layers.py SOURCES OBJECTS

Looks at the includes of the sources and at the symbols of the objects built from them (nm), and
refuses what layers.list does not allow with a reason:

    FILE > FILE: NAME    a file uses a symbol or includes a header (NAME) of a folder that is not below its own
    circle: FILE...      files that use symbols of each other, directly or through others that they may use
    prefix FILE: NAME    a symbol that other files use, and that does not begin with kvnet_<file>_
    header FILE: NAME    a header declares a symbol of another .c file than its own

FILE is a path without its ending. Parameters (kvnet_param_*) belong to no file, but are below all.
An entry of layers.list that nothing needs is refused as well.
"""
import collections
import os
import re
import subprocess
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.list")
# From the top; a folder may use itself and those in the rows below. kvnet is kvnet.h, params are the parameters.
ROWS = [{"main"}, {"ctl"}, {"nl", "net"}, {"kvnet"}, {"vq"}, {"worker", "tap"}, {"mem", "obs", "features", "params"}]
# in the same row
BESIDE = {("mem", "obs")}
# in the same folder
NEVER = [(re.compile(r"net/rx"), re.compile(r"net/tx")), (re.compile(r"net/tx"), re.compile(r"net/rx"))]
# kvnet.h declares what several folders have
ANY_HEADER = {"kvnet"}


def row_of(name):
    folder = name.split("/")[0]
    for number, row in enumerate(ROWS):
        if folder in row:
            return folder, number
    return folder, None


def is_below(user, used):
    """May a file use another, by their folders?"""
    (folder, row), (other, below) = row_of(user), row_of(used)
    if row is None or below is None:
        return False
    if any(a.match(user) and b.match(used) for a, b in NEVER):
        return False
    return folder == other or below > row or (folder, other) in BESIDE


def circles(edges):
    """Sets of files that reach each other; edges: {file: {file}}."""
    reach = {}
    for start in edges:
        seen, left = set(), [start]
        while left:
            for used in edges.get(left.pop(), ()):
                if used not in seen:
                    seen.add(used)
                    left.append(used)
        reach[start] = seen
    return sorted({tuple(sorted(other for other in reach[name] if name in reach.get(other, ()))) for name in edges if name in reach[name]})


def prefix_of(name):
    return "kvnet_" + name.split("/")[-1] + "_"


def declared(text):
    """Names that a header declares: what stands outside of braces, comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#.*?(?<!\\)$", " ", text, flags=re.S | re.M)
    while True:
        shorter = re.sub(r"\{[^{}]*\}", ";", text)
        if shorter == text:
            break
        text = shorter
    names = set()
    for part in text.split(";"):
        if re.match(r"\s*extern\b", part):
            names.update(re.findall(r"\bkvnet_\w+", part))
        elif not re.match(r"\s*static\b", part):
            names.update(re.findall(r"\bkvnet_\w+(?=\()", part))
    return names


def findings(defined, uses, includes, headers):
    """defined: {symbol: file}, uses: {file: {symbol}}, includes: {(file, header)}, headers: {header: {name}}."""
    edges, crossing = collections.defaultdict(set), set()
    for user in sorted(uses):
        for symbol in sorted(uses[user] & defined.keys()):
            used = defined[symbol]
            room = "params" if symbol.startswith("kvnet_param_") else used
            if not symbol.startswith("__"):     # of tracepoints
                crossing.add(symbol)
            if not is_below(user, room):
                yield f"{user} > {used}: {symbol}"
            elif room != "params":
                edges[user].add(used)
    for user, used in sorted(includes):
        if not is_below(user, used):
            yield f"{user} > {used}: {used.split('/')[-1]}.h"
    for circle in circles(edges):
        yield "circle: " + " ".join(circle)
    for symbol in sorted(crossing):
        if not symbol.startswith((prefix_of(defined[symbol]), "kvnet_param_")):
            yield f"prefix {defined[symbol]}: {symbol}"
    for header in sorted(headers.keys() - ANY_HEADER):
        for symbol in sorted(headers[header] & defined.keys()):
            if defined[symbol] != header and not symbol.startswith("kvnet_param_"):
                yield f"header {header}: {symbol}"


def judge(found, allowed):
    """What is wrong, given [(regular expression, reason)]."""
    needed = set()
    for finding in found:
        fits = [entry for entry in allowed if re.fullmatch(entry[0], finding)]
        needed.update(fits)
        if not fits:
            yield finding
    for entry in allowed:
        if entry not in needed:
            yield f"layers.list: nothing needs \"{entry[0]}\""


def read_list(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [tuple(part.strip() for part in line.rsplit(" | ", 1)) for line in lines]


def read_sources(top):
    """Includes, and what headers declare."""
    found, includes, headers = {}, set(), {}
    for folder, _, names in os.walk(top):
        for name in names:
            if re.search(r"(?<!\.mod)\.[ch]$", name):
                path = os.path.relpath(os.path.join(folder, name), top)
                with open(os.path.join(top, path), encoding="utf-8") as file:
                    found[path] = file.read()
    for path, text in found.items():
        stem = path[:-2]
        for other in re.findall(r'^#include "(.*)\.h"', text, flags=re.M):
            # by its folder, or beside the file
            beside = os.path.join(os.path.dirname(path), other)
            other = beside if beside + ".h" in found else other
            if other != stem:
                includes.add((stem, other))
        if path.endswith(".h"):
            headers[stem] = declared(text)
    return found, includes, headers


def read_objects(top, sources):
    """Symbols, of objects that are of these sources."""
    defined, uses = {}, collections.defaultdict(set)
    for path, text in sources.items():
        try:
            with open(os.path.join(top, path), encoding="utf-8") as file:
                same = file.read() == text
        except FileNotFoundError:
            same = False
        if not same:
            sys.exit(f"layers.py: {top} is of another {path}: build the module first")
        if not path.endswith(".c"):
            continue
        stem = path[:-2]
        lines = subprocess.run(["nm", os.path.join(top, stem + ".o")], capture_output=True, text=True, check=True).stdout
        for line in lines.splitlines():
            kind, symbol = line.split()[-2:]
            if kind == "U":
                uses[stem].add(symbol)
            elif kind.isupper():
                defined[symbol] = stem
    return defined, uses


def main(sources, objects):
    texts, includes, headers = read_sources(sources)
    defined, uses = read_objects(objects, texts)
    wrong = list(judge(findings(defined, uses, includes, headers), read_list(LIST)))
    for line in wrong:
        print(line)
        if line.startswith("circle: "):
            files = line.split()[1:]
            for user in files:
                for symbol in sorted(uses[user]):
                    if defined.get(symbol) in files:
                        print(f"    {user} uses {defined[symbol]}: {symbol}")
    sys.exit(bool(wrong) or not defined)


if __name__ == "__main__":
    main(*sys.argv[1:])
