# SPDX-License-Identifier: GPL-2.0
"""Tests of the laboratory's arithmetic and of its files: python3 tools/bench/test_bench.py"""

import collections
import contextlib
import importlib.util
import io
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.dom.minidom
from html import escape

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(sys.path[0], "inside"))

# pylint: disable=wrong-import-position
import cases
import chance
import compare
import demo
import draw
import guest
import guest_boots
import guest_tests
import host
import items
import lanes
import machine
import native
import paper
import plan_bench
import plots
import profile_top
import profiling
import report
import rows
import stats
import still_open
import units

SPEC = importlib.util.spec_from_file_location("commands", os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py"))
commands = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(commands)

LINE = "@bench lane={lane} rep={rep} backend={backend} test={test} dir=tx size={size} metric={metric} value={value} unit={unit}"


def lines(backend="kvnet", values=(), lane="native", test="pps", size=64, metric="pps", unit="1/s"):
    return [LINE.format(lane=lane, rep=rep, backend=backend, test=test, size=size, metric=metric, value=value, unit=unit)
            for rep, value in enumerate(values, 1)]


def sliced(backend, *samples, lane="native", metric="pps", unit="1/s"):
    """A sample for each repetition, of slices."""
    return [f"@bench lane={lane} rep={rep} backend={backend} test=pps dir=tx size=64 metric={metric} unit={unit} "
            f"value={stats.median(slices)} slices={','.join(map(str, slices))}" for rep, slices in enumerate(samples, 1)]


def results_of(*groups):
    return rows.Results.parse([line for group in groups for line in group])


class Rows(unittest.TestCase):
    def test_reads_a_row(self):
        found = results_of(lines(values=[6.22e6])).rows[0]
        self.assertEqual((found.lane, found.backend, found.test, found.metric, found.unit), ("native", "kvnet", "pps", "pps", "1/s"))
        self.assertEqual((found.rep, found.value, found.params), (1, 6.22e6, {"dir": "tx", "size": "64"}))

    def test_bad_rows_are_told_and_left_out(self):
        bad = ["@bench lane=a rep=1 backend=b test=c metric=m unit=1", "@bench lane=a rep=x backend=b test=c metric=m unit=1 value=1",
               "@bench lane=a rep=1 backend=b test=c metric=m unit=1 value=nan", "@bench lane=a lane=b", "@bench word", "@note lane=x",
               "@bench lane=a rep=1 backend=b test=c metric=m unit=1 value=fast", "@bench lane=a rep=1 backend=b test=c metric=m unit=1 value=1 slices=1,x"]
        found = rows.Results.parse(bad)
        self.assertEqual((len(found.rows), len(found.bad)), (0, len(bad)))

    def test_other_lines_are_ignored(self):
        found = rows.Results.parse(["hello", "@benchmark x", "@pps 1", "", "@counter a b"])
        self.assertEqual((found.rows, found.bad), ([], []))

    def test_facts_and_notes(self):
        found = rows.Results.parse(["@fact lane=l key=cpu value=2_x_fast", "@note lane=l text=no_caches", "@note lane=l text=no_caches"])
        self.assertEqual((found.facts, found.notes), ({"l": {"cpu": "2 x fast"}}, {"l": ["no caches"]}))

    def test_slices(self):
        found = results_of(sliced("kvnet", [1, 2, 3], [4, 5]), lines("vhost_net", [7]))
        self.assertEqual([(row.value, row.slices, row.params) for row in found.rows][:2],
                         [(2, [1, 2, 3], {"dir": "tx", "size": "64"}), (4.5, [4, 5], {"dir": "tx", "size": "64"})])
        self.assertEqual(list(found.slices(backend="kvnet").values()), [{1: [1, 2, 3], 2: [4, 5]}])
        self.assertEqual(list(found.slices(backend="vhost_net").values()), [{1: [7]}])

    def test_json_keeps_everything(self):
        before = results_of(lines(values=[1, 2.5]), lines("vhost_net", [3]), sliced("kvnet-packed", [1, 3]), ["@note lane=native text=a_b"])
        before.meta = {"commit": "x"}
        with tempfile.TemporaryDirectory() as directory:
            before.save(os.path.join(directory, "results.json"))
            after = rows.Results.load(directory)
        self.assertEqual(after.to_json(), before.to_json())

    def test_filters(self):
        found = results_of(lines(values=[1, 2]), lines(values=[3], size=1500), lines("vhost_net", [4]))
        self.assertEqual(len(found.select(size=64)), 3)
        self.assertEqual(len(found.select(size=[64, 1500], backend="kvnet")), 3)
        self.assertEqual(len(found.select(ring=None)), 4)
        self.assertEqual(len(found.select(size=None)), 0)
        self.assertEqual(list(found.series(size=64, backend="kvnet").values()), [[1, 2]])


class Stats(unittest.TestCase):
    def test_simple_figures(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 2, 3]), 2.5)
        self.assertAlmostEqual(stats.sigma([2, 4, 4, 4, 5, 5, 7, 9]), 2.13809, 4)
        self.assertAlmostEqual(stats.mad([1, 2, 3, 4, 100]), 1.4826, 4)

    def test_mann_whitney_by_hand(self):
        # 2 of the C(6, 3) = 20 orders are as far apart; 2 of C(10, 5) = 252
        self.assertAlmostEqual(stats.mann_whitney([1, 2, 3], [4, 5, 6]), 2 / 20)
        self.assertAlmostEqual(stats.mann_whitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), 2 / 252)
        self.assertAlmostEqual(stats.mann_whitney([1, 2, 3], [1, 2, 3]), 1)
        self.assertEqual(stats.mann_whitney([1] * 5, [1] * 5), 1)
        self.assertEqual(stats.mann_whitney([], [1]), 1)

    def test_mann_whitney_by_counting(self):
        a, b = [1, 2, 2, 7], [2, 3, 8, 9, 9]
        both = a + b
        rank = [sum(other < value for other in both) + (both.count(value) + 1) / 2 for value in both]
        middle = 4 * sum(rank) / 9
        every = list(itertools.combinations(rank, 4))
        far = sum(abs(sum(c) - middle) >= abs(sum(rank[:4]) - middle) - 1e-9 for c in every)
        self.assertAlmostEqual(stats.mann_whitney(a, b), far / len(every))

    def test_mann_whitney_of_many_samples(self):
        draw = random.Random(3)
        a = [draw.gauss(10, 1) for _ in range(30)]
        b = [draw.gauss(10, 1) for _ in range(30)]
        self.assertGreater(stats.mann_whitney(a, b), 0.05)
        self.assertLess(stats.mann_whitney(a, [v + 2 for v in b]), 1e-6)

    def test_equal_samples_are_rarely_called_changed(self):
        draw = random.Random(7)
        called = sum(stats.mann_whitney([draw.random() for _ in range(7)], [draw.random() for _ in range(7)]) <= stats.ALPHA
                     for _ in range(500))
        self.assertLessEqual(called, 15)

    def test_interval(self):
        # that the median of all is between the second and the last but one of nine is so in 96 of 100, of eight in 93
        for groups in ([[v] for v in range(1, 10)], [list(range(1, 10))]):
            self.assertEqual(stats.interval_of(groups), (2, 8))
        self.assertEqual(stats.interval_of([[v] for v in range(1, 9)]), (1, 8))
        self.assertEqual(stats.interval_of([[1], [1], [1]]), (1, 1))

    def test_resolves_is_what_the_test_finds(self):
        draw = random.Random(11)
        found = 0
        for _ in range(200):
            a = [draw.gauss(100, 5) for _ in range(9)]
            b = [draw.gauss(100 * (1 + 4.5 * 0.05 * (2 / 9) ** 0.5), 5) for _ in range(9)]
            found += stats.mann_whitney(a, b) <= stats.ALPHA
        self.assertTrue(0.75 < found / 200 < 0.95, found)
        self.assertIsNone(stats.resolves([1, 2, 3]))
        self.assertEqual(stats.resolves([4] * 5), 0)


    def test_pairs_are_slices_of_one_group(self):
        top, bottom = {1: [2, 40, 6], 2: [5, 5], 3: [1]}, {1: [1, 20, 3], 2: [10], 4: [1]}
        self.assertEqual(stats.paired(top, bottom), [[2, 2, 2], [0.5]])
        self.assertEqual(stats.ratio_of([[2, 2, 9], [0.5], [1, 3]]), 2)
        self.assertEqual(stats.best_tenth(range(20), False), 2)
        self.assertEqual(stats.best_tenth(range(20), True), 17)

    def test_interval_of_slices(self):
        draw = random.Random(5)
        groups = [[draw.gauss(1.05, 0.2) for _ in range(200)] for _ in range(7)]
        low, high = stats.interval_of(groups)
        self.assertTrue(1 < low < 1.05 < high < 1.1, (low, high))
        self.assertEqual(stats.interval_of(groups), (low, high))
        self.assertEqual(stats.interval_of([[2]]), (2, 2))
        self.assertTrue(1 < stats.interval_of(groups[:5])[0] < 1.05, "by bootstrap")

    def test_interval_has_the_median_in_it_as_often_as_it_says(self):
        draw = random.Random(8)
        missed = 0
        for _ in range(400):
            low, high = stats.interval_of([[draw.gauss(1, 0.1) for _ in range(9)] for _ in range(9)])
            missed += not low <= 1 <= high
        # 3.9 % are to be expected of nine
        self.assertTrue(4 <= missed <= 28, missed)


