#!/usr/bin/env python3
"""Figures of studies: "A study" of docs/extending.md followed literally, what kvsweep report makes of them and kvsweep-figures draws, the
studies that come with kvsweep, and results from elsewhere.

    studies_test.py KVSWEEP SOURCE_DIR
"""
import importlib.util
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

program, source = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
sys.path.insert(0, str(source / "analysis/python"))
try:
    import h5py, matplotlib, numpy as np, pandas, tomllib  # noqa: E401,F401
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(0)

import kvsweep  # noqa: E402
from kvsweep import page as pages  # noqa: E402
from folder import Folder  # noqa: E402

PAGE = (source / "docs/extending.md").read_text().split("\n## A study\n")[1].split("\n## ")[0]
PAIR = """schema = 1
[sweep]
name = "two-requests"
backend = "sim"
[axes]
gpu = ["a100-sxm-40gb"]
model = ["yarn-llama-2-7b"]
policy = ["recompute", "swap"]
dram_gib = [64]
[engine]
scheduler = "prefill_first"
max_num_batched_tokens = 4096
max_model_len = 2304
kv_tokens = 2576
watermark_tokens = 128
[workload]
kind = "pair"
requests = "256+640 1792+496"
[figure.use]
over = "time"
panel = "policy"
[figure.gantt]
over = "requests"
panel = "policy"
[figure.forwards]
x = "policy"
y = "forwards"
draw = "table"
series = "model"
published.yarn-llama-2-7b = { recompute = 7 }
"""


