#!/usr/bin/env python3
"""Tests docs/studies/access_overhead.py on hand-made steps, and that the studies' sweeps can be run on a GPU as docs/studies/ says.

    access_overhead_test.py KVSWEEP SOURCE_DIR
"""
import contextlib
import csv
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
spec = importlib.util.spec_from_file_location("access_overhead", source / "docs/studies/access_overhead.py")
access_overhead = importlib.util.module_from_spec(spec)
spec.loader.exec_module(access_overhead)


class Overhead(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)

    def write(self, name, rows):
        with (self.dir / f"{name}.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, fieldnames=list(rows[0]))
            table.writeheader()
            table.writerows(rows)

    def measured(self, logged, slower, prefills=(), layers="0"):
        """Forty steps that take 1 ms and 1 us more for each before; `slower` adds shares of 1 ms by step."""
        self.write("cells", [{"cell": 3, "config_json": json.dumps({"model": "m", "record.access_layers": layers})}])
        self.write("steps", [{"cell": 3, "step": n, "dur_s": 1e-3 + n * 1e-6 + slower.get(n, 0) * 1e-3,
                              "forward": "prefill" if n in prefills else "decode", "n_decode": 0 if n in prefills else 32} for n in range(1, 41)])
        self.write("access_rows", [{"cell": 3, "step": n, "batch_row": row} for n in logged for row in range(2)])
        out = self.dir / "out.json"
        with contextlib.redirect_stdout(io.StringIO()) as text:
            access_overhead.main([str(self.dir), "-o", str(out)])
        return json.loads(out.read_text())[0], text.getvalue()

    def test_a_logged_step_is_compared_with_its_neighbours_and_the_first_left_out(self):
        found, text = self.measured({10, 20, 30}, {10: 5.0, 20: 0.02, 21: 0.01, 30: 0.04, 31: 0.01})
        self.assertEqual([pair["step"] for pair in found["pairs"]], [20, 30])
        self.assertAlmostEqual(found["step_percent"], 3, delta=0.1)
        self.assertAlmostEqual(found["with_next_percent"], 4, delta=0.2)
        self.assertIn("at most 1 %: not held", text)

    def test_steps_that_do_not_stand_alone_or_differ_from_their_neighbours_are_no_pairs(self):
        found, _ = self.measured({5, 10, 12, 20, 30}, {}, prefills={22})
        self.assertEqual([pair["step"] for pair in found["pairs"]], [30])
        self.assertAlmostEqual(found["step_percent"], 0, delta=0.01)

    def test_all_layers_have_a_limit_of_their_own(self):
        found, text = self.measured({10, 20}, {20: 0.03}, layers="all")
        self.assertEqual(found["limit_percent"], 5)
        self.assertIn("at most 5 %: held", text)

    def test_without_such_steps_it_says_so(self):
        with self.assertRaisesRegex(SystemExit, "no cell has logged steps of decodes that stand alone"):
            self.measured({10, 11}, {})


class OnAGpu(unittest.TestCase):
    """The flags by which the studies' cells run on an H200 with the blocks of the study's card."""

    def plan(self, path, *flags):
        done = subprocess.run([program, "plan", path, "--backend", "cuda", "--set", "gpu=h200-141gb", *flags, "--profiles", source / "sweeps", "--json"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["cells"]

    def test_every_cell_of_a_study_can_be_planned_for_the_card_that_is_there(self):
        for path in sorted((source / "sweeps/experiments").glob("*.toml")):
            if not re.match("ipdps-|lab-", path.name):
                continue
            with self.subTest(path.name):
                names_blocks = path.name.startswith("lab-") or "kv_tokens" in path.read_text()
                cells = self.plan(path, *([] if names_blocks else ["--set", "engine.emulate=a100-sxm-40gb"]))
                self.assertEqual({cell["gpu"] for cell in cells}, {"h200-141gb"})
                self.assertTrue(any(cell["runs"] for cell in cells))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