class Chances(unittest.TestCase):
    """On a machine whose speed doubles and halves, and which stops now and then."""

    def setUp(self):
        self.draw = random.Random(13)

    def wandering(self, *factors, reps=7, n=100):
        """Slices of backends that are so fast; they stand side by side."""
        found = [[] for _ in factors]
        for _ in range(reps):
            speed = [self.draw.choice((1, 1.5, 2)) for _ in range(n)]
            for samples, factor in zip(found, factors):
                samples.append([round(100 * factor * s * self.draw.gauss(1, 0.02) * self.draw.choice((1,) * 9 + (0.2,)), 3) for s in speed])
        return found

    def entries(self, factor, names=("vhost_net", "vhost_net-twin", "kvnet"), **how):
        samples = self.wandering(1, 1, factor, **how)
        found = results_of(*(sliced(name, *s) for name, s in zip(names, samples)))
        return found, plots.Ratios({}).entries(found)

    def test_five_percent_are_told(self):
        for factor, want in ((1.05, "better"), (0.95, "worse"), (1, "even")):
            found, entries = self.entries(factor)
            self.assertEqual(entries[0][4], want, entries)
            self.assertLess(chance.of(found).of_lane("native")[0], 0.03)
            self.assertIn("1 of 1 rows can tell 5.0 %", chance.sentences(found)[1])

    def test_what_a_twin_does_is_no_difference(self):
        samples = self.wandering(1, 1.1, 1.05)
        found = results_of(*(sliced(name, *s) for name, s in zip(("vhost_net", "vhost_net-twin", "kvnet"), samples)))
        label, at, low, _, said = plots.Ratios({}).entries(found)[0]
        self.assertTrue(at > low > 1, (label, at, low))
        self.assertEqual(said, "cannot tell")
        self.assertIn("this run resolves 1", chance.sentences(found)[0])
        self.assertRegex(chance.sentences(found)[1], r"0 of 1 rows can tell 5.0 %.* cannot tell it of: pps dir=tx size=64 pps \(1. %\)")

    def test_without_a_twin_nothing_is_said_to_resolve(self):
        found = results_of(*(sliced(name, *s) for name, s in zip(("vhost_net", "kvnet"), self.wandering(1, 1.05))))
        self.assertEqual(plots.Ratios({}).entries(found)[0][4], "better")
        self.assertIn("nothing was measured against itself", chance.sentences(found)[0])

    def test_too_few_repetitions(self):
        self.assertEqual(self.entries(1.3, reps=4)[1][0][4], "too few samples")

    def test_two_seeds_are_enough_where_instructions_are_counted(self):
        groups = [sliced(name, [value], [value], lane="icount", metric="worker", unit="instructions")
                  for name, value in (("kvnet", 100), ("vhost_net", 101), ("vhost_net-twin", 101))]
        found = results_of(*groups)
        self.assertEqual(plots.Ratios({}).entries(found)[0][4], "better")
        self.assertIn("lane icount: this run resolves 0", chance.sentences(found)[0])

    def test_a_worker_that_is_not_woken_is_no_measure(self):
        groups = [sliced(name, *[[value, 0, 0]] * 8, metric="worker") for name, value in (("kvnet", 300), ("kvnet-twin", 900))]
        groups += [sliced(name, *[[100, 101, 99]] * 8) for name in ("kvnet", "kvnet-twin")]
        self.assertIn("1 of 1 rows can tell 5.0 %", chance.sentences(results_of(*groups))[1])

    def test_what_most_rows_resolve(self):
        groups = []
        for i in range(10):
            for name, s in zip(("vhost_net", "vhost_net-twin"), self.wandering(1, 1.5 if i == 3 else 1, n=30)):
                groups.append([line.replace("size=64", f"size={i}") for line in sliced(name, *s)])
        share, count, worst, key = chance.of(results_of(*groups)).of_lane("native")
        self.assertEqual((count, key.get("size")), (10, "3"))
        self.assertTrue(share < 0.05 and worst > 0.4, (share, worst))

    def test_rows_that_others_disturb_are_no_measure_for_the_rest(self):
        groups = []
        for test, scale in (("pps", 1), ("rr", 1), ("load", 1.5), ("crowd", 1.5), ("sender", 1.5)):
            for name, s in zip(("vhost_net", "vhost_net-twin"), self.wandering(1, scale, n=30)):
                groups.append([line.replace("test=pps", f"test={test}") for line in sliced(name, *s)])
        found = chance.of(results_of(*groups))
        share, count, worst, _ = found.of_lane("native")
        self.assertEqual(count, 2)
        self.assertTrue(share < 0.05 and worst < 0.05, (share, worst))
        far = {key.get("test"): found.of(key) for key, _, _ in found.rows.values()}
        self.assertTrue(far["pps"] < 0.05 < 0.4 < far["load"], far)

    def test_the_best_tenth_stands_under_the_median(self):
        found = results_of(sliced("kvnet", [10, 20, 30, 40]), sliced("vhost_net", [10, 10, 20, 20]))
        head, lines_ = items.Table({}, rows=("dir", "size")).cells(found)
        self.assertEqual(head[1:], ["kvnet", "vhost_net", "kvnet/vhost_net"])
        self.assertEqual(lines_[0][1:], ["25.0", "15.0", "1.750"])
        self.assertEqual(lines_[1], ["  best tenth", "40.0", "20.0", "2.000"])
        # without the one that others are compared with
        alone = items.Table({"backend": "kvnet"}, rows=("dir", "size")).cells(found)
        self.assertEqual(alone[1][1], ["  best tenth", "40.0"])