class Studies(Folder):
    def sweep(self, name, text):
        (self.dir / f"{name}.toml").write_text(text)
        return subprocess.run([program, "run", f"{name}.toml", "--archive", f"{name}.h5", "--profiles", source / "sweeps"], cwd=self.dir,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def report(self, *files):
        subprocess.run([program, "report", *files, "-o", "page", "--profiles", source / "sweeps"], cwd=self.dir, check=True, stdout=subprocess.DEVNULL)
        return pages.load(self.dir / "page")

    def figures(self, report, study):
        return {chart["at"]["figure"]: chart for chart in report["studies"] if chart["at"]["study"] == study}


def points(panel, name):
    """The values of a series, by the name of their place."""
    (series,) = (each for each in panel["series"] if each["name"] == name)
    names = panel["x"].get("names")
    return {names[int(x)] if names else f"{x:g}": y for x, y in zip(series["x"], series["y"])}


class AddingAStudy(Studies):
    def test_the_page_followed_literally_gives_a_sweep_a_report_and_figures(self):
        for name, text in re.findall(r"^```toml file=(\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
            (self.dir / name).write_text(text)
        commands = re.search(r"^```\n(kvsweep run .*?)^```$", PAGE, re.MULTILINE | re.DOTALL).group(1).splitlines()
        where = {"kvsweep": [program], "kvsweep-figures": [sys.executable, source / "analysis/python/kvsweep-figures"]}
        for words in map(shlex.split, commands):
            subprocess.run([*where[words[0]], *words[1:]], cwd=self.dir, check=True, stdout=subprocess.DEVNULL)
        charts = self.figures(self.report("answer-length.h5"), "answer-length")
        (panel,), (passes, *_) = charts["rate"]["panels"], [chart["panels"] for chart in charts.values()][1]
        self.assertEqual([series["name"] for series in panel["series"]], ["A100", "A100, published", "H100"])
        self.assertEqual(list(points(panel, "A100")), ["16", "64", "256"])
        self.assertEqual(points(panel, "A100, published"), {"16": 900, "64": 1600})
        self.assertEqual(max(passes["series"][0]["y"]), 32)
        svg = next((self.dir / "figures").glob("answer-length-rate*.svg")).read_text()
        for text in ("Output rate by length of the answers", "MODELLED (sim, kernels)", "A100, published", "answer [tok]"):
            self.assertIn(text, " ".join(re.findall(">([^<>]+)</text", svg)))
        self.assertIn("made up for this page", next((self.dir / "figures").glob("answer-length-rate*.txt")).read_text())

    def test_every_key_that_the_page_explains_is_understood_and_the_other_way_round(self):
        explained = set(re.findall(r"`([a-z_]+)[`.]", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
        code = (source / "sweeps/definition/figure.cpp").read_text()
        read = set(re.findall(r'(?:reader\.\w+\(|k\w+ = |reader, |== )"(\w+)\.?"', code)) - {"figure"}
        listed = set(re.findall(r'k(?:Where|Published) = "(\w+)\."', code))
        self.assertEqual(explained, read | listed)

    def test_what_a_figure_cannot_be_is_refused_where_it_stands(self):
        for line, said in (("over = \"tiem\"", "requests"), ("x_nmae = \"a\"", "x_nmae"), ("published.A = 3", "published.SERIES.X"),
                           ("draw = \"pie\"", "bars"), ("published.a = { 3 = \"b\" }", "must be a number")):
            done = self.sweep("wrong", PAIR + "[figure.wrong]\nx = \"policy\"\ny = \"forwards\"\n" + line + "\n")
            self.assertNotEqual(done.returncode, 0, line)
            self.assertIn(said, done.stderr)
            self.assertRegex(done.stderr, r"wrong\.toml:\d+:\d+|figure wrong")
        self.assertIn("must give x", self.sweep("wrong", PAIR + "[figure.wrong]\ny = \"forwards\"\n").stderr)


class OverTime(Studies):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = cls().sweep("pair", PAIR)
        assert done.returncode == 0, done.stderr
        cls.archive = kvsweep.open(cls.dir / "pair.h5")

    def test_kv_use_falls_when_a_request_gives_way_and_only_swap_uses_the_host(self):
        use = self.figures(self.report("pair.h5"), "two-requests")["use"]
        recompute, swap = use["panels"]
        for panel in (recompute, swap):
            device, _, evict, resume = panel["series"]
            self.assertEqual([evict["name"], resume["name"]], ["evict", "resume"])
            self.assertLess(evict["x"][0], resume["x"][0])
            self.assertGreater(device["y"][np.searchsorted(device["x"], evict["x"][0]) - 2], 95)
            self.assertLess(evict["y"][0], 50)
        self.assertEqual(max(recompute["series"][1]["y"]), 0)
        self.assertGreater(max(swap["series"][1]["y"]), 0)

    def test_spans_of_a_request_never_overlap_and_hold_what_the_eviction_says(self):
        gantt = self.figures(self.report("pair.h5"), "two-requests")["gantt"]
        for panel, cell in zip(gantt["panels"], self.archive.ok.index):
            spans = [(request, series["name"], start, end) for series in panel["series"]
                     for request, start, end in zip(series["more"]["request"], series["x"], series["end"])]
            for request in (0, 1):
                own = sorted((span for span in spans if span[0] == request), key=lambda span: span[2])
                for before, after in zip(own, own[1:]):
                    self.assertLessEqual(before[3], after[2] + 1e-4, f"{before} {after}")
            eviction = self.archive.table("evictions", cell).iloc[0]
            (away,) = (span for span in spans if span[1] == "preempted")
            self.assertAlmostEqual(away[3], eviction.t_resume_s, places=4)
            self.assertEqual("copied out" in {span[1] for span in spans}, panel["name"] == "swap")
            self.assertEqual("recompute" in {span[1] for span in spans}, panel["name"] == "recompute")

    def test_every_figure_is_drawn_for_papers_and_a_table_is_latex(self):
        self.report("pair.h5")
        subprocess.run([sys.executable, source / "analysis/python/kvsweep-figures", "page", "-o", "figures", "--formats", "svg"], cwd=self.dir, check=True,
                       stdout=subprocess.DEVNULL)
        for name in ("use", "gantt"):
            self.assertIn("two-requests", next((self.dir / "figures").glob(f"two-requests-{name}-*.svg")).name)
        table = next((self.dir / "figures").glob("two-requests-forwards-*.tex")).read_text()
        self.assertRegex(table, r"yarn-llama-2-7b, published & 7 & --")


class Shipped(unittest.TestCase):
    def test_every_figure_names_experiments_and_figures_that_there_are(self):
        names = {path.stem for path in (source / "sweeps/experiments").glob("*.toml")}
        found = {}
        for study in ("ipdps25", "lab"):
            document = tomllib.loads((source / f"sweeps/published/{study}.toml").read_text())
            for name, figure in document["figure"].items():
                self.assertLessEqual(set(figure["experiment"].split(" | ")), names, name)
                self.assertTrue((figure.get("source") or document["source"]) and figure["title"])
                found[name] = figure
        self.assertGreater(len(found), 30)
        self.assertLessEqual({"3a", "3b", "3c", "4a", "4b", "4c", "5", "7", "8a", "8b", "9", "10a", "10b", "11a", "11b", "11c", "1", "table-1", "table-2"}, set(found))
        sizes = tomllib.loads((source / "sweeps/experiments/ipdps-evict-block.toml").read_text())["axes"]["engine.block_size"]
        for published in found["8a"]["published"].values():
            self.assertEqual(set(published), {str(size) for size in sizes})


class Names(Studies):
    def test_a_star_takes_over_what_it_stands_for_and_names_with_dots_keep_their_published_values(self):
        done = self.sweep("names", """schema = 1
[sweep]
name = "names"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
model = ["llama-3.1-8b"]
policy = ["fcfs"]
"engine.block_size" = [16, 32]
[workload]
kind = "fixed"
n = 2
prompt = 16
output = 4
[figure.a]
x = "model"
y = "forwards"
series = "engine.block_size"
series_name = { "1*" = "blocks of one *", 32 = "large" }
draw = "bars"
published.large = { "llama-3.1-8b" = 4 }
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        (panel,) = self.figures(self.report("names.h5"), "names")["a"]["panels"]
        self.assertEqual([series["name"] for series in panel["series"]], ["blocks of one 6", "large", "large, published"])
        self.assertEqual(points(panel, "large, published"), {"llama-3.1-8b": 4})


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(not result.wasSuccessful())
