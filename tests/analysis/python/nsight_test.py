#!/usr/bin/env python3
"""Archives beside captures of Nsight Systems: captures with the tables of an nsys export are made here, around the steps of a
cell that kvsweep simulates.

    nsight_test.py KVSWEEP SOURCE_DIR
"""
import contextlib
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(source / "analysis/python"))
try:
    import h5py, numpy as np, pandas  # noqa: E401,F401
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(0)

import kvsweep  # noqa: E402
from kvsweep.nsight import NotInCapture  # noqa: E402

SWEEP = """schema = 1
[sweep]
name = "captured"
backend = "sim"
[axes]
gpu = ["a100-sxm-40gb"]
model = ["yarn-llama-2-7b"]
policy = ["recompute"]
"workload.output" = [6, 9]
[workload]
kind = "fixed"
n = 3
prompt = 200
"""

# As `nsys export --type sqlite` writes them (NVIDIA Nsight Systems User Guide, SQLite Schema Reference), without the columns
# that nothing here has a value for.
SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
  color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
  int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  shortName INTEGER NOT NULL, mangledName INTEGER, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
  blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
  copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER);
"""
DOMAIN_NAME, PUSH_POP, START_END = 75, 59, 60
OURS, THEIRS = 2, 3
WORKER, OTHER = 77 << 24, 78 << 24  # processes as a globalTid has them


class Export:
    """Writes captures. Times are seconds of the cell; the capture's clock runs a little fast and began long before."""

    def __init__(self, path, began=41.25, drift=20e-6):
        self.path, self.began, self.drift = path, began, drift
        path.unlink(missing_ok=True)
        self.base = sqlite3.connect(path)
        self.base.executescript(SCHEMA)
        self.names, self.calls = {}, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.base.commit()
        self.base.close()

    def ns(self, t):
        return round((self.began + t * (1 + self.drift)) * 1e9)

    def add(self, table, **values):
        marks = ", ".join("?" * len(values))
        self.base.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))

    def text(self, value):
        if value not in self.names:
            self.names[value] = len(self.names) + 1
            self.add("StringIds", id=self.names[value], value=value)
        return self.names[value]

    def domain(self, name, number=OURS, process=WORKER):
        self.add("NVTX_EVENTS", start=0, eventType=DOMAIN_NAME, text=name, globalTid=process + 5, domainId=number)

    def range(self, name, number, start, end, domain=OURS, process=WORKER):
        self.add("NVTX_EVENTS", start=self.ns(start), end=self.ns(end), eventType=START_END, textId=self.text(name), globalTid=process + 5,
                 domainId=domain, uint64Value=number)

    def kernel(self, name, start, end, process=WORKER, launched=None):
        self.calls += 1
        if launched is not None:
            self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=self.ns(launched), end=self.ns(launched) + 5000, eventClass=0, globalTid=process + 5,
                     correlationId=self.calls, nameId=self.text("cudaLaunchKernel"), returnValue=0)
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=self.ns(start), end=self.ns(end), deviceId=0, contextId=1, streamId=7, correlationId=self.calls,
                 globalPid=process, demangledName=self.text(f"void {name}(Step)"), shortName=self.text(name), gridX=1, gridY=1, gridZ=1, blockX=1,
                 blockY=1, blockZ=1)

    def copy(self, start, end, nbytes, kind, process=WORKER):
        self.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=self.ns(start), end=self.ns(end), deviceId=0, contextId=1, streamId=13, globalPid=process,
                 bytes=nbytes, copyKind=kind)

    def steps(self, steps, jitter=0.0):
        noise = np.random.default_rng(1).uniform(-jitter, jitter, (len(steps), 2))
        for (a, b), step in zip(noise, steps.itertuples()):
            self.range("step", step.step, step.t_s + a, step.t_s + step.dur_s + b)

    def cell(self, number, steps, **more):
        end = steps.t_s.iloc[-1] + steps.dur_s.iloc[-1]
        self.range("cell", number, -0.5, end + 0.5)
        self.steps(steps, **more)


