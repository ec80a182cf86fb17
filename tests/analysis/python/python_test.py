#!/usr/bin/env python3
"""The Python package of analysis/python over an archive that kvsweep makes here, and over what kvsweep itself computes.

    python_test.py KVSWEEP SOURCE_DIR
"""
import importlib.util
import json
import math
import pathlib
import re
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
from kvsweep import bars, draw, figures, looks, page, saving  # noqa: E402

T_OF_THREE = 4.302652729911275  # Student's t with tails of 5 % together, two degrees of freedom
CHARTS = {"load", "why", "tokens", "step-time", "turns", "jct", "hits", "one-gap"}

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
        subprocess.run([program, "report", "s.h5", "-o", "page"], cwd=cls.dir, check=True, stdout=subprocess.DEVNULL)
        cls.report = page.load(cls.dir / "page")

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
        self.assertEqual(len(self.archive.telemetry), 0)  # of cells that were simulated
        self.assertEqual(len(self.archive.table("telemetry", 0)), 0)

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
        self.assertAlmostEqual(ours, self.cells("h100-80gb", "fcfs", 8).jct_wall_mean_s.mean())

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

    def cells(self, gpu, variant=None, jps=None):
        cells = self.archive.ok
        cells = cells[cells.gpu == gpu]
        cells = cells if variant is None else cells[cells.variant == variant]
        return cells if jps is None else cells[cells.jps == jps]

    def rows(self, table, cells):
        return pd.concat([self.archive.table(table, cell) for cell in cells.index])

    def test_the_command_writes_vectors_pixels_and_latex(self):
        out = self.dir / "figs"
        figures.main([str(self.dir / "page"), "-o", str(out)])
        for gpu in ("h100-80gb", "h200-141gb"):
            for chart in CHARTS:
                base = out / f"py-test-{gpu}-{chart}"
                self.assertTrue(base.with_name(base.name + ".pdf").read_bytes().startswith(b"%PDF"))
                self.assertTrue(base.with_name(base.name + ".png").read_bytes().startswith(b"\x89PNG"))
                svg = base.with_name(base.name + ".svg").read_text()
                self.assertTrue(ElementTree.fromstring(svg).tag.endswith("svg"))
                self.assertIn(f"MODELLED (sim, published), {gpu}", " ".join(re.findall(">([^<>]+)</", svg)))
                self.assertIn(re.search('width="([0-9.]+)pt"', svg)[1], ("240", "504"), chart)
                self.assertNotIn("mathdefault", svg)
            table = (out / f"py-test-{gpu}-jct-wall-mean-s.tex").read_text()
            self.assertIn("lmcache-16G" if gpu == "h100-80gb" else "fcfs", table)
            self.assertLess(table.index(r"\toprule"), table.index(r"\midrule"))
        self.assertIn("lmcache-16G", (out / "py-test-What-is-best-where.tex").read_text())

    def test_an_archive_is_no_report_and_the_command_says_how_one_is_made(self):
        with self.assertRaisesRegex(SystemExit, r"is an archive: kvsweep report .*s\.h5 -o report/; kvsweep-figures report/"):
            figures.main([str(self.path), "-o", str(self.dir / "none")])
        with self.assertRaisesRegex(ValueError, "is no report of kvsweep"):
            page.load(self.dir / "s.toml")

    def charts(self, gpu, name):
        (panel,) = (panel for panel in self.report["panels"] if panel["gpu"] == gpu)
        return [chart for chart in panel["charts"] if chart["id"] == name]

    def test_files_are_the_same_however_many_processes_draw_them(self):
        for processes in ("1", "3"):
            figures.main([str(self.dir / "page"), "-o", str(self.dir / f"by-{processes}"), "-j", processes, "--formats", "svg"])
        files = sorted(path.name for path in (self.dir / "by-1").iterdir())
        self.assertEqual(files, sorted(path.name for path in (self.dir / "by-3").iterdir()))
        for name in files:
            self.assertEqual((self.dir / "by-1" / name).read_bytes(), (self.dir / "by-3" / name).read_bytes(), name)

    def test_ticks_kept_for_all_formats_are_those_that_would_be_chosen_anew(self):
        formats = ["svg", "png"]
        for name in ("tokens", "step-time", "load"):  # logarithmic with a tick on the edge, none, one
            chart = next(draw.together(self.charts("h100-80gb", name)))
            saving.save(draw.draw(chart), self.dir / "kept", formats)
            with unittest.mock.patch.object(saving, "keep_ticks", lambda figure: None):
                saving.save(draw.draw(chart), self.dir / "chosen", formats)
            for each in formats:
                self.assertEqual((self.dir / f"kept.{each}").read_bytes(), (self.dir / f"chosen.{each}").read_bytes(), f"{name}.{each}")

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
        (chart,) = self.charts("h100-80gb", "load")
        means = chart["panels"][0]["series"]
        self.assertEqual(len(draw.draw(chart).axes[0].containers), 2)  # two policies
        for series in means:
            series = series | {"low": [None] * 2, "high": [None] * 2}
            self.assertEqual(len(draw.draw(chart | {"panels": [chart["panels"][0] | {"series": [series]}]}).axes[0].containers), 0)

    def test_every_kind_of_chart_is_drawn_whatever_was_not_observed(self):
        for how in draw._SERIES:
            series = {"name": "a", "draw": how, "x": [0, 1, 2], "y": [1, None, 3], "low": [0.5, None, 2], "high": [1.5, None, 4], "end": [1, 2, 3]}
            chart = {"id": "a", "title": "t", "note": "", "kind": "MODELLED (sim)", "gpu": "", "settings": "", "jps": "", "at": {}, "columns": 1,
                     "panels": [{"name": "$p", "x": {"name": "x", "names": ["a", "b", "c"]}, "y": {"name": "y"}, "series": [series]}]}
            axis = draw.draw(chart).axes[0]
            self.assertEqual([axis.get_xlabel(), axis.get_ylabel(), axis.get_title()], ["x", "y", "$p"])
            self.assertTrue(axis.lines or axis.collections or axis.patches, how)

    def test_policies_have_the_colors_of_the_pages(self):
        pages = source / "analysis/web/src/shared"
        looks_of_pages, theme = ((pages / name).read_text() for name in ("policy_looks.ts", "theme.css"))
        listed = re.search(r"POLICIES = \[(.*?)\]", looks_of_pages, re.DOTALL)[1]
        self.assertEqual(re.findall(r'"(\w+)"', listed), looks.POLICIES)
        light = theme[:theme.index(":root[data-theme")]
        for name, colors in (("series", looks.COLORS), ("share", looks.SHARES)):
            self.assertEqual(re.findall(rf"--{name}-\d: (#\w+)", light), colors)
        meanings = dict(re.findall(r'(\w+): "--share-(\d)"', (pages / "meanings.ts").read_text()))
        self.assertEqual({name: looks.SHARES[int(share) - 1] for name, share in meanings.items()}, {k: v for k, v in looks.MEANINGS.items() if k in meanings})
        variants = ["fcfs", "cpu_offload-16G", "cpu_offload-128G"]
        self.assertEqual([looks.policy_look(variants, each) for each in variants], [(0, 0), (2, 2), (2, 0)])

    def test_the_command_names_the_package_that_its_python_lacks(self):
        script = str(source / "analysis/python/kvsweep-figures")
        # -S and an empty path: a Python without any package.
        done = subprocess.run([sys.executable, "-S", "-E", script, "a.h5", "-o", "none"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^kvsweep-figures: .* has no matplotlib; Debian has python3-matplotlib")
        self.assertNotIn("Traceback", done.stderr)

    def test_any_text_is_escaped_for_latex(self):
        self.assertEqual(draw.escape("a_b&50%\\x{}\n~"), r"a\_b\&50\%\textbackslash{}x\{\} \textasciitilde{}")

    def close(self, a, b):
        self.assertTrue(math.isclose(a, b, rel_tol=2e-5, abs_tol=1e-9), f"{a} and {b}")

    def test_the_report_says_what_the_run_printed(self):
        report = self.report
        self.assertTrue(report["answer"])
        sentences = [f"{each['place']}: {each['says']}" for each in report["answer"]]
        for line in [report["answer_heading"] + ":", *sentences]:
            self.assertIn(line, self.printed)

    def test_figures_have_the_mean_the_interval_and_the_ratio_over_seeds(self):
        def interval(values):
            half = T_OF_THREE * values.std(ddof=1) / math.sqrt(3)
            return [values.mean() - half, values.mean() + half]
        for panel in self.report["panels"]:
            for group in panel["groups"]:
                figure = group["figures"]["jct_wall_mean_s"]
                own, fcfs = (self.cells(panel["gpu"], variant, int(group["jps"])).set_index("seed").jct_wall_mean_s
                             for variant in (group["variant"], "fcfs"))
                for ours, theirs in zip([figure["mean"], *figure["interval"]], [own.mean(), *interval(own)]):
                    self.close(ours, theirs)
                logs = np.log(own / fcfs)
                self.close(figure["ratio"], math.exp(logs.mean()))
                if group["variant"] != "fcfs":
                    for ours, theirs in zip(figure["ratio_interval"], interval(logs)):
                        self.close(ours, math.exp(theirs))

    def test_charts_of_jobs_turns_and_steps_agree_with_numpy(self):
        for panel in self.report["panels"]:
            for chart in panel["charts"]:
                rate = chart["at"].get("rate")
                check = getattr(self, "check_" + chart["id"].replace("-", "_"), None)
                if check is None or "nothing" in chart:
                    continue
                for series in chart["panels"][0]["series"]:
                    policy = series.get("policy") or chart["at"].get("policy")
                    check(chart, series, self.cells(panel["gpu"], policy, None if rate in (None, "all") else int(rate)))

    def check_tokens(self, chart, series, cells):
        steps = self.rows("steps", cells)["max_tok" if chart["at"]["x"] == "largest" else "n_tok"]
        self.assertEqual(sum(count for count in series["y"] if count >= 1), len(steps))
        self.assertEqual(series["y"][0], 0.5)

    def check_step_time(self, chart, series, cells):
        steps = self.rows("steps", cells)
        if not series.get("quiet"):
            return self.assertEqual(sum(series["more"]["steps"]), len(steps))
        slope, intercept = np.polyfit(steps.max_tok if chart["at"]["x"] == "largest" else steps.n_tok, steps.dur_s * 1e3, 1)
        np.testing.assert_allclose(series["y"], [intercept + slope * x for x in series["x"]], rtol=1e-4)

    def check_jct(self, chart, series, cells):
        jobs = self.rows("jobs", cells)
        for percent in (0, 1, 50, 95, 100):
            self.close(series["x"][percent], np.percentile(jobs.jct_wall_s, percent))

    def check_turns(self, chart, series, cells):
        turns = self.rows("turns", cells)
        mean = (turns.t_finish_s - turns.t_arrive_s).groupby(turns.turn).mean()
        for at, y in zip(series["x"], series["y"]):
            self.close(y, mean.cumsum()[at - 1] if chart["at"]["turns"] == "sum" else mean[at - 1])

    def check_why(self, chart, series, cells):
        if series is chart["panels"][0]["series"][0]:
            for at, policy in enumerate(chart["panels"][0]["x"]["names"]):
                total = sum(each["y"][at] for each in chart["panels"][0]["series"])
                self.assertAlmostEqual(total, self.rows("jobs", cells[cells.variant == policy]).jct_wall_s.mean(), delta=0.01)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(not result.wasSuccessful())
