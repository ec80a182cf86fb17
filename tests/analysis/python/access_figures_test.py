#!/usr/bin/env python3
"""Figures of the access log over hand-made rows with the columns of /kv_access and /access_rows.

    access_figures_test.py KVSWEEP SOURCE_DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(source / "analysis/python"))
try:
    import h5py, matplotlib, numpy as np, pandas as pd  # noqa: E401,F401
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(0)

import kvsweep  # noqa: E402
from kvsweep import access_figures  # noqa: E402
from page_data import PageData  # noqa: E402


class Log:
    """Stands for an archive: two requests write block 1 and 2 in a prefill, and read them in two decode steps."""

    path = "hand-made"
    cells = pd.DataFrame({"kind": ["MEASURED (cpu)"]})

    def __init__(self):
        rows = []
        for job in (0, 1):
            for kind in ("write_key", "write_value"):
                rows.append((1, 0, kind, job + 1, 0, 16, job, 1.0 + 1e-5 * job, 0.0))
            for step, t in ((2, 2.0), (3, 3.0)):
                for at, kind in enumerate(("read_key", "read_value")):
                    rows.append((step, 0, kind, job + 1, 0, 16, job, t + 1e-5 * at, 1e-5))
        self.access = pd.DataFrame(rows, columns=["step", "layer", "kind", "block", "first_slot", "n_slots", "batch_row", "t_s", "dur_s"])
        served = [(step, row, 10 + row, "prefill" if step == 1 else "decode") for step in (1, 2, 3) for row in (0, 1)]
        self.rows = pd.DataFrame(served, columns=["step", "batch_row", "job", "phase"])

    def table(self, name, cell):
        return {"kv_access": self.access, "access_rows": self.rows}[name]


class AccessFigures(unittest.TestCase):
    def test_an_access_knows_the_request_that_it_served(self):
        rows = access_figures.logged(Log(), 0)
        self.assertEqual(set(zip(rows.block, rows.job)), {(1, 10), (2, 11)})
        self.assertEqual(rows.is_read.sum(), 8)
        self.assertEqual(len(access_figures.logged(Log(), 0, steps=[2])), 4)

    def test_pauses_are_cut_and_nothing_changes_order_or_length(self):
        place, cuts = access_figures.cut_gaps([0, 1, 100, 101], [1, 2, 101, 102], gap=2)
        np.testing.assert_allclose(place([0, 1, 2, 100, 101, 102]), [0, 1, 2, 4, 5, 6])
        self.assertEqual(list(cuts), [3])
        place, cuts = access_figures.cut_gaps([0, 1], [1, 2])
        self.assertEqual((list(place([0, 2])), len(cuts)), ([0, 2], 0))

    def test_a_block_is_idle_between_its_accesses(self):
        idle = access_figures.idle_share(Log(), 0).set_index(["block", "cache"])
        last = 3.0 + 2e-5
        # K of block 1: written at 1, read for 10 us at 2 and 3.
        self.assertAlmostEqual(idle.idle_share[1, "K"], (last - 1 - 2e-5) / (last - 1))
        self.assertAlmostEqual(idle.longest_pause_s[1, "K"], 1.0)
        self.assertAlmostEqual(idle.since_last_write_s[2, "V"], last - 1 - 1e-5)

    def test_the_figure_shows_both_caches_and_says_what_it_is(self):
        figure = access_figures.accesses(Log(), 0)
        self.assertIn("MEASURED (cpu)", figure._suptitle.get_text())
        self.assertEqual([axis.get_ylabel()[0] for axis in figure.axes], ["K", "V"])
        self.assertEqual(len(figure.axes[0].collections), 4)
        self.assertEqual(len(figure.axes[0].lines), 2)

    def test_an_archive_without_logs_is_left_alone_by_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            sweep = pathlib.Path(folder) / "s.toml"
            sweep.write_text('schema = 1\n[sweep]\nname = "s"\nbackend = "sim"\n[axes]\ngpu = ["h100-80gb"]\npolicy = ["fcfs"]\njps = [2]\n'
                             '[workload]\nkind = "swe_smith_like"\njobs = 2\n')
            subprocess.run([program, "run", sweep, "--archive", f"{folder}/s.h5", "--profiles", source / "sweeps"], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(access_figures.write(f"{folder}/s.h5", pathlib.Path(folder), ["svg"]), 0)

    def test_a_cell_without_a_log_is_an_error_that_says_so(self):
        empty = Log()
        empty.access = empty.access.iloc[:0]
        with self.assertRaisesRegex(access_figures.NoAccessLog, "logged no KV accesses"):
            access_figures.accesses(empty, 0)

    def test_a_log_too_large_for_a_figure_is_thinned_and_the_figure_says_so(self):
        figure = access_figures.accesses(Log(), 0, most=6)
        self.assertIn("one access in 2, picked at random", figure._suptitle.get_text())
        self.assertEqual(sum(len(marks.get_offsets()) for axis in figure.axes for marks in axis.collections), 6)


class Recorded(unittest.TestCase):
    def test_the_program_and_the_package_see_the_same_in_a_log(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = f"{folder}/a.h5"
            subprocess.run([program, "run", source / "sweeps/experiments/ipdps-access.toml", "--backend", "cpu", "--set", "model=tiny-llama-3",
                            "--archive", archive, "--profiles", source / "sweeps"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            subprocess.run([program, "report", archive, "-o", f"{folder}/page", "--profiles", source / "sweeps"], check=True, stdout=subprocess.DEVNULL)
            parser = PageData()
            parser.feed(pathlib.Path(f"{folder}/page/index.html").read_text())
            if not parser.text:
                self.skipTest("kvsweep was built without its web pages, so the report holds no data")
            (chart,) = json.loads(parser.text)["accesses"]
            archive = kvsweep.open(archive)
            rows = access_figures.logged(archive, 0, steps=chart["steps"])
            self.assertEqual((chart["in_steps"], len(chart["marks"]["t_ns"])), (len(rows), len(rows)))
            begin = rows.t_s.iloc[0]
            np.testing.assert_allclose(chart["marks"]["t_ns"], (rows.t_s - begin) * 1e9, atol=1)
            self.assertEqual([chart["marks"][name] for name in ("block", "job", "n_slots")], [rows[name].tolist() for name in ("block", "job", "n_slots")])
            place, cuts = access_figures.cut_gaps(rows.t_s, rows.t_s + rows.dur_s)
            self.assertEqual(len(chart["cuts"]), len(cuts))
            lost = sum(lost for _, lost in chart["cuts"]) * 1e-9
            self.assertAlmostEqual(float(place(rows.t_s.max())), rows.t_s.max() - begin - lost, places=8)
            idle = access_figures.idle_share(archive, 0).set_index("cache")
            for cache, name in (("K", "keys"), ("V", "values")):
                np.testing.assert_allclose(chart[name], idle.loc[cache][["block", "idle_share", "longest_pause_s", "since_last_write_s"]], rtol=1e-5)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(not result.wasSuccessful())