class Captures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        (cls.dir / "s.toml").write_text(SWEEP)
        subprocess.run([program, "run", "s.toml", "--archive", "s.h5", "--profiles", source / "sweeps"], cwd=cls.dir, check=True,
                       stdout=subprocess.DEVNULL)
        cls.archive = kvsweep.open(cls.dir / "s.h5")
        cls.steps = cls.archive.table("steps", 1)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def export(self, **clock):
        export = Export(self.dir / "report.sqlite", **clock)
        export.domain("kvsweep")
        return export

    def join(self, **more):
        return self.archive.nsight(1, self.dir / "report.sqlite", **more)

    def test_a_clock_that_began_elsewhere_and_runs_fast_is_found_and_what_remains_is_told(self):
        with self.export(began=1234.5, drift=35e-6) as export:
            export.cell(1, self.steps, jitter=3e-6)
        clock = self.join().clock
        self.assertEqual(clock.n_steps, len(self.steps))
        self.assertAlmostEqual((1 / clock.rate - 1) * 1e6, 35, delta=15)
        self.assertLess(clock.worst_s, 6e-6)
        self.assertGreater(clock.rms_s, 0.5e-6)
        self.assertIn("residual", repr(self.join()))

    def test_kernels_and_copies_lie_in_the_steps_that_they_served_on_the_axis_of_the_archive(self):
        with self.export() as export:
            export.cell(1, self.steps)
            for step in self.steps.itertuples():
                export.kernel("decode_attention", step.t_s + 0.2 * step.dur_s, step.t_s + 0.7 * step.dur_s)
                export.copy(step.t_s + 0.5 * step.dur_s, step.t_s + 1.5 * step.dur_s, 4096, kind=2)
        frame = self.join().frame
        kernels, copies = frame[frame.what == "kernel"], frame[frame.what == "copy"]
        self.assertEqual(list(kernels.step), list(self.steps.step))
        np.testing.assert_allclose(kernels.t_s, self.steps.t_s + 0.2 * self.steps.dur_s, atol=1e-7)
        np.testing.assert_allclose(kernels.dur_s, 0.5 * self.steps.dur_s, atol=1e-7)
        self.assertEqual(set(kernels.name), {"void decode_attention(Step)"})
        self.assertEqual(list(copies.step), list(self.steps.step))
        self.assertEqual((set(copies.name), set(copies.bytes)), ({"DtoH"}, {4096}))
        self.assertEqual(list(frame[frame.what == "step"].step), list(self.steps.step))
        self.assertTrue(frame.t_s.is_monotonic_increasing)

    def test_a_kernel_belongs_to_the_layer_whose_range_launched_it(self):
        first = self.steps.iloc[0]
        with self.export() as export:
            export.cell(1, self.steps)
            for layer in range(3):
                at = first.t_s + layer * 1e-3
                export.range("layer", layer, at, at + 0.9e-3)
                export.kernel("norm", at + 5e-3, at + 6e-3, launched=at + 0.1e-3)
            export.kernel("argmax", first.t_s + 9e-3, first.t_s + 10e-3)
        frame = self.join().frame
        kernels = frame[frame.what == "kernel"]
        self.assertEqual(list(kernels.layer), [0, 1, 2, -1])
        self.assertEqual(list(frame[(frame.what == "range") & (frame.name == "layer")].number), [0, 1, 2])

    def test_what_other_domains_cells_and_processes_did_stays_out(self):
        with self.export() as export:
            export.cell(1, self.steps)
            export.domain("NCCL", THEIRS)
            export.domain("kvsweep", OURS, OTHER)
            for step in self.steps.itertuples():
                export.range("step", step.step, step.t_s + 1, step.t_s + 2, domain=THEIRS)
                export.range("step", step.step, step.t_s + 0.3, step.t_s + 0.4, process=OTHER)
            export.kernel("other", self.steps.t_s.iloc[0], self.steps.t_s.iloc[0] + 1e-4, process=OTHER)
            later = self.steps.t_s.iloc[-1] + 100
            export.range("cell", 0, later, later + 9)
            export.range("step", 1, later + 1, later + 2)
            export.kernel("later", later + 1, later + 1.1)
        capture = self.join()
        self.assertLess(capture.clock.worst_s, 1e-7)
        self.assertNotIn("kernel", set(capture.frame.what))

    def test_of_two_attempts_the_one_that_got_further_counts(self):
        with self.export() as export:
            export.range("cell", 1, -50, -49)
            export.range("step", 1, -49.9, -49.8)
            export.cell(1, self.steps)
        self.assertEqual(self.join().clock.n_steps, len(self.steps))

    def test_graphs_that_were_captured_whole_are_pointed_out(self):
        with self.export() as export:
            export.cell(1, self.steps)
            export.base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, globalPid INTEGER)")
            export.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=export.ns(0.01), end=export.ns(0.02), globalPid=WORKER)
            export.base.execute("DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY")
        self.assertTrue(any("--cuda-graph-trace=node" in each for each in self.join().remarks))

    def test_a_capture_of_something_else_is_refused_with_what_it_has(self):
        with self.export() as export:
            export.cell(0, self.steps)
        with self.assertRaisesRegex(NotInCapture, "no cell 1; it has 0"):
            self.join()
        self.assertEqual(self.join(marked_as=0).clock.n_steps, len(self.steps))
        with self.export() as export:
            export.range("cell", 1, -1, 99)
            export.steps(self.steps.head(1))
        with self.assertRaisesRegex(NotInCapture, "1 steps of the cell in common"):
            self.join()
        with Export(self.dir / "report.sqlite") as export:
            export.domain("NCCL")
        with self.assertRaisesRegex(NotInCapture, "no NVTX domain kvsweep"):
            self.join()

    def test_files_that_are_no_exports_are_errors(self):
        with self.assertRaises(FileNotFoundError):
            self.archive.nsight(1, self.dir / "nothing.sqlite")
        (self.dir / "text.sqlite").write_text("no database, but long enough for a header " * 99)
        with contextlib.suppress(NotInCapture), self.assertRaises(sqlite3.DatabaseError):
            self.archive.nsight(1, self.dir / "text.sqlite")


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(not result.wasSuccessful())
