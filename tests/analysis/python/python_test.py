#!/usr/bin/env python3
"""The Python package of analysis/python over an archive that kvsweep makes here, and over what kvsweep itself computes.

    python_test.py KVSWEEP SOURCE_DIR
"""
import dataclasses
import importlib.util
import json
import math
import pathlib
import re
import string
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from xml.etree import ElementTree

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(source / "analysis/python"))
missing = []
for module in ("h5py", "numpy", "pandas", "matplotlib"):
    try:
        __import__(module)
    except ImportError:
        missing.append(module)
if missing:
    print("SKIPPED: Python has no " + ", ".join(missing))
    sys.exit(0)

import numpy as np  # noqa: E402 (known to be there)
import pandas as pd  # noqa: E402

import kvsweep  # noqa: E402
from kvsweep import bars, charts, figures, looks, saving, tables  # noqa: E402
from kvsweep.charts import CHARTS, _rates, _spans  # noqa: E402
from kvsweep.estimates import HIGHER, NEITHER, decide, mean_interval, ratio_of  # noqa: E402
from kvsweep.panels import fit_line, panels_of  # noqa: E402
from page_data import PageData  # noqa: E402

SWEEP = """# Which policy is best?
schema = 1
[sweep]
name = "py-test"
backend = "sim"
[axes]
gpu = ["h100-80gb", "h200-141gb"]
policy = ["fcfs", "lmcache"]
jps = [2, 8]
dram_gib = [16]
[repeat]
n = 3
[sim]
cost_model = "published"
[workload]
kind = "swe_smith_like"
jobs = 8
[[exclude]]
gpu = "h200-141gb"
policy = "lmcache"
reason = "a column that some cells lack"
"""


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        (cls.dir / "s.toml").write_text(SWEEP)
        cls.path = cls.dir / "s.h5"
        cls.printed = subprocess.run([program, "run", "s.toml", "--archive", "s.h5"], cwd=cls.dir, check=True, capture_output=True, text=True).stdout
        cls.archive = kvsweep.open(cls.path)
        cls.panels = panels_of(cls.archive)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_tables_are_data_frames_with_names_for_enumerations(self):
        cells = self.archive.cells
        self.assertEqual(set(cells.status), {"ok", "excluded"})
        self.assertEqual(len(self.archive.ok), 18)
        self.assertEqual(set(cells.variant), {"fcfs", "lmcache-16G"})
        self.assertTrue((self.archive.turns.t_finish_s > self.archive.turns.t_arrive_s).all())
        self.assertIn("pin", set(self.archive.kv_events.kind) | {"pin"})
        self.assertIsInstance(self.archive.jobs.id[0], str)

    def data_of(self, svg):
        return json.loads(ElementTree.parse(svg).find(".//{http://purl.org/dc/elements/1.1/}description").text)

    def test_bars_hold_the_data_of_the_cells_that_they_show(self):
        figures.main(["--bars", "jps=8,gpu=h100-80gb", str(self.path), "-o", str(self.dir / "bars"), "--formats", "svg"])
        data = self.data_of(self.dir / "bars/bars.svg")
        cells = self.archive.ok[(self.archive.ok.jps == 8) & (self.archive.ok.gpu == "h100-80gb")]
        self.assertEqual(len(data), 6)
        self.assertEqual([row["jct_wall_mean_s"] for row in data], [round(mean, 5) for mean in cells.jct_wall_mean_s])
        self.assertEqual({row["variant"] for row in data}, {"fcfs", "lmcache-16G"})
        with self.assertRaisesRegex(SystemExit, "no cell with a result has jps=7"):
            figures.main(["--bars", "jps=7", str(self.path), "-o", str(self.dir / "bars"), "--formats", "svg"])

    def test_the_picture_of_the_findings_shows_the_kept_archives(self):
        drawn = self.data_of(source / "docs/figures/bars.svg")
        names = ("order-or-pins-h100", "order-or-pins-h100-seeds", "eviction-admission-h100", "tiers-h100", "order-or-pins-recorded-h100")
        self.assertEqual(drawn, bars.chosen([source / f"sweeps/measured/{name}.h5" for name in names], {"jps": "6"}))

    def test_figures_are_arrays_over_the_axes_in_which_cells_differ(self):
        if importlib.util.find_spec("xarray") is None:
            self.skipTest("Python has no xarray")
        means = self.archive.xarray("jct_wall_mean_s").jct_wall_mean_s.mean("seed")
        self.assertEqual(set(means.dims), {"kind", "gpu", "variant", "jps"})
        ours = float(means.sel(gpu="h100-80gb", variant="fcfs", jps=8).squeeze())
        self.assertAlmostEqual(ours, self.panels[0].of("fcfs", 8).jct_wall_mean_s.mean())

    def test_every_table_with_rows_is_written_as_parquet(self):
        written = {}

        def write(frame, path, index):
            self.assertFalse(any(isinstance(value, dict) for value in frame.iloc[0]), path)
            written[path.name] = len(frame)
        with unittest.mock.patch.object(pd.DataFrame, "to_parquet", write):  # pyarrow may be absent
            self.archive.to_parquet(self.dir / "parquet")
        self.assertEqual(written["cells.parquet"], len(self.archive.cells))
        self.assertEqual(written["turns.parquet"], len(self.archive.turns))
        self.assertNotIn("telemetry.parquet", written)  # none on sim

    def test_rows_of_a_cell_are_those_of_the_whole_table(self):
        whole = self.archive.steps
        for cell in self.archive.ok.index:
            own = self.archive.table("steps", cell)
            self.assertEqual(len(own), (whole.cell == cell).sum())
            self.assertTrue((own.cell == cell).all())

    def test_a_table_that_is_not_there_and_a_file_that_is_no_archive_are_named(self):
        with self.assertRaisesRegex(KeyError, "no table nothing"):
            self.archive.table("nothing")
        with self.assertRaises(AttributeError):
            self.archive.nothing
        with self.assertRaises(OSError):
            kvsweep.open(self.dir / "s.toml")

    def test_panels_hold_cells_of_one_gpu_and_kind(self):
        self.assertEqual([panel.gpu for panel in self.panels], ["h100-80gb", "h200-141gb"])
        self.assertEqual({panel.kind for panel in self.panels}, {"MODELLED (sim, published)"})
        self.assertEqual([panel.repeats for panel in self.panels], [3, 3])

    def test_means_over_spans_keep_the_integral_of_a_level(self):
        steps = self.archive.table("steps", 0)
        _, mean = _spans(steps, "n_running", 7)
        held = np.diff(np.append(steps.t_s, steps.t_s.iloc[-1] + steps.dur_s.iloc[-1]))
        end = steps.t_s.iloc[-1] + steps.dur_s.iloc[-1]
        self.assertAlmostEqual(mean.sum() * end / 7, (steps.n_running * held).sum(), places=6)

    def test_rates_over_spans_keep_the_bytes(self):
        cell = self.archive.ok[self.archive.ok.variant == "lmcache-16G"].index[0]
        steps = self.archive.table("steps", cell)
        end = steps.t_s.iloc[-1] + steps.dur_s.iloc[-1]
        _, rate = _rates(steps, "d2h_bytes", 11)
        self.assertGreater(steps.d2h_bytes.sum(), 0)
        self.assertAlmostEqual(rate.sum() * end / 11 / steps.d2h_bytes.sum(), 1, places=9)

    def test_the_command_writes_vectors_pixels_and_latex(self):
        out = self.dir / "figs"
        figures.main([str(self.path), "-o", str(out)])
        for gpu in ("h100-80gb", "h200-141gb"):
            for chart in CHARTS:
                base = out / f"py-test-{gpu}-{chart}"
                self.assertTrue(base.with_name(base.name + ".pdf").read_bytes().startswith(b"%PDF"))
                self.assertTrue(base.with_name(base.name + ".png").read_bytes().startswith(b"\x89PNG"))
                svg = base.with_name(base.name + ".svg").read_text()
                self.assertTrue(ElementTree.fromstring(svg).tag.endswith("svg"))
                self.assertIn("MODELLED (sim, published), 3 repeats", " ".join(re.findall(">([^<>]+)</", svg)))
                self.assertIn(re.search('width="([0-9.]+)pt"', svg)[1], ("240", "504"), chart)
                self.assertNotIn("mathdefault", svg)
            table = (out / f"py-test-{gpu}-summary.tex").read_text()
            self.assertGreaterEqual(table.count(r"\textbf"), 2)
            self.assertIn(r"$\pm$", table)
            self.assertLess(table.index(r"\toprule"), table.index(r"\midrule"))
        self.assertIn("whole step", (out / "py-test-regression.tex").read_text())
        self.assertIn("lmcache-16G", (out / "py-test-regimes.tex").read_text())

    def test_files_are_the_same_however_many_processes_draw_them(self):
        some = {name: CHARTS[name] for name in ("jct", "step-time")}
        for processes in ("1", "3"):
            with unittest.mock.patch.object(charts, "CHARTS", some):
                figures.main([str(self.path), "-o", str(self.dir / f"by-{processes}"), "-j", processes, "--formats", "svg,png"])
        files = sorted(path.name for path in (self.dir / "by-1").iterdir())
        self.assertEqual(files, sorted(path.name for path in (self.dir / "by-3").iterdir()))
        for name in files:
            self.assertEqual((self.dir / "by-1" / name).read_bytes(), (self.dir / "by-3" / name).read_bytes(), name)

    def test_ticks_kept_for_all_formats_are_those_that_would_be_chosen_anew(self):
        panel = panels_of(kvsweep.open(self.path))[0]
        formats = ["svg", "png"]
        for chart in ("tokens", "step-time", "jct-rate", "traffic"):  # both logarithmic with a tick on the edge, none, one, shared
            saving.save(CHARTS[chart](panel), self.dir / "kept", formats)
            with unittest.mock.patch.object(saving, "keep_ticks", lambda figure: None):
                saving.save(CHARTS[chart](panel), self.dir / "chosen", formats)
            for each in formats:
                self.assertEqual((self.dir / f"kept.{each}").read_bytes(), (self.dir / f"chosen.{each}").read_bytes(), f"{chart}.{each}")

    def test_fonts_in_pdfs_hold_no_tables_that_only_lay_text_out(self):
        from fontTools.subset import Options

        saving.lighten_fonts()
        self.assertLessEqual({"GDEF", "GPOS", "GSUB", "kern"}, set(Options().drop_tables))

    def test_what_goes_wrong_in_a_process_ends_the_command(self):
        def fails():
            raise ValueError("nothing can be drawn")

        for processes in (1, 2):
            with self.assertRaisesRegex(ValueError, "nothing can be drawn"):
                saving.do_all([lambda: None, fails], processes)

    def test_bars_of_intervals_are_drawn_from_three_repeats_on(self):
        panel = self.panels[0]
        one = dataclasses.replace(panel, cells=panel.cells[panel.cells.repeat == 0])
        for shown, bars in ((panel, 4), (one, 0)):  # two policies at two rates
            axis = charts.jct_over_rate(shown).axes[0]
            self.assertEqual(len(axis.collections), bars)

    def test_a_scatter_that_leaves_steps_out_says_so(self):
        panel = panels_of(kvsweep.open(self.path))[0]
        steps = sum(len(panel.rows("steps", panel.of(variant))) for variant in panel.variants)
        for points, said in ((steps, None), (steps // 3, "one step in 4 drawn, lines over all")):
            with unittest.mock.patch.object(charts, "POINTS", points):
                figure = charts.step_time(panel)
            title = figure._suptitle.get_text()
            drawn = sum(len(marks.get_offsets()) for marks in figure.axes[0].collections)
            self.assertEqual(said in title if said else "drawn" not in title, True, title)
            self.assertEqual(drawn, steps if said is None else sum(-(-len(panel.rows("steps", panel.of(variant))) // 4) for variant in panel.variants))

    def test_policies_within_one_per_cent_tie_and_those_whose_seeds_disagree_are_undecided(self):
        best = pd.Series([100.0, 102.0, 98.0], index=[42, 43, 44])

        def decided(other):
            made = decide({"best": best, "other": other}, "jct_wall_mean_s")
            return "tied" if made.tied else "undecided" if made.undecided else made.next
        self.assertEqual(decided(best * 1.009), "tied")
        self.assertEqual(decided(best * 1.02), "other")
        self.assertEqual(decided(best + [10, -8, 9]), "undecided")
        self.assertEqual(decided(best[[42]] * 1.02), "other")
        self.assertEqual(decided(best * 0), "best")
        self.assertIsNone(decide({"best": best, "other": best * 2}, "steps"))

    def test_figures_are_better_in_the_same_direction_as_in_the_program(self):
        rules = (source / "analysis/compare/estimate.cpp").read_text()
        for name, ours in (("kHigher", HIGHER), ("kNeither", NEITHER)):
            listed = re.search(name + r" = \{([^}]*)\}", rules)
            self.assertEqual(set(re.findall(r'"(\w+)"', listed[1])), ours)

    def test_policies_have_the_colors_of_the_pages(self):
        pages = source / "analysis/web/src/shared"
        looks_of_pages, theme = ((pages / name).read_text() for name in ("policy_looks.ts", "theme.css"))
        listed = re.search(r"POLICIES = \[(.*?)\]", looks_of_pages, re.DOTALL)[1]
        self.assertEqual(re.findall(r'"(\w+)"', listed), looks.POLICIES)
        light = theme[:theme.index(":root[data-theme")]
        for name, colors in (("series", looks.COLORS), ("share", charts.SHARES)):
            self.assertEqual(re.findall(rf"--{name}-\d: (#\w+)", light), colors)
        variants = ["fcfs", "cpu_offload-16G", "cpu_offload-128G"]
        self.assertEqual([looks.policy_look(variants, each) for each in variants], [(0, 0), (2, 2), (2, 0)])

    def test_the_command_names_the_package_that_its_python_lacks(self):
        script = str(source / "analysis/python/kvsweep-figures")
        # -S and an empty path: a Python without any package.
        done = subprocess.run([sys.executable, "-S", "-E", script, "a.h5", "-o", "none"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^kvsweep-figures: .* has no h5py; Debian has python3-h5py")
        self.assertNotIn("Traceback", done.stderr)

    def test_any_text_is_escaped_for_latex(self):
        self.assertEqual(tables.escape("a_b&50%\\x{}\n~"), r"a\_b\&50\%\textbackslash{}x\{\} \textasciitilde{}")

    def test_the_report_of_kvsweep_agrees_with_numpy(self):
        subprocess.run([program, "report", "s.h5", "-o", "page"], cwd=self.dir, check=True, stdout=subprocess.DEVNULL)
        parser = PageData()
        parser.feed((self.dir / "page/index.html").read_text())
        if not parser.text:
            self.skipTest("kvsweep was built without its web pages, so the report holds no data")
        report = json.loads(parser.text)
        self.assertTrue(report["answer"])
        sentences = [f"{each['place']}: {each['says']}" for each in report["answer"] + report["why"]]
        for line in [report["answer_heading"] + ":", *sentences, *report["idle"]]:
            self.assertIn(line, self.printed)
        self.assertEqual(len(report["panels"]), len(self.panels))
        close = lambda a, b: self.assertTrue(math.isclose(a, b, rel_tol=2e-5, abs_tol=1e-9), f"{a} and {b}")  # noqa: E731
        for ours, panel in zip(report["panels"], self.panels):
            self.assertEqual((ours["kind"], ours["gpu"], ours["variants"]), (panel.kind, panel.gpu, panel.variants))
            for pooled in ours["pooled"] + ours["all"]:
                cells = panel.of(pooled["variant"]) if pooled["variant"] else panel.cells
                steps = panel.rows("steps", cells)
                for key, column in (("total", "n_tok"), ("largest", "max_tok")):
                    slope, intercept, r2, n = fit_line(steps[column], steps.dur_s)
                    fit = pooled[key]["fit"]
                    self.assertEqual(fit["n"], n)
                    close(fit["slope_us"], slope * 1e6)
                    close(fit["intercept_ms"], intercept * 1e3)
                    close(fit["r2"], r2)
                    for low, high, count in pooled[key]["histogram"]:
                        self.assertEqual(((steps[column] >= low) & (steps[column] < high)).sum(), count)
            for group in ours["groups"]:
                cells = panel.of(group["variant"], int(group["jps"]))
                jobs, turns = panel.rows("jobs", cells), panel.rows("turns", cells)
                self.check_figure(group, panel)
                for percent in (0, 1, 50, 95, 100):
                    close(group["jct"][percent], np.percentile(jobs.jct_wall_s, percent))
                close(sum(group["parts"]), jobs.jct_wall_s.mean())
                mean = (turns.t_finish_s - turns.t_arrive_s).groupby(turns.turn).mean()
                for index, turn in enumerate(group["turns"]):
                    close(turn[1], mean[index])
                self.check_times(group, cells)

    def check_figure(self, group, panel):
        """Mean, interval, ratio to fcfs and standing are those of the C++ core."""
        name, figure, rate = "jct_wall_mean_s", group["figures"]["jct_wall_mean_s"], int(group["jps"])
        own, fcfs = (panel.by_seed(variant, rate, name) for variant in (group["variant"], "fcfs"))
        ratio = ratio_of(own, fcfs)
        low_high = lambda pair: [math.nan, math.nan] if pair is None else pair  # noqa: E731
        for ours, theirs in zip([figure["mean"], *low_high(figure["interval"]), figure["ratio"], *low_high(figure["ratio_interval"])],
                                [own.mean(), *mean_interval(own), ratio.value, ratio.low, ratio.high]):
            self.assertTrue(math.isclose(ours, theirs, rel_tol=2e-5) or math.isnan(ours) and math.isnan(theirs), f"{ours} and {theirs}")
        words = set()
        for each in panel.decisions(rate, name).values():
            words |= {"tie"} if each.tied and group["variant"] in (each.best, *each.tied) else {"best"} if group["variant"] == each.best else set()
            words |= {"undecided"} if group["variant"] in each.undecided else set()
        self.assertEqual(words, set(re.findall("best|tie|undecided", figure["standing"])))

    def check_times(self, group, cells):
        for times, cell in zip(group["times"], cells.index):
            lines = {line["name"]: _values_of(line, times["spans"]) for line in times["lines"]}
            steps = self.archive.table("steps", cell)
            waiting = lines["waiting"]
            first = int(np.argmax(~np.isnan(waiting)))
            rounding = np.nanmax(waiting) / 4094 / 2 + 1e-6
            np.testing.assert_allclose(waiting[first + 1:], _spans_from_first(steps, "n_waiting")[first + 1:], rtol=1e-4, atol=rounding)
            moved = np.mean(lines["d2h"]) * times["end"] * 1e9
            np.testing.assert_allclose(moved, steps.d2h_bytes.sum(), rtol=1e-3, atol=1)


def _values_of(line, spans):
    """Two base64 digits a value: 4094ths of the largest one, or 4095 for none; without digits all are the largest."""
    if not line["codes"]:
        return np.full(spans, line["largest"], float)
    digits = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
    codes = np.array([digits.index(each) for each in line["codes"]])
    values = 64 * codes[::2] + codes[1::2]
    return np.where(values == 4095, np.nan, values / 4094 * line["largest"])


def _spans_from_first(steps, column, spans=240):
    """Means over spans that start at 0, a while before the first step."""
    end = steps.t_s.iloc[-1] + steps.dur_s.iloc[-1]
    times = np.append(steps.t_s, end)
    integral = np.concatenate([[0], np.cumsum(steps[column].to_numpy(float) * np.diff(times))])
    edges = np.linspace(0, end, spans + 1)
    return np.diff(np.interp(edges, times, integral)) / (end / spans)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(not result.wasSuccessful())
