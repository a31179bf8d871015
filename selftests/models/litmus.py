#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Litmus tests by the axioms of the Linux kernel's memory model, without herd7.

Knows what the files beside it need and no more: marked accesses, fences, acquire and
release, atomics that always do their write; no dependencies, branches, locks or RCU.
What it does not know it refuses. All executions are enumerated: who reads from which
write, and in which order the writes of a variable are.

Prints, as herd7 does, "Observation NAME Never|Sometimes|Always positive negative".
"""
import itertools
import re
import sys


class Event:
    def __init__(self, thread, kind, var=None, value=None, reg=None, tags=()):
        self.thread, self.kind, self.var = thread, kind, var
        self.value, self.reg, self.tags = value, reg, set(tags)
        self.rmw = None     # the read of an atomic's write


# what stands before, between and behind an access
STATEMENTS = [
    (r'WRITE_ONCE\(\*(\w+), (\d+)\)', lambda m: [('W', m[1], int(m[2]), None, ())]),
    (r'smp_store_release\((\w+), (\d+)\)', lambda m: [('W', m[1], int(m[2]), None, ('rel',))]),
    (r'(\w+) = READ_ONCE\(\*(\w+)\)', lambda m: [('R', m[2], None, m[1], ())]),
    (r'(\w+) = smp_load_acquire\((\w+)\)', lambda m: [('R', m[2], None, m[1], ('acq',))]),
    (r'(\w+) = atomic_read\((\w+)\)', lambda m: [('R', m[2], None, m[1], ())]),
    (r'atomic_inc\((\w+)\)', lambda m: [('R', m[1], None, None, ()), ('RMW', m[1], '+1', None, ())]),
    (r'(\w+) = (?:atomic_)?xchg\((\w+), (\d+)\)',
     lambda m: [('F',), ('R', m[2], None, m[1], ()), ('RMW', m[2], int(m[3]), None, ()), ('F',)]),
    (r'smp_mb\(\)|smp_mb__after_atomic\(\)', lambda m: [('F',)]),
    (r'smp_rmb\(\)', lambda m: [('RMB',)]),
    (r'smp_wmb\(\)', lambda m: [('WMB',)]),
]


def parse(text):
    """-> name, initial values, threads of events, condition"""
    name = re.match(r'C (\S+)', text)[1]
    text = re.sub(r'\(\*.*?\*\)', '', text, flags=re.S)
    init = {v: int(n) for v, n in re.findall(r'(\w+) ?= ?(\d+);', text[text.index('{'):text.index('}')])}
    threads = []
    for body in re.findall(r'^P\d+\([^)]*\)\s*\{(.*?)^\}', text, flags=re.S | re.M):
        events = []
        for line in filter(None, (s.strip() for s in body.split(';'))):
            line = re.sub(r'^int ', '', line)
            if re.fullmatch(r'\w+', line):
                continue
            for pattern, make in STATEMENTS:
                m = re.fullmatch(pattern, line)
                if m:
                    break
            else:
                sys.exit(f'{name}: "{line}" is not known here')
            for what in make(m):
                e = Event(len(threads), *(what if len(what) > 1 else (what[0],)))
                if e.kind == 'RMW':
                    e.kind, e.rmw = 'W', events[-1]
                events.append(e)
        threads.append(events)
    cond = re.search(r'exists\s*\((.*)\)', text, flags=re.S)[1]
    terms = [re.fullmatch(r'(\d+):(\w+)=(\d+)', term.strip()) for term in cond.split('/\\')]
    if not all(terms):
        sys.exit(f'{name}: "{cond}" is not known here')
    return name, init, threads, [(int(t), r, int(v)) for t, r, v in (m.groups() for m in terms)]


### relations: sets of pairs

def then(a, b):
    by = {}
    for x, y in b:
        by.setdefault(x, []).append(y)
    return {(x, z) for x, y in a for z in by.get(y, ())}


def closure(r):
    r = set(r)
    while True:
        more = then(r, r) - r
        if not more:
            return r
        r |= more


def acyclic(r):
    return all(x != y for x, y in closure(r))


def fences(threads, kind, before='RW', after='RW'):
    """Accesses on both sides of such a fence"""
    return {(a, b) for t in threads for i, f in enumerate(t) if f.kind == kind
            for a in t[:i] if a.kind in before for b in t[i:] if b.kind in after}


def allowed(init_writes, threads, rf, co):
    access = [e for t in threads for e in t if e.kind in 'RW'] + init_writes
    ident = {(e, e) for e in access}
    po = {(a, b) for t in threads for i, a in enumerate(t) for b in t[i + 1:] if a.kind in 'RW' and b.kind in 'RW'}
    inner = {(a, b) for a in access for b in access if a.thread == b.thread}
    fr = {(r, w) for x, r in rf for y, w in co if x is y}
    if not acyclic({(a, b) for a, b in po if a.var == b.var} | rf | co | fr):
        return False
    fre, coe, rfe = fr - inner, co - inner, rf - inner
    if any(e.rmw and (e.rmw, e) in then(fre, coe) for e in access):
        return False
    strong = fences(threads, 'F')
    wmb, rmb = fences(threads, 'WMB', 'W', 'W'), fences(threads, 'RMB', 'R', 'R')
    rel = {(a, b) for a, b in po if 'rel' in b.tags}
    acq = {(a, b) for a, b in po if 'acq' in a.tags}
    overwrite = co | fr
    rwdep = {(e.rmw, e) for e in access if e.rmw}
    ppo = (overwrite & inner & po) | rwdep | strong | wmb | rel | rmb | acq
    a_cumul = (strong | rel) | then(rfe, strong | rel)
    cumul = closure(a_cumul | wmb) | ident
    prop = then(then((overwrite - inner) | ident, cumul), rfe | ident)
    hb = ppo | rfe | {(a, b) for a, b in prop & inner if a is not b}
    if not acyclic(hb):
        return False
    return acyclic(then(then(prop, strong), closure(hb) | ident))


def values(threads, rf):
    """What each read sees, or None if an atomic would be before itself"""
    source = {r: w for w, r in rf}
    seen = {}

    def of(e, depth=0):
        if depth > 50:
            return None
        if e.kind == 'W':
            if e.value != '+1':
                return e.value
            old = of(e.rmw, depth + 1)
            return None if old is None else old + 1
        return of(source[e], depth + 1)

    for t in threads:
        for e in t:
            if e.kind == 'R':
                seen[e] = of(e)
                if seen[e] is None:
                    return None
    return seen


def run(text):
    name, init, threads, cond = parse(text)
    reads = [e for t in threads for e in t if e.kind == 'R']
    writes = [e for t in threads for e in t if e.kind == 'W']
    names = sorted({e.var for e in reads + writes})
    init_writes = [Event(-1 - i, 'W', v, init.get(v, 0)) for i, v in enumerate(names)]
    first = {e.var: e for e in init_writes}
    by_var = [[w for w in writes if w.var == v] for v in names]
    yes = no = 0
    for sources in itertools.product(*[[w for w in writes + init_writes if w.var == r.var] for r in reads]):
        rf = set(zip(sources, reads))
        seen = values(threads, rf)
        if seen is None:
            continue
        for orders in itertools.product(*[itertools.permutations(ws) for ws in by_var]):
            co = {(a, b) for v, o in zip(names, orders) for i, a in enumerate((first[v],) + o) for b in o[i:]}
            if not allowed(init_writes, threads, rf, co):
                continue
            regs = {(e.thread, e.reg): seen[e] for e in reads if e.reg}
            hit = all(regs[t, r] == v for t, r, v in cond)
            yes, no = yes + hit, no + (not hit)
    print(f'Observation {name} {"Never" if not yes else "Always" if not no else "Sometimes"} {yes} {no}')


for path in sys.argv[1:]:
    with open(path) as f:
        run(f.read())