class GoOn(unittest.TestCase):
    """What lane native goes by."""

    def ratios(self, *groups):
        """Of the median slices, as the test of a row takes them."""
        found = results_of(*groups).slices()
        top, bottom = (next((values for key, values in found.items() if key.get("backend").endswith(still_open.TWIN) == twin), {}) for twin in (True, False))
        return [still_open.ratio(values, bottom[rep]) for rep, values in top.items()]

    def test_ratios_of_a_backend_and_its_twin(self):
        self.assertEqual(self.ratios(sliced("vhost_net", [10, 20, 40]), sliced("vhost_net-twin", [11, 20, 20])), [1])
        self.assertEqual(self.ratios(sliced("kvnet", [2, 4]), sliced("kvnet-twin", [3, 5])), [1.375])
        # a worker that did nothing says nothing
        self.assertEqual(self.ratios(sliced("kvnet", [0, 0]), sliced("kvnet-twin", [0, 0])), [None])
        self.assertEqual(self.ratios(sliced("kvnet", [2, 0, 0]), sliced("kvnet-twin", [1, 0, 0])), [None])

    def open_of(self, ratios, metric="pps", test="test=pps dir=tx size=64", within=0.05):
        """Tests that are open where the twin is so far from the other."""
        groups = [sliced(name, *[[value] for value in values], metric=metric)
                  for name, values in (("kvnet", [7] * len(ratios)), ("vhost_net", [1] * len(ratios)), ("vhost_net-twin", ratios))]
        return [test_ for test_ in still_open.open_tests(results_of(*groups), within) if test_ == test]

    IS = ["test=pps dir=tx size=64"]

    def test_a_row_that_tells_is_done(self):
        self.assertEqual(self.open_of([0.97, 1.03, 1, 1.02, 0.98, 1]), [])
        # of six values all have to be there; of nine one on each side may be anywhere
        self.assertEqual(self.open_of([0.94, 1.03, 1, 1.02, 0.98, 1]), self.IS)
        self.assertEqual(self.open_of([1.5, 0.5] + [0.99, 1.01] * 3 + [1]), [])
        self.assertEqual(self.open_of([1.5, 1.5] + [0.99, 1.01] * 3 + [1]), self.IS)
        self.assertEqual(self.open_of([1] * 5), self.IS)
        # narrow, but not where it should be
        self.assertEqual(self.open_of([1.06] * 21), self.IS)
        self.assertEqual(self.open_of([0.9, 1.1] * 10), self.IS)

    def test_it_is_the_interval_of_the_report(self):
        for n in (5, 6, 8, 9, 15, 21, 45):
            ends = [1 + 0.01 * (i - (n - 1) / 2) for i in range(n)]
            far = max(abs(end - 1) for end in stats.interval_of([[end] for end in ends])) if n > 5 else 0
            for within, want in ((far + 0.001, [] if n > 5 else self.IS), (far - 0.001, self.IS)):
                self.assertEqual(self.open_of(ends, within=within), want, n)

    def test_each_metric_counts_and_no_other(self):
        groups = [sliced(name, *[[value]] * 9, metric=metric) for metric, twin in (("pps", 1), ("worker", 1.1), ("p99", 2))
                  for name, value in (("kvnet", 1), ("kvnet-twin", twin))]
        self.assertEqual(still_open.open_tests(results_of(*groups), 0.04), self.IS)
        self.assertEqual(still_open.open_tests(results_of(*groups[:2], *groups[4:]), 0.04), [])
        self.assertEqual(still_open.open_tests(results_of(groups[0])), [])

    def test_it_needs_no_package(self):
        """In User-Mode Linux nothing may be installed but Python itself."""
        asked = sliced("kvnet", [1]) + sliced("kvnet-twin", [2])
        code = f"import sys; sys.path.append({os.path.dirname(native.__file__)!r}); import native; print(*native.open_tests({asked}))"
        found = subprocess.run(["/usr/bin/python3", "-ISBc", code], capture_output=True, text=True, check=True).stdout
        self.assertEqual(found, self.IS[0] + "\n")


