# SPDX-License-Identifier: GPL-2.0
"""What the lanes print, and results.json.

    @bench lane=native rep=3 backend=kvnet test=pps dir=tx size=64 metric=pps value=6220000 unit=1/s
    @fact lane=native key=kernel value=6.12.117
    @note lane=native text=one_CPU,_no_exits

Words of the form key=value; no spaces in values: an underscore stands for one in
facts and notes. Of a row, lane, backend, test, metric, unit and all parameters
(size, dir, ...) are its identity; rep tells its samples apart. slices=1,2,3 are what
value is the median of: pieces of the sample, which stand beside those of the other
backends of that repetition, group by group.
"""

import json
import math
import os

FIXED = ("lane", "backend", "test", "metric", "unit")
NEEDED = FIXED + ("rep", "value")
NO_PARAMETERS = NEEDED + ("slices",)
MORE_IS_BETTER = ("1/s", "bit/s")


class BadRow(ValueError):
    pass


def better(unit):
    """+1 where more is better, -1 where less is."""
    return 1 if unit in MORE_IS_BETTER else -1


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def sort_value(text):
    """Numbers by size, before words."""
    return (0, float(text), "") if is_number(text) else (1, 0.0, text)


class Key:
    """The identity of a row."""

    __slots__ = ("fixed", "params", "_id")

    def __init__(self, fixed, params):
        self.fixed = dict(fixed)
        self.params = dict(params)
        self._id = (tuple(self.fixed[k] for k in FIXED), tuple(sorted(self.params.items())))

    def get(self, name, default=None):
        return self.fixed.get(name, self.params.get(name, default))

    def without(self, *names):
        """The identity less some keys, to find a row's peers."""
        return (tuple((k, v) for k, v in self.fixed.items() if k not in names),
                tuple(sorted((k, v) for k, v in self.params.items() if k not in names)))

    def __hash__(self):
        return hash(self._id)

    def __eq__(self, other):
        return self._id == other._id

    def __str__(self):
        params = " ".join(f"{k}={v}" for k, v in self.params.items())
        return " ".join(filter(None, (self.fixed["lane"], self.fixed["test"], params, self.fixed["metric"])))


class Row:
    __slots__ = ("key", "rep", "value", "slices")

    def __init__(self, key, rep, value, slices=()):
        self.key, self.rep, self.value, self.slices = key, rep, value, list(slices)

    def __getattr__(self, name):
        if name == "params":
            return self.key.params
        if name in FIXED:
            return self.key.fixed[name]
        raise AttributeError(name)

    def get(self, name, default=None):
        return self.key.get(name, default)


def words_of(line):
    words = {}
    for word in line.split()[1:]:
        name, equals, value = word.partition("=")
        if not equals or not name or not value or name in words:
            raise BadRow(f"not key=value, or twice: '{word}' in: {line.strip()}")
        words[name] = value
    return words


def row_of(words, line=""):
    lacking = [name for name in NEEDED if name not in words]
    if lacking:
        raise BadRow(f"no {', '.join(lacking)} in: {line.strip()}")
    if not is_number(words["value"]):
        raise BadRow(f"value is no number in: {line.strip()}")
    if not words["rep"].lstrip("-").isdigit():
        raise BadRow(f"rep is no whole number in: {line.strip()}")
    slices = words["slices"].split(",") if "slices" in words else []
    if not all(is_number(value) for value in slices):
        raise BadRow(f"a slice is no number in: {line.strip()}")
    params = {k: v for k, v in words.items() if k not in NO_PARAMETERS}
    return Row(Key({k: words[k] for k in FIXED}, params), int(words["rep"]), float(words["value"]), map(float, slices))


def matches(key, where):
    for name, want in where.items():
        have = key.get(name)
        if want is None:
            if have is not None:
                return False
        elif isinstance(want, (list, tuple, set, frozenset)):
            if have not in {str(w) for w in want}:
                return False
        elif have != str(want):
            return False
    return True


class Results:
    def __init__(self):
        self.rows = []
        self.facts = {}
        self.notes = {}
        self.meta = {}
        self.bad = []

    def add_line(self, line):
        """Takes a line of a lane's output; what is none of ours is ignored."""
        kind = line.split(" ", 1)[0].strip()
        if kind not in ("@bench", "@fact", "@note"):
            return
        try:
            words = words_of(line)
            if kind == "@bench":
                self.rows.append(row_of(words, line))
            elif kind == "@fact":
                self.facts.setdefault(words["lane"], {})[words["key"]] = words["value"].replace("_", " ")
            else:
                notes = self.notes.setdefault(words["lane"], [])
                text = words["text"].replace("_", " ")
                if text not in notes:
                    notes.append(text)
        except BadRow as error:
            self.bad.append(str(error))
        except KeyError as error:
            self.bad.append(f"no {error.args[0]} in: {line.strip()}")

    @classmethod
    def parse(cls, lines):
        results = cls()
        for line in lines:
            results.add_line(line)
        return results

    def to_json(self):
        samples = {}
        for row in self.rows:
            samples.setdefault(row.key, []).append([row.rep, row.value] + ([row.slices] if row.slices else []))
        return {
            "format": 1,
            "meta": self.meta,
            "facts": self.facts,
            "notes": self.notes,
            "rows": [dict(key.fixed, params=key.params, samples=values) for key, values in samples.items()],
        }

    @classmethod
    def from_json(cls, data):
        results = cls()
        results.meta, results.facts, results.notes = data["meta"], data["facts"], data["notes"]
        for row in data["rows"]:
            key = Key({k: row[k] for k in FIXED}, row["params"])
            results.rows.extend(Row(key, *sample) for sample in row["samples"])
        return results

    @classmethod
    def load(cls, path):
        """From results.json, or a directory with it, or with rows.txt alone."""
        if os.path.isdir(path):
            json_path = os.path.join(path, "results.json")
            if not os.path.exists(json_path):
                with open(os.path.join(path, "rows.txt"), encoding="utf-8") as file:
                    return cls.parse(file)
            path = json_path
        with open(path, encoding="utf-8") as file:
            return cls.from_json(json.load(file))

    def save(self, path):
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.to_json(), file, indent=1)
            file.write("\n")
        os.replace(path + ".new", path)

    def select(self, **where):
        return [row for row in self.rows if matches(row.key, where)]

    def series(self, **where):
        """{Key: [values]}, in the order of the repetitions."""
        found = {}
        for row in self.select(**where):
            found.setdefault(row.key, []).append((row.rep, row.value))
        return {key: [value for _, value in sorted(pairs, key=lambda p: p[0])] for key, pairs in found.items()}

    def pairs(self, **where):
        """{Key: {rep: value}}: samples of one repetition stand side by side."""
        found = {}
        for row in self.select(**where):
            found.setdefault(row.key, {})[row.rep] = row.value
        return found

    def slices(self, **where):
        """{Key: {rep: [values]}}: those of the slices, or the one value of a sample without."""
        found = {}
        for row in self.select(**where):
            found.setdefault(row.key, {})[row.rep] = row.slices or [row.value]
        return found
