#!/usr/bin/env python3
"""Figures of studies: docs/adding-a-study.md followed literally, what kvsweep report and the Python package make of them, the
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

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(source / "analysis/python"))
try:
    import h5py, matplotlib, numpy as np, pandas, tomllib  # noqa: E401,F401
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(0)

import kvsweep  # noqa: E402
from kvsweep import external, studies  # noqa: E402
from folder import Folder  # noqa: E402
from page_data import PageData  # noqa: E402

PAGE = (source / "docs/adding-a-study.md").read_text()
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

    def page_of(self, folder):
        parser = PageData()
        parser.feed((self.dir / folder / "index.html").read_text())
        if not parser.text:
            self.skipTest("kvsweep was built without its web pages, so the report holds no data")
        return json.loads(parser.text)

    def agree(self, page, charts):
        """The program's charts and ours are the same."""
        self.assertEqual([(c["figure"], c["kind"], c["gpu"]) for c in page], [(c.figure.name, c.kind, c.gpu) for c in charts])
        for theirs, ours in zip(page, charts):
            self.assertEqual(theirs["remarks"], ours.remarks)
            self.assertEqual([p["name"] for p in theirs["panels"]], [p.name for p in ours.panels])
            for their_panel, our_panel in zip(theirs["panels"], ours.panels):
                self.agree_on_panel(their_panel, our_panel)

    def agree_on_panel(self, theirs, ours):
        self.assertEqual([(s["name"], s["external"]) for s in theirs["series"]], [(s.name, s.external) for s in ours.series])
        for their_series, our_series in zip(theirs["series"], ours.series):
            self.assertEqual([point[0] for point in their_series["points"]], list(our_series.points))
            np.testing.assert_allclose([point[1] for point in their_series["points"]],
                                       [studies.median(values) for values in our_series.points.values()], rtol=1e-5)
            self.assertEqual([x for x, _ in their_series["published"]], list(our_series.published))
            np.testing.assert_allclose([y for _, y in their_series["published"]], list(our_series.published.values()), rtol=1e-5)
            if our_series.t is not None:
                np.testing.assert_allclose(their_series["t"], our_series.t, rtol=1e-5)
                np.testing.assert_allclose(their_series["level"], our_series.level, rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(np.array(theirs["marks"], float).reshape(-1, 3), np.array(ours.marks, float).reshape(-1, 3), rtol=1e-5)
        self.assertEqual([span[:2] for span in theirs["spans"]], [list(span[:2]) for span in ours.spans])
        np.testing.assert_allclose([span[2:] for span in theirs["spans"]], [span[2:] for span in ours.spans], rtol=1e-5, atol=1e-6)


class AddingAStudy(Studies):
    def test_the_page_followed_literally_gives_a_sweep_a_report_and_figures(self):
        for name, text in re.findall(r"^```toml file=(\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
            (self.dir / name).write_text(text)
        commands = re.search(r"^```\n(kvsweep run .*?)^```$", PAGE, re.MULTILINE | re.DOTALL).group(1).splitlines()
        where = {"kvsweep": [program], "kvsweep-figures": [sys.executable, source / "analysis/python/kvsweep-figures"]}
        for words in map(shlex.split, commands):
            subprocess.run([*where[words[0]], *words[1:]], cwd=self.dir, check=True, stdout=subprocess.DEVNULL)
        chart, passes = studies.charts_of([kvsweep.open(self.dir / "answer-length.h5")])[:2]
        self.assertEqual([series.name for series in chart.panels[0].series], ["A100", "H100"])
        self.assertEqual(list(chart.panels[0].series[0].points), ["16", "64", "256"])
        self.assertEqual(chart.panels[0].series[0].published, {"16": 900, "64": 1600})
        self.assertEqual(max(value for (value,) in passes.panels[0].series[0].points.values()), 32)
        svg = next((self.dir / "figures").glob("answer-length-rate*.svg")).read_text()
        for text in ("Output rate by length of the answers", "MODELLED (sim, kernels)", "A100, published", "answer [tok]"):
            self.assertIn(text, " ".join(re.findall(">([^<>]+)</text", svg)))
        self.assertIn("made up for this page", next((self.dir / "figures").glob("answer-length-rate*.txt")).read_text())
        page = [chart for chart in self.page_of("answer-length")["studies"] if chart["study"] == "answer-length"]
        self.agree(page, [chart for chart in studies.charts_of([kvsweep.open(self.dir / "answer-length.h5")]) if chart.figure.study == "answer-length"])

    def test_every_key_that_the_page_explains_is_understood_and_the_other_way_round(self):
        explained = set(re.findall(r"`([a-z_]+)[`.]", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
        fields = {field.name for field in studies.Figure.__dataclass_fields__.values()} - {"study", "name", "experiments"} | {"experiment"}
        self.assertEqual(explained, fields)

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
        cls.use, cls.gantt, cls.forwards = studies.charts_of([cls.archive])

    def test_kv_use_falls_when_a_request_gives_way_and_only_swap_uses_the_host(self):
        recompute, swap = self.use.panels
        for panel in (recompute, swap):
            (evict, _, low), (resume, resumed, _) = panel.marks
            self.assertTrue(resumed and evict < resume)
            device = panel.series[0]
            self.assertGreater(device.level[np.searchsorted(device.t, evict) - 2], 95)
            self.assertLess(low, 50)
        self.assertEqual(max(recompute.series[1].level), 0)
        self.assertGreater(max(swap.series[1].level), 0)

    def test_spans_of_a_request_never_overlap_and_hold_what_the_eviction_says(self):
        for panel, cell in zip(self.gantt.panels, self.archive.ok.index):
            for request in (0, 1):
                own = sorted((span for span in panel.spans if span[0] == request), key=lambda span: span[2])
                for before, after in zip(own, own[1:]):
                    self.assertLessEqual(before[3], after[2] + 1e-6, f"{before} {after}")
            eviction = self.archive.table("evictions", cell).iloc[0]
            away = [span for span in panel.spans if span[1] == "given way"]
            self.assertEqual(len(away), 1)
            self.assertAlmostEqual(away[0][3], eviction.t_resume_s)
            self.assertEqual("copied out" in {span[1] for span in panel.spans}, panel.name == "swap")
            self.assertEqual("recompute" in {span[1] for span in panel.spans}, panel.name == "recompute")

    def test_the_program_and_the_package_draw_the_same(self):
        subprocess.run([program, "report", "pair.h5", "-o", "page", "--profiles", source / "sweeps"], cwd=self.dir, check=True, stdout=subprocess.DEVNULL)
        self.agree(self.page_of("page")["studies"], [self.use, self.gantt, self.forwards])


class Shipped(unittest.TestCase):
    def test_every_figure_names_experiments_and_figures_that_there_are(self):
        names = {path.stem for path in (source / "sweeps/experiments").glob("*.toml")}
        found = [figure for study in ("ipdps25", "lab")
                 for figure in studies.figures_in((source / f"sweeps/published/{study}.toml").read_text(), study)]
        self.assertGreater(len(found), 30)
        for figure in found:
            self.assertLessEqual(set(figure.experiments), names, figure.name)
            self.assertTrue(figure.source and figure.title)
        drawn = {figure.name for figure in found}
        self.assertLessEqual({"3a", "3b", "3c", "4a", "4b", "4c", "5", "7", "8a", "8b", "9", "10a", "10b", "11a", "11b", "11c", "1", "table-1", "table-2"}, drawn)

    def test_published_values_stand_at_cells_of_the_sweep(self):
        figure = next(each for each in studies.figures_in((source / "sweeps/published/ipdps25.toml").read_text(), "ipdps25") if each.name == "8a")
        sizes = tomllib.loads((source / "sweeps/experiments/ipdps-evict-block.toml").read_text())["axes"]["engine.block_size"]
        self.assertEqual({place.rpartition(".")[2] for place in figure.published}, {str(size) for size in sizes})


class Names(unittest.TestCase):
    def test_a_star_takes_over_what_it_stands_for(self):
        names = {"chunked *": "chunks of *", "0": "off"}
        self.assertEqual([studies.rename(names, each) for each in ("chunked 512", "0", "mixed")], ["chunks of 512", "off", "mixed"])

    def test_names_with_dots_keep_their_published_values(self):
        figure = studies.figures_in('[figure.a]\nexperiment = "e"\nx = "model"\ny = "forwards"\npublished.swap = { "llama-3.1-8b" = 4 }\n', "s")[0]
        chart = studies.Chart(figure, "MODELLED (sim)", "")
        chart.named("").named("swap")
        studies._add_published(chart)
        self.assertEqual(chart.panels[0].series[0].published, {"llama-3.1-8b": 4})


class Baseline(Studies):
    """analysis/python/hf_baseline.py with a model that is none: torch and a GPU are not at hand here."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        spec = importlib.util.spec_from_file_location("hf_baseline", source / "analysis/python/hf_baseline.py")
        cls.baseline = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.baseline)

    class Fake:
        software = {"transformers": "5.0", "torch": "2.9", "device": "NVIDIA A100 40GB PCIe"}

        def __init__(self, name):
            self.asked = []

        def prompt_tokens(self):
            return 8

        def answer(self, count, new_tokens, stop_early):
            self.asked.append(count)
            return [new_tokens] * count

        def peak_bytes(self):
            return 17 << 30

    def run_it(self, *words):
        out = self.dir / "hf.json"
        self.baseline.main(["--gpu", "a100-40gb", "-o", str(out), *words], make_model=self.Fake)
        return out

    def test_passes_cover_all_prompts_and_the_first_warms_up(self):
        given = self.baseline.options(["--gpu", "a100-40gb", "--prompts", "10", "--batch", "4", "--repeats", "2", "-o", "x"])
        model, ticks = self.Fake(""), iter(range(99))
        passes = self.baseline.measure(model, given, clock=lambda: next(ticks))
        self.assertEqual(model.asked, [4, 4, 2] * 3)
        self.assertEqual(passes, [(1, 1280), (1, 1280)])

    def test_tokens_count_up_to_the_end_of_an_answer(self):
        self.assertEqual(self.baseline.generated([5, 6, 2, 0, 0], {2}), 3)
        self.assertEqual(self.baseline.generated([5, 6, 7], {2}), 3)

    def run_the_study(self):
        text = (source / "sweeps/experiments/lab-naive.toml").read_text()
        done = self.sweep("lab-naive", text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return kvsweep.open(self.dir / "lab-naive.h5")

    def test_a_result_stands_beside_cells_and_says_that_it_was_measured_elsewhere(self):
        path = self.run_it()
        found, archive = external.load(path), self.run_the_study()
        self.assertEqual((found.experiment, found.config["engine.max_num_seqs"]), ("lab-naive", 16))
        self.assertTrue(found.kind.startswith("MEASURED (transformers 5.0"))
        frame = external.cells(archive, [found])
        self.assertEqual((len(frame), frame.backend.iloc[-1]), (len(archive.cells) + 1, "external"))
        self.assertEqual(frame.output_tok_per_s.iloc[-1], found.figures["output_tok_per_s"])
        chart = next(chart for chart in studies.charts_of([archive], source / "sweeps", [found]) if chart.figure.name == "naive")
        ours, outside = (next(series for series in chart.panels[0].series if series.name == name)
                         for name in ("A100 PCIe", "A100 PCIe, generate() (EXTERNAL)"))
        self.assertEqual(outside.points, {"contiguous 16": [found.figures["output_tok_per_s"]]})
        self.assertEqual((outside.external, ours.external), (found.kind, ""))
        self.assertEqual(len(ours.points["contiguous 16"]), 1, "the cells' own value has taken no part of another's")
        self.assertIn(f"EXTERNAL, not run by kvsweep: generate() is {found.kind}", chart.remarks)

    def test_the_page_and_the_figures_show_a_result_that_is_named_beside_the_archive(self):
        path, archive = self.run_it(), self.run_the_study()
        subprocess.run([program, "report", "lab-naive.h5", path.name, "-o", "page", "--profiles", source / "sweeps"], cwd=self.dir, check=True,
                       stdout=subprocess.DEVNULL)
        page, found = self.page_of("page"), external.load(path)
        self.agree(page["studies"], studies.charts_of([archive], source / "sweeps", [found]))
        (listed,) = page["externals"]
        self.assertEqual((listed["file"], listed["name"], listed["source"]), ("hf.json", "generate()", found.kind))
        self.assertEqual(dict(listed["config"])["gpu"], "a100-40gb")
        self.assertEqual({chart["figure"] for chart in page["studies"] if chart["externals"]}, {"naive"})
        others = json.dumps([page[part] for part in ("panels", "regimes", "claims", "missing")])
        self.assertFalse(found.kind in others or "(EXTERNAL)" in others, "a result from elsewhere stands in figures and a list of its own alone")
        subprocess.run([sys.executable, source / "analysis/python/kvsweep-figures", "lab-naive.h5", path.name, "-o", "figures", "--formats", "svg"],
                       cwd=self.dir, check=True, stdout=subprocess.DEVNULL)
        self.assertIn("A100 PCIe, generate() (EXTERNAL)", next((self.dir / "figures").glob("lab-naive-*.svg")).read_text())

    def test_files_that_are_no_results_are_refused_with_what_is_wrong(self):
        good = json.loads(self.run_it().read_text())
        for change, said in (({"format": "x"}, "format"), ({"version": 2}, "version 2"), ({"figures": {}}, "figures"), ({"kind": "guessed"}, "kind"),
                             ({"figures": {"total_tok_s": "fast"}}, "total_tok_s"), ({"config": {"a": [1]}}, "config.a")):
            (self.dir / "bad.json").write_text(json.dumps(good | change))
            with self.assertRaisesRegex(ValueError, said):
                external.load(self.dir / "bad.json")
        (self.dir / "bad.json").write_text("{")
        with self.assertRaisesRegex(ValueError, "no JSON"):
            external.load(self.dir / "bad.json")


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(not result.wasSuccessful())