class Compare(unittest.TestCase):
    noise = [0.98, 1.0, 1.02, 0.99, 1.01, 1.03, 0.97]

    def verdicts(self, old, new):
        changes, _, _ = compare.compare(old, new)
        return {change.key.get("backend"): change.verdict() for change in changes}

    def run_of(self, kvnet, vhost=None, unit="1/s"):
        groups = [lines(values=[kvnet * n for n in self.noise], unit=unit)]
        if vhost:
            groups.append(lines("vhost_net", [vhost * n for n in reversed(self.noise)]))
        return results_of(*groups)

    def test_no_difference(self):
        self.assertEqual(self.verdicts(self.run_of(100), self.run_of(100.5)), {"kvnet": "no difference"})

    def test_difference(self):
        self.assertEqual(self.verdicts(self.run_of(100), self.run_of(120)), {"kvnet": "better"})
        self.assertEqual(self.verdicts(self.run_of(100), self.run_of(80)), {"kvnet": "worse"})

    def test_less_is_better(self):
        self.assertEqual(self.verdicts(self.run_of(100, unit="ns"), self.run_of(120, unit="ns")), {"kvnet": "worse"})

    def test_a_slower_machine_is_no_change_of_kvnet(self):
        self.assertEqual(self.verdicts(self.run_of(100, 90), self.run_of(70, 63)), {"kvnet": "no difference", "vhost_net": "worse"})

    def test_a_change_shows_on_a_slower_machine(self):
        self.assertEqual(self.verdicts(self.run_of(100, 90), self.run_of(98, 63))["kvnet"], "better")

    def test_slices_side_by_side(self):
        draw = random.Random(9)
        speeds = [[[draw.choice((1, 2)) for _ in range(50)] for _ in range(7)] for _ in range(2)]
        old, new = (results_of(sliced("vhost_net", *speed), sliced("kvnet", *[[round(s * factor, 3) for s in rep] for rep in speed]))
                    for factor, speed in ((1.1, speeds[0]), (1.15, speeds[1])))
        self.assertEqual(self.verdicts(old, new)["kvnet"], "better")

    def test_nothing_in_common_is_no_agreement(self):
        with tempfile.TemporaryDirectory() as directory:
            for name, size in (("a", 64), ("b", 1500)):
                os.mkdir(os.path.join(directory, name))
                results_of(lines(values=[1], size=size)).save(os.path.join(directory, name, "results.json"))
            sides = [rows.Results.load(os.path.join(directory, name)) for name in "ab"]
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(commands.write_compare(sides[0], sides[0]), 0)
                self.assertRaises(SystemExit, commands.write_compare, *sides)

    def test_results_that_are_not_there_install_nothing(self):
        with unittest.mock.patch.object(machine, "prepare_report") as prepare:
            self.assertRaises(FileNotFoundError, commands.compare_two, "/nowhere", "/nowhere")
        prepare.assert_not_called()

    def test_too_few(self):
        self.assertEqual(self.verdicts(results_of(lines(values=[1, 2, 3])), results_of(lines(values=[11, 12, 13]))), {"kvnet": "too few samples"})

    def test_rows_of_one_run_only(self):
        _, gone, fresh = compare.compare(results_of(lines(values=[1])), results_of(lines(values=[1], size=1500)))
        self.assertEqual((len(gone), len(fresh)), (1, 1))


class Units(unittest.TestCase):
    def test_prefixes(self):
        self.assertEqual(units.text(6220000, "1/s"), "6.22 M/s")
        self.assertEqual(units.text(25856, "ns"), "25.9 us")
        self.assertEqual(units.text(0.0021, "s"), "2.10 ms")
        self.assertEqual(units.text(0.0123, "1"), "0.0123")
        self.assertEqual(units.text(0, "1/s"), "0 /s")


class Reports(unittest.TestCase):
    def setUp(self):
        values = [5.1e6, 4.8e6, 5.6e6, 5.0e6, 5.2e6]
        self.results = results_of(lines(values=values), lines("vhost_net", values), lines(values=values, size=1500),
                                  ["@note lane=native text=<no_exits>", "@fact lane=native key=kernel value=6.12"])

    def write(self, results, sections):
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as directory:
            report.write(directory, "A & B", sections, results, out=lambda line: print(line, file=out))
            with open(os.path.join(directory, "report.html"), encoding="utf-8") as file:
                page = file.read()
            for name in os.listdir(os.path.join(directory, "plots")):
                xml.dom.minidom.parse(os.path.join(directory, "plots", name))
        return page, out.getvalue()

    def test_the_plan_of_bench(self):
        page, text = self.write(self.results, plan_bench.sections(self.results))
        self.assertIn("A &amp; B", page)
        self.assertIn("&lt;no exits&gt;", page)
        self.assertNotIn("<no exits>", page)
        self.assertIn("5.10 (4.80..5.60)", text)
        self.assertIn("1.00", text)

    def test_references_and_every_kind(self):
        where = {"test": "pps"}
        ref = [report.Ref("paper: x", value=4e6, x=64, at={"size": 64}, stats={"mean": 4e6, "min": 1e6})]
        page, text = self.write(self.results, [report.Section("s", "p", [
            report.Bars(where, reference=ref), report.Lines(where, x="size", xlog=True, ylog=True, reference=ref),
            report.Table(where, rows=("size",), reference=ref), report.Table(where, rows=("size",), stats=("mean", "min", "sigma", "n"), reference=ref),
            report.Ratios(where), report.Resolutions(where), report.Grid("g", ["a", "b"], [["1", "2"]]), report.Text("t")])])
        self.assertIn("paper: x", text)
        self.assertIn("stroke-dasharray", page)
        self.assertNotIn(items.NOTHING, page)

    def test_nothing_to_show(self):
        where = {"test": "absent"}
        kinds = [report.Bars(where), report.Lines(where), report.Table(where), report.Ratios(where)]
        page, _ = self.write(self.results, [report.Section("s", "", kinds)])
        self.assertEqual(page.count(items.NOTHING), len(kinds))

    def test_every_guest_lane_has_sections(self):
        found = results_of(lines(values=[1, 2, 3], lane="vtime", test="tcp"), lines("vhost_net", [1, 2, 4], lane="vtime", test="tcp"))
        page, text = self.write(found, plan_bench.sections(found))
        self.assertIn("tcp (vtime)", page)
        self.assertIn("tcp", text)

    def test_events_are_compared(self):
        found = results_of(*[[f"@bench lane=vtime rep={rep} backend={name} test=events proto=udp dir=rr metric={metric} value={value} unit=1/transaction"]
                             for rep in range(1, 6) for name, value in (("kvnet", 1), ("vhost_net", 2)) for metric in plan_bench.EVENTS])
        _, text = self.write(found, plan_bench.sections(found))
        self.assertRegex(text, "events proto udp rr sum +2.000 +2.000..2.000 +better")
        self.assertRegex(text, r"udp rr timer \[1/transaction\] +1.00 +2.00 +0.500")

    def test_ratio_of_a_latency_is_turned(self):
        found = results_of(lines(values=[10, 11, 12], unit="ns"), lines("vhost_net", [20, 22, 24], unit="ns"))
        self.assertEqual(plots.Ratios({}).entries(found)[0][1], 2.0)

    def test_layouts_are_compared_with_each_other(self):
        found = results_of(*(lines(name, [value] * 5, test="layout", metric="worker")
                             for name, value in (("kvnet-packed", 10), ("kvnet", 8), ("kvnet-user", 4), ("vhost_net", 5))))
        both = plots.Ratios({}, ratio=[("kvnet-packed", "kvnet"), ("kvnet", "kvnet-user"), ("kvnet", "absent")]).entries(found)
        self.assertEqual([(label.split(":")[0], at) for label, at, *_ in both], [("kvnet-packed / kvnet", 1.25), ("kvnet / kvnet-user", 2.0)])
        page, text = self.write(found, plan_bench.sections(found))
        self.assertIn("Layouts of the ring", page)
        self.assertIn("kvnet-packed / kvnet: tx 64 ", text)

    def test_multiples_of_the_floor(self):
        for lane in ("native", "icount"):
            found = results_of(*(lines(name, values, lane, "floor", metric="worker") for name, values in (
                ("floor", [10, 20]), ("kvnet", [15, 40]), ("vhost_net", [30, 60]), ("vhost_net-twin", [30, 60]))))
            self.assertEqual(items.Multiples({"test": "floor"}, "floor").cells(found),
                             (["dir size", "kvnet/floor", "vhost_net/floor"], [["tx 64", "1.750", "3.000"]]))
            self.assertEqual(items.Multiples({"test": "floor"}, "absent").cells(found)[1], [])
            self.assertIn("kvnet/floor", self.write(found, plan_bench.sections(found))[1])

    def test_with_counters_beside_without(self):
        for lane in ("native", "icount"):
            found = results_of(*(lines(name, [value] * 5, lane, "counters", metric="worker", unit="ns")
                                 for name, value in (("kvnet", 110), ("kvnet-uncounted", 100), ("kvnet-twin", 110))))
            _, text = self.write(found, plan_bench.sections(found))
            self.assertRegex(text, r"with counters, beside a copy without[^a-z]+better by[^\n]*\n[^\n]*counters tx size 64 worker +0\.909 ")

    def test_the_plan_shows_every_test_of_the_native_lane(self):
        shown = {test for section in plan_bench.native_sections() for item in section.items for test in plan_bench.wanted_tests(item)}
        self.assertEqual(set(cases.tests_of("native")) - shown, set())

    def test_backends_have_colours_of_their_own(self):
        self.assertEqual(len({colour for _, colour in items.colours(items.BACKENDS)}), len(items.BACKENDS))

    def test_what_the_rows_resolve(self):
        found = results_of(lines(values=[100, 101, 102, 103, 104]), lines("vhost_net", [100] * 5), lines(values=[1, 2], size=1500))
        _, found_lines = items.Resolutions({}).cells(found)
        own = stats.resolves([100, 101, 102, 103, 104])
        self.assertEqual(found_lines[0][:2], ["native pps pps", "3"])
        self.assertTrue(found_lines[0][2].startswith("0 %, ") or found_lines[0][2].startswith("0.0 %, "), found_lines[0])
        self.assertTrue(found_lines[0][2].endswith(units.percent(own)), found_lines[0])
        self.assertEqual(items.Resolutions({"size": 1500}).cells(found)[1][0][2], "too few samples")

    def test_ticks(self):
        for top in (0.003, 1, 7.3, 99, 100, 12345):
            canvas = draw.Canvas(draw.BROAD)
            canvas.values("x", 0, top, False)
            marks = [mark for mark in canvas.axes.get_yticks() if mark <= canvas.axes.get_ylim()[1]]
            self.assertTrue(top * 0.998 <= canvas.axes.get_ylim()[1] <= top * 2, top)
            self.assertEqual(marks[-1], canvas.axes.get_ylim()[1])
            self.assertLessEqual(len(marks), 8)

    def pictures(self):
        where = {"test": "pps"}
        for plot in (report.Bars(where, title="a & b"), report.Lines(where, x="size", title="c"), report.Ratios(where, title="d")):
            yield plot.draw(self.results)

    def test_a_plot_is_whole_in_any_viewer(self):
        for picture in self.pictures():
            text = picture.file("Lane <x>")
            xml.dom.minidom.parseString(text)
            # a viewer without style sheets and variables would draw all in black
            for word in ("var(", "class=", "@media", "<script"):
                self.assertNotIn(word, text, picture.label)
            self.assertIn(escape(picture.label), text)
            self.assertEqual(text, picture.file("Lane <x>"))
        self.assertIn(f"stroke: {draw.INK}", next(self.pictures()).file(""), "whiskers")

    def test_a_plot_on_a_page_has_light_and_dark_colours(self):
        page = "".join(picture.page() for picture in self.pictures())
        self.assertEqual(re.findall("#[0-9a-f]{6}", page), [])
        known = set(re.findall(r"(--\w+):", draw.style()))
        self.assertEqual(set(re.findall(r"var\((--\w+)\)", page)) - known, set())
        ids = re.findall(r' id="([^"]+)"', page)
        self.assertEqual(len(ids), len(set(ids)), "one plot's markers would be another's")
        self.assertEqual(set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', page)) - {(i, "") for i in ids} - {("", i) for i in ids}, set())
        self.assertEqual(page.count('class="slim"'), page.count('class="broad"'))

    def test_what_a_lane_cannot_show_is_said_once(self):
        page, text = self.write(self.results, plan_bench.sections(self.results))
        self.assertEqual((page.count("&lt;no exits&gt;"), text.count("<no exits>")), (1, 1))


class Profiles(unittest.TestCase):
    SYMBOLS = "1000 kvnet_vq_pop [kvnet]\n2000 vhost_poll [vhost]"

    def sample(self, address, stack):
        return f"{address:x} [unknown] ABI:2 SP:0x{stack << 16 | 0x1234:x}"

    def profile(self, files, role, *backends):
        """What is said of the profile that these files are."""
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(out):
            for name, text in files.items():
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(text + "\n")
            profile_top.main(directory, "linux", 10, role, list(backends))
        return out.getvalue().splitlines()

    def test_two_backends_side_by_side(self):
        files = {"symbols": self.SYMBOLS,
                 # the worker's stack is 7; the guest's, 9, has nothing of the module
                 "kvnet.samples": "\n".join([self.sample(0x1004, 7)] * 3 + [self.sample(0x3001, 7), self.sample(0x3001, 9)]),
                 "vhost_net.samples": "\n".join([self.sample(0x2004, 5), self.sample(0x3001, 5)]),
                 "rows.txt": "@bench lane=native rep=1 backend=kvnet test=pps metric=worker value=200 unit=ns"}
        with unittest.mock.patch("subprocess.run") as nm:
            nm.return_value.stdout = "3000 T memcpy\n"
            text = self.profile(files, "worker", "kvnet", "vhost_net")
        self.assertIn("kvnet: the worker had 4 of 5 samples; kvnet 75 %, kernel 25 %", "\n".join(text))
        last = text[-2:]
        self.assertEqual(last[0].split(), ["kvnet_vq_pop", "kvnet", "75", "%", "150.0", "memcpy", "kernel", "50", "%"])
        self.assertEqual(last[1].split(), ["memcpy", "kernel", "25", "%", "50.0", "vhost_poll", "vhost", "50", "%"])

    def test_both_workers_of_a_device_count(self):
        counts = {("worker_run", "kvnet"): 1, ("tx_poll", "kvnet"): 9}
        tasks = {"rx": dict(counts), "tx": dict(counts), "guest": {("tx_poll", "kvnet"): 90, ("tun_net_xmit", "tun"): 5}}
        tasks = {task: collections.Counter(of) for task, of in tasks.items()}
        for role, want in (("worker", {("worker_run", "kvnet"): 2, ("tx_poll", "kvnet"): 18}), ("sender", dict(tasks["guest"]))):
            self.assertEqual(dict(profile_top.of_tasks(tasks, profile_top.known_by(role, "kvnet"), role)), want)

    def test_counted_instructions(self):
        files = {"symbols": self.SYMBOLS + "\n3000 memcpy kernel\n4000 tun_net_xmit [tun]",
                 # the first backend's worker is a; the guest, c, has more code, but none of the module's: it is the sender
                 "counts": "\n".join(["1 a 1004 300", "1 a 3001 100", "1 c 3001 900", "1 c 4001 300", "1 b 2004 900", "2 b 2004 50", "2 b 3008 150"]),
                 "rows.txt": "\n".join(f"@bench lane=icount rep=1 backend={name} test=pps metric=counted value=2 unit=packets" for name in ("kvnet", "vhost_net"))}
        text = self.profile(files, "worker", "kvnet", "vhost_net")
        self.assertIn("kvnet: kvnet 75 %, kernel 25 %", text)
        self.assertIn("kvnet (200.0 instructions of the worker for a packet)", text[-4])
        self.assertEqual(text[-2].split(), ["kvnet_vq_pop", "kvnet", "75", "%", "150.0", "memcpy", "kernel", "75", "%", "75.0"])
        self.assertEqual(text[-1].split(), ["memcpy", "kernel", "25", "%", "50.0", "vhost_poll", "vhost", "25", "%", "25.0"])
        self.assertEqual(self.profile(files, "sender", "kvnet")[-1].split(), ["tun_net_xmit", "tun", "25", "%", "150.0"])


class Names(unittest.TestCase):
    """What is none is refused, with those that are."""

    def refused(self, said, *args, **how):
        with self.assertRaisesRegex(cases.Refused, said):
            cases.lanes_wanted(*args, **how)

    def test_wrong_names(self):
        self.refused("no 'nativ'; known: native native2", ["nativ"], [], [])
        self.refused("no test 'ppps' in native icount; known: pps gso", ["native", "icount"], ["pps", "ppps"], [])
        self.refused("no test 'floor' in native2", ["native2"], ["floor"], [])
        self.refused("no test 'counters' in icount, QUICK=1", ["icount"], ["counters"], [], quick=True)
        self.refused("lane native has no 'kvnet-foo'; known: kvnet .-packed", ["native"], [], ["kvnet", "kvnet-foo"])
        self.refused("lane vtime has no 'kvnet-still'; known: kvnet vhost_net qemu", ["vtime"], [], ["kvnet-still"])
        self.refused("lane native has no 'qemu'", ["native", "vtime"], ["rr"], ["qemu"])
        self.refused("these tests are not of floor", ["icount"], ["rr"], ["floor"])
        for name in ("kvnet-packed-packed", "kvnet-", "vhost_net-user", "floor-packed", "", "kvnet packed"):
            self.refused("has no", ["native"], [], [name])

    def test_right_names(self):
        self.assertEqual(cases.lanes_wanted(["native", "vtime"], ["t*", "rr"], ["kvnet-packed-inorder"]), ["native", "vtime"])
        # a lane without such a test is left out, and nothing is built for it
        self.assertEqual(cases.lanes_wanted(["native", "icount", "smp", "vtime"], ["tcp"], ["qemu"]), ["vtime"])
        for name in cases.LAYOUTS + [cases.VECTORIZED, "kvnet-twin", "kvnet-woken-slowed", "floor-twin"]:
            self.assertTrue(cases.is_backend("native", name), name)
        for name in cases.GUEST_BACKENDS:
            self.assertTrue(cases.is_backend("vtime", name), name)

    def test_what_is_profiled(self):
        for work, program in (("test=rr size=64", "rr"), ("test=sender dir=rx size=64 alone=0 apart=1", "sender"), ("test=batch batch=1", "pps"),
                              ("test=xdp action=redirect devices=2", "pair")):
            self.assertEqual(cases.program_of(work), program)
        for work in ("", "dir=tx", "test=idle", "test=pps dir=up", "test=pps size=big", "test=pps colour=red", "test=xdp action=no"):
            self.assertRaises(cases.Refused, cases.program_of, work)
        self.assertRaises(cases.Refused, cases.words_of_profile, ["kvnet", "floor"])
        self.assertRaises(cases.Refused, cases.words_of_profile, ["kvnet-uncounted"])
        cases.words_of_profile(["kvnet-packed-user", "vhost_net"])

    def test_nothing_is_built_for_a_wrong_name(self):
        wrong = [(lanes.Bench, name, value) for name, value in (("LANE", "x"), ("ONLY", "x"), ("BACKENDS", "x"), ("REPEAT", "0"), ("MOST", "x"),
                                                                ("BENCH_MS", "-1"), ("UML", "smp"))]
        wrong += [(paper.Paper, name, value) for name, value in (("LANE", "native"), ("PARTS", "x"), ("REPEAT", "x"))]
        wrong += [(profiling.Profile, name, value) for name, value in (("LANE", "vtime"), ("TASK", "x"), ("WORK", "test=x"), ("BACKENDS", "qemu"),
                                                                       ("TOP_N", "x"), ("PROFILE_MS", "0"), ("SEED", "x"))]
        with tempfile.TemporaryDirectory() as directory:
            for command, name, value in wrong:
                out = os.path.join(directory, "out")
                with unittest.mock.patch.dict(os.environ, {name: value, "OUT": out}), self.assertRaises((cases.Refused, machine.Failed), msg=f"{name}={value}"):
                    command()
                self.assertFalse(os.path.exists(out), name)

    def test_lane_kvm_without_virtualization_says_why(self):
        for command, flags, said in ((lanes.Bench, "fpu", "no vmx or svm"), (paper.Paper, "fpu", "no vmx or svm"),
                                     (lanes.Bench, "fpu svm", "/dev/kvm is missing|to try again")):
            texts = {"/proc/cpuinfo": f"flags\t: {flags}\n"}
            with tempfile.TemporaryDirectory() as directory, unittest.mock.patch.dict(os.environ, {"LANE": "kvm", "OUT": f"{directory}/out"}), \
                    unittest.mock.patch.object(machine, "text_of", lambda path, texts=texts: texts.get(path, "tcg\n")):
                with self.assertRaisesRegex(cases.Refused, said):
                    command()
                self.assertEqual(os.listdir(directory), [])

    def test_every_guest_test_is_a_function(self):
        self.assertEqual((tuple(guest_tests.TESTS), tuple(guest_boots.BOOTS)), (cases.GUEST_TESTS, cases.GUEST_BOOTS))

    def test_every_program_is_a_case_of_lab(self):
        perf = os.path.join(machine.TOP, "selftests/perf")
        sources = "".join(machine.text_of(os.path.join(perf, name)) for name in os.listdir(perf) if name.endswith(".c"))
        programs = {case.program for lane in cases.PROCESS_LANES for quick in (False, True) for case in cases.cases_of(lane, quick)}
        self.assertEqual(programs - set(re.findall(r"^(?:CASE_TIMED|TURNS)\((\w+)", sources, re.M)), {"dpdk"})


class Plans(unittest.TestCase):
    """Rows, backends and their order, as inside/native.py gets them."""

    def test_rows_of_a_lane(self):
        words = [case.words for case in cases.cases_of("native")]
        self.assertEqual(len(words), len(set(words)))
        self.assertEqual(words[:2], ["test=pps dir=tx size=64", "test=pps dir=tx size=256"])
        self.assertEqual(sum("test=dpdk" in line for line in words), 4)
        self.assertEqual([lane for lane in cases.PROCESS_LANES if "dpdk" in cases.tests_of(lane)], ["native"])
        self.assertIn("test=apart dir=rx size=1500 apart=1", [case.words for case in cases.cases_of("native2")])
        for lane in ("icount", "native2"):
            words = [case.words for case in cases.cases_of(lane)]
            self.assertEqual(sum("test=bridge " in line for line in words), 3)
            self.assertIn("test=notso action=forward size=1514", words)

    def test_backends_of_a_test(self):
        self.assertEqual(cases.backends_of("pps"), ["kvnet", "vhost_net", "vhost_net-twin"])
        self.assertEqual(cases.backends_of("counters"), ["kvnet", "kvnet-uncounted", "kvnet-twin"])
        self.assertEqual(cases.backends_of("floor"), ["kvnet", "vhost_net", "floor", "vhost_net-twin"])
        self.assertEqual(cases.backends_of("bridge"), cases.backends_of("floor"))
        self.assertEqual(cases.backends_of("idle"), ["kvnet", "vhost_net"])
        self.assertEqual(cases.backends_of("neighbour")[-1], "kvnet-packed")
        self.assertEqual(cases.backends_of("rr", ["kvnet", "floor"]), ["kvnet", "kvnet-twin"])
        self.assertEqual(cases.backends_of("ring", ["kvnet", "floor"]), ["kvnet", "floor", "kvnet-twin"])
        self.assertEqual(cases.backends_of("pps", ["kvnet-twin", "kvnet"]), ["kvnet-twin", "kvnet"])
        self.assertEqual(cases.backends_of("dpdk", vectors=True)[-1], cases.VECTORIZED)
        self.assertNotIn(cases.VECTORIZED, cases.backends_of("dpdk"))

    def test_how_a_backend_is_set_up(self):
        for name, want in (("kvnet", "kvnet:/dev/kvnet::1:1:50:100:"), ("vhost_net-twin", "vhost_net-twin:/dev/vhost-net::::::"),
                           ("kvnet-packed-inorder-user", "kvnet-packed-inorder-user:/dev/kvnet:packed,in_order:0:1:50:100:"),
                           ("kvnet-woken-still-each", "kvnet-woken-still-each:/dev/kvnet::1:0:0:0:"), ("floor", "floor:/dev/kvnet-floor::::::"),
                           ("kvnet-uncounted", "kvnet-uncounted:/dev/kvnet_uncounted::1:1:50:100:"),
                           ("vhost_net-slowed", "vhost_net-slowed:/dev/vhost-net:::::5"), ("vhost_net-inorder", "vhost_net-inorder:/dev/vhost-net:in_order:::::")):
            self.assertEqual(cases.turn_of(name).rstrip(":"), want.rstrip(":") if name != "vhost_net-slowed" else "vhost_net-slowed:/dev/vhost-net::::::5")
            self.assertEqual(cases.turn_of(name).count(":"), 7, name)

    def test_order(self):
        names = ["a", "b", "c"]
        self.assertEqual([cases.in_turn(names, number) for number in (1, 2, 3, 4)], [["a", "b", "c"], ["a", "c", "b"], ["b", "c", "a"], ["b", "a", "c"]])
        for number in range(1, 12):
            self.assertEqual(sorted(cases.in_turn(names, number)), names)

    def test_plan_of_a_boot(self):
        chosen = [case for case in cases.cases_of("icount") if case.words in ("test=rr size=64", "test=pps dir=tx size=64")]
        backends = {"pps": ["kvnet", "kvnet-twin"], "rr": []}
        self.assertEqual(cases.plan(chosen, backends, [3], 4, 12),
                         ["backend|kvnet|" + cases.turn_of("kvnet"), "backend|kvnet-twin|" + cases.turn_of("kvnet-twin"),
                          "3|step 5 of 12|pps|test=pps dir=tx size=64|kvnet-twin kvnet"])
        backends["rr"] = ["vhost_net"]
        steps = [line.split("|")[1] for line in cases.plan(chosen, backends, range(1, 4))[3:]]
        self.assertEqual(steps, [f"step {n} of 6" for n in range(1, 7)])


class Inside(unittest.TestCase):
    """What runs in the machine that is measured."""

    def setUp(self):
        self.out = self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.point = guest.Point(guest.Guest("kvnet-packed-user", 2, "ats=on"), "tcp", "dir=rx streams=1")

    def rows(self):
        return rows.Results.parse(self.out.getvalue().splitlines())

    def test_what_the_shell_is_told(self):
        for name, want in (("kvnet", ("kvnet", "")), ("vhost_net", ("vhost", "")), ("qemu-noioeventfd", ("off", "ioeventfd=off ")),
                           ("kvnet-packed-inorder", ("kvnet", "packed=on in_order=on "))):
            one = guest.Guest(name)
            self.assertEqual((one.shell["BACKEND"], one.options), want)
        one = guest.Guest("rtl8139", GUEST_FIRST=["-device", "a"])
        said = subprocess.run(one.in_lib('echo "$GUEST_NIC|${GUEST_FIRST[1]}|$GUEST_IP|$GUEST_APPEND|$1"'), capture_output=True, text=True,
                              check=True).stdout
        self.assertEqual(said, "rtl8139|a|10.9.0.2||\n")

    def test_rows_of_a_stream(self):
        self.point.guest.counts = unittest.mock.Mock()
        self.point.guest.counts.while_running = lambda action: (action(), collections.Counter(cpu_worker=4000, exits=3))
        with unittest.mock.patch.object(host, "LANE", "kvm"), \
                unittest.mock.patch.object(host, "answer", return_value="bytes=2000000 ns=1000\n") as said:
            self.point.stream("rx", 1)
        self.assertEqual(said.call_args[0], ("rr", "to", "10.9.2.2", "5201", "2400000000", "1"))
        found = self.rows()
        self.assertEqual([(row.metric, row.value, row.unit) for row in found.rows],
                         [("rate", 1.6e13, "bit/s"), ("cpu_worker", 0.00025, "s/Gbit"), ("exits", 1.5, "1/MB")])
        self.assertEqual((found.bad, found.rows[0].get("streams")), ([], "1"))

    def test_a_failure_is_counted_and_the_guest_ends(self):
        one = unittest.mock.Mock()
        with unittest.mock.patch.object(host, "failures", []), host.tried("kvnet", one):
            raise host.Failed("why")
        one.stop.assert_called_once()
        self.assertIn("# why\n@progress", self.out.getvalue())

    def test_plan_is_worked_off(self):
        chosen = [case for case in cases.cases_of("icount") if case.words in ("test=rr size=64", "test=idle devices=32 ring=256")]
        plan = native.Plan("\n".join(cases.plan(chosen, {"rr": ["kvnet", "kvnet-inorder"], "idle": ["kvnet"]}, [1, 2])))
        del plan.turns["kvnet-inorder"]
        said = (0, "ok\n@bench a\n")
        with unittest.mock.patch.object(native, "together", return_value=said) as together, \
                unittest.mock.patch.object(native, "alone", return_value=said) as alone, \
                unittest.mock.patch.object(native, "open_tests", return_value=["test=rr size=64"]):
            for line in plan.lines:
                plan.line(*line)
        turn = cases.turn_of("kvnet")
        self.assertEqual([call[0] for call in together.call_args_list], [(rep, "rr", "test=rr size=64", [turn]) for rep in (1, 2)])
        self.assertEqual([call[0] for call in alone.call_args_list], [(1, "idle", "test=idle devices=32 ring=256", turn)])
        self.assertEqual(plan.rows, 3 * ["@bench a"])


class DemoTable(unittest.TestCase):
    def test_a_ratio_only_where_the_ranges_do_not_overlap(self):
        said = [f"@row {system} {row} {value}" for system, row, values in (
            ("kvnet", "ping", (10, 12)), ("vhost_net", "ping", (20, 24)), ("qemu", "ping", (11, 40)),
            ("kvnet", "udp-to-host", (3000, 1000)), ("vhost_net", "udp-to-host", (500, 500)), ("qemu", "udp-to-host", (0, "-"))) for value in values]
        lines = {line[:27].strip(): line[27:].split() for line in demo.table(demo.values_of(said)).splitlines()}
        self.assertEqual(lines["ping, us (less is better)"], "11.0 (10.0-12.0) 22.0 (20.0-24.0) 25.5 (11.0-40.0) 2.00 even".split())
        self.assertEqual(lines["UDP to the host, packets/s"], "2000 (1000-3000) 500 (500-500) - 4.00 -".split())


class Running(unittest.TestCase):
    """What a lane says: rows, progress, log."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.out = io.StringIO()
        for context in (unittest.mock.patch.dict(os.environ, {"OUT": os.path.join(directory.name, "out")}), contextlib.redirect_stdout(self.out)):
            context.__enter__()
            self.addCleanup(context.__exit__, None, None, None)
        self.run_ = machine.Run()

    def bench(self, **env):
        """A lane, and the words of each command that it runs; none of them fails."""
        with unittest.mock.patch.dict(os.environ, env):
            bench = lanes.Bench()
        said = []
        self.enterContext(unittest.mock.patch.object(bench.run, "command", side_effect=lambda lane, *words, **how: said.append(words) or 0))
        return bench, said

    def say(self, *said, status=0, held=None):
        return self.run_.command("native", "sh", "-c", 'printf "%s\\n" "$@"; exit ' + str(status), "sh", *said, held=held)

    def text(self, name):
        return machine.text_of(self.run_.path(name))

    def test_rows_and_log(self):
        self.assertEqual(self.say("@bench a", "words", "@counter x", "@note b", "@progress step 1 of 2: c", status=3), 3)
        self.assertEqual(self.text("rows.txt"), "@bench a\n@note b\n")
        self.assertIn("words\n@counter x\n", self.text("native.log"))
        self.assertIn("step 1 of 2: c", self.out.getvalue())

    def test_rows_that_may_not_count(self):
        held = []
        self.say("@bench spoilt", "vm.sh: fault of the rig (it did not boot)", "@bench good", held=held)
        self.assertEqual((held, self.text("rows.txt")), (["@bench good"], ""))

    def test_a_new_run_begins_empty(self):
        self.say("@bench a", "b")
        again = machine.Run()
        self.assertEqual((machine.text_of(again.path("rows.txt")), os.path.exists(again.path("native.log"))), ("", False))

    def test_the_end_of_a_log_is_shown(self):
        self.say("@bench a", "why it failed")
        self.run_.show_failure("native")
        self.assertTrue(self.out.getvalue().endswith("native.log:\nwhy it failed\n"), self.out.getvalue())

    def test_values_are_words(self):
        self.run_.fact("machine", "cpu", "2 x  fast\tone")
        self.run_.note("native", "no_exits, one CPU")
        self.assertEqual(self.text("rows.txt"), "@fact lane=machine key=cpu value=2_x_fast_one\n@note lane=native text=no_exits,_one_CPU\n")

    def test_time_left(self):
        progress = machine.Progress()
        with unittest.mock.patch("time.time", side_effect=[100, 160, 160]):
            self.assertEqual(progress.left("building"), "")
            self.assertEqual(progress.left("step 1 of 4: a"), "")
            # two steps in a minute: two to go
            self.assertEqual(progress.left("step 3 of 4: b"), " (about 1 min left)")

    def test_seeds(self):
        tried = []

        def repetition(number, good):
            tried.append((number, good))
            return number != 2

        self.assertEqual(lanes.seeds(self.run_, "vtime", 2, 6, repetition), 2)
        self.assertEqual(tried, [(1, 0), (2, 1), (3, 1)])
        self.assertEqual(lanes.seeds(self.run_, "vtime", 2, 6, lambda number, good: False), 0)
        self.run_.stopped = True
        self.assertEqual(lanes.seeds(self.run_, "vtime", 2, 6, repetition), 0)

    def test_a_repetition_that_fails_leaves_no_rows_of_a_guest(self):
        bench, _ = self.bench(LANE="vtime", ONLY="rr")
        for status, want in ((1, ""), (0, "@bench a\n")):
            def command(_lane, *_words, held, status=status):
                held.append("@bench a")
                return status

            with unittest.mock.patch.object(bench.run, "command", side_effect=command):
                self.assertEqual(bench.boot("vtime", "bench_guest.py", 1), status == 0)
            self.assertEqual(machine.text_of(bench.run.path("rows.txt")), want)

    def test_what_a_guest_is_told(self):
        bench, said = self.bench(LANE="vtime", ONLY="t* queues", BACKENDS="kvnet qemu")
        bench.with_guest("vtime")
        last = said[-1]
        for word in ("TESTS=tcp", "BOOTS=queues", "SYSTEMS=kvnet qemu", "SCALE=kvnet qemu", "QUICK=", "LANE=vtime", "REP=5"):
            self.assertIn(word, last)
        self.assertEqual(last[last.index("--icount") + 1], "5")

    def test_each_seed_of_icount_measures_all_rows(self):
        bench, said = self.bench(LANE="icount", ONLY="rr", REPEAT="2")
        chosen = bench.chosen("icount")
        with unittest.mock.patch.object(bench, "process_host", return_value=(chosen, bench.backends(chosen), [])):
            bench.icount()
        # beyond REPEAT the machine would ask which rows are open
        self.assertEqual([(words[words.index("--icount") + 1], [word for word in words if word.startswith("REPEAT=")]) for words in said],
                         [("1", ["REPEAT=1"]), ("2", ["REPEAT=2"])])


def main():
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
