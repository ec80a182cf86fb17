"""Captures of Nsight Systems beside an archive: kernels and copies of a cell on the cell's own time axis.

    capture = kvsweep.open("results.h5").nsight(3, "report.sqlite")
    print(capture)                                  # the agreement of the two clocks
    kernels = capture.frame[capture.frame.what == "kernel"]
    print(kernels.groupby("name").dur_s.sum().sort_values())

The program marks its steps in the NVTX domain `kvsweep` (docs/results.md), so both files have them. The tables and columns
of an export are those of the "SQLite Schema Reference" in NVIDIA's user guide of Nsight Systems. An export lacks tables that its
capture did not need, and columns differ between versions, so every table and column is optional.
"""
import contextlib
import dataclasses
import pathlib
import sqlite3

import numpy as np
import pandas as pd

DOMAIN = "kvsweep"
# enum NvtxEventType of the schema: a domain's name, ranges of a thread, ranges of a process.
_DOMAIN_NAME, _RANGES = 75, (59, 60)
_PAYLOADS = ("uint64Value", "int64Value", "uint32Value", "int32Value")
# CUpti_ActivityMemcpyKind.
_COPY_KINDS = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
_PROCESS = ~0xFFFFFF  # mask of a globalTid without the thread
COLUMNS = ["what", "name", "step", "layer", "t_s", "dur_s", "stream", "device", "bytes", "number"]


class NotInCapture(ValueError):
    """The capture lacks the ranges that tie it to the cell."""


@dataclasses.dataclass
class Clock:
    """Seconds of a cell as a line over nanoseconds of a capture."""

    origin_ns: int
    offset_s: float
    rate: float      # seconds of the cell in a second of the capture
    n_steps: int
    rms_s: float     # residual over both ends of every step
    worst_s: float

    def seconds(self, ns):
        return self.offset_s + self.rate * 1e-9 * (np.asarray(ns, dtype=np.int64) - self.origin_ns)


@dataclasses.dataclass
class Capture:
    """One cell of an archive with its part of a capture.

    `frame` has a row per step, marked range, kernel, copy and (if the archive logged them) KV access, ordered by `t_s`:
    seconds from the start of the cell, as in /steps. `step` is the step of /steps in which the row begins (0: between steps),
    `layer` the layer that launched a kernel outside a CUDA graph (-1: unknown).
    """

    cell: int
    frame: pd.DataFrame
    clock: Clock
    remarks: list

    def __repr__(self):
        counts = ", ".join(f"{n:,} {what}{'' if n == 1 else 's'}" for what, n in self.frame.what.value_counts(sort=False).items())
        clock = self.clock
        text = (f"<cell {self.cell} in a capture: {counts}; clocks fitted on {clock.n_steps} steps, residual {clock.rms_s * 1e6:.1f} us rms, "
                f"{clock.worst_s * 1e6:.1f} us at most, drift {(clock.rate - 1) * 1e6:+.1f} ppm>")
        return "\n".join([text, *(f"note: {each}" for each in self.remarks)])


def read(archive, cell, path, marked_as=None, accesses=False):
    """A cell's part of the export at `path`. `marked_as` is the cell's index in the captured sweep, if the archive
    has another index because it was merged. Raises NotInCapture, or sqlite3.DatabaseError if the file is not an export."""
    if not pathlib.Path(path).is_file():
        raise FileNotFoundError(f"no file {path}; nsys export --type sqlite makes one of a .nsys-rep")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        export = _Export(base, path)
        ranges = export.ranges()
        mark = _mark_of(ranges, cell if marked_as is None else marked_as, path)
        own = ranges[(ranges.process == mark.process) & (ranges.start >= mark.start) & (ranges.start < mark.end)]
        steps = archive.table("steps", cell)
        clock = _fit(own[own.name == "step"], steps, path)
        parts = [_marked(own), export.kernels(mark), export.copies(mark)]
        remarks = export.remarks(mark, own)
    events = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    _place(events, own)
    events["t_s"] = clock.seconds(events.start)
    events["dur_s"] = clock.rate * 1e-9 * (events.end - events.start)
    parts = [_of_archive(steps), events]
    if accesses:
        parts.append(_accesses(archive, cell))
    frame = pd.concat([part.reindex(columns=COLUMNS) for part in parts if len(part)], ignore_index=True)
    frame = frame.fillna({"step": 0, "layer": -1, "bytes": 0}).astype({"step": np.int64, "layer": np.int64, "bytes": np.int64})
    return Capture(cell, frame.sort_values("t_s", kind="stable", ignore_index=True), clock, remarks)


class _Export:
    """An SQLite export of nsys; missing tables and columns read as empty."""

    def __init__(self, base, path):
        self.base, self.path = base, path
        self.tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
        self.strings = dict(base.execute("SELECT id, value FROM StringIds")) if "StringIds" in self.tables else {}

    def table(self, name, columns):
        if name not in self.tables:
            return pd.DataFrame(columns=columns)
        have = {row[1] for row in self.base.execute(f"PRAGMA table_info({name})")}
        wanted = ", ".join(f'"{each}"' if each in have else f'NULL AS "{each}"' for each in columns)
        return pd.read_sql_query(f"SELECT {wanted} FROM {name}", self.base)

    def ranges(self):
        """Ranges of our domain: name, number, start, end, process."""
        rows = self.table("NVTX_EVENTS", ["start", "end", "eventType", "text", "textId", "domainId", "globalTid", *_PAYLOADS])
        names = rows.text.where(rows.text.notna(), rows.textId.map(self.strings))
        process = rows.globalTid.fillna(0).astype(np.int64) & _PROCESS
        ours = {(p, d) for p, d in zip(process[(rows.eventType == _DOMAIN_NAME) & (names == DOMAIN)],
                                       rows.domainId[(rows.eventType == _DOMAIN_NAME) & (names == DOMAIN)])}
        if not ours:
            raise NotInCapture(f"{self.path} has no NVTX domain {DOMAIN}: capture with --trace=cuda,nvtx, of a cell of the cuda backend")
        chosen = rows.eventType.isin(_RANGES) & rows.end.notna() & pd.Series([key in ours for key in zip(process, rows.domainId)], index=rows.index)
        number = rows[list(_PAYLOADS)].bfill(axis=1).iloc[:, 0]
        frame = pd.DataFrame({"name": names, "number": number, "start": rows.start, "end": rows.end, "process": process})[chosen]
        return frame.astype({"start": np.int64, "end": np.int64}).sort_values("start", kind="stable", ignore_index=True)

    def _within(self, frame, mark):
        ours = frame.globalPid.isna() | (frame.globalPid == mark.process)
        return frame[ours & (frame.start >= mark.start) & (frame.start < mark.end)].reset_index(drop=True)

    def kernels(self, mark):
        columns = ["start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName"]
        rows = self._within(self.table("CUPTI_ACTIVITY_KIND_KERNEL", columns), mark)
        names = rows.demangledName.where(rows.demangledName.notna(), rows.shortName).map(self.strings)
        return pd.DataFrame({"what": "kernel", "name": names, "start": rows.start, "end": rows.end, "stream": rows.streamId,
                             "device": rows.deviceId, "launched": self._launched(rows, mark)})

    def copies(self, mark):
        columns = ["start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind"]
        rows = self._within(self.table("CUPTI_ACTIVITY_KIND_MEMCPY", columns), mark)
        return pd.DataFrame({"what": "copy", "name": rows.copyKind.map(_COPY_KINDS), "start": rows.start, "end": rows.end,
                             "stream": rows.streamId, "device": rows.deviceId, "bytes": rows.bytes, "launched": self._launched(rows, mark)})

    def _launched(self, rows, mark):
        """When the host issued it; empty if the capture has no calls."""
        calls = self.table("CUPTI_ACTIVITY_KIND_RUNTIME", ["correlationId", "start", "globalTid"])
        calls = calls[(calls.globalTid.fillna(0).astype(np.int64) & _PROCESS) == mark.process].drop_duplicates("correlationId")
        return rows.correlationId.map(calls.set_index("correlationId").start)

    def remarks(self, mark, own):
        said = []
        graphs = self._within(self.table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", ["start", "end", "globalPid"]), mark)
        if len(graphs):
            said.append(f"{len(graphs):,} CUDA graphs were captured whole: their kernels are seen with --cuda-graph-trace=node")
        if "CUPTI_ACTIVITY_KIND_KERNEL" not in self.tables:
            said.append("the capture has no kernels: was CUDA traced (--trace=cuda,nvtx)?")
        if "layer" not in set(own.name):
            said.append("no step ran outside of CUDA graphs, so no kernel has a layer")
        return said


def _mark_of(ranges, number, path):
    """The range of the cell with the most steps; a retried cell has several ranges."""
    marks = ranges[(ranges.name == "cell") & (ranges.number == number)]
    if not len(marks):
        seen = sorted(set(ranges.number[ranges.name == "cell"].astype(int)))
        raise NotInCapture(f"{path} has no cell {number}; it has {', '.join(map(str, seen)) or 'none'}")
    steps = ranges[ranges.name == "step"]
    counts = [((steps.process == mark.process) & (steps.start >= mark.start) & (steps.start < mark.end)).sum() for mark in marks.itertuples()]
    return list(marks.itertuples())[len(counts) - 1 - int(np.argmax(counts[::-1]))]


def _fit(marked, steps, path):
    """Least squares over start and end of every step that both files have."""
    both = marked.merge(steps[["step", "t_s", "dur_s"]], left_on="number", right_on="step")
    if len(both) < 2:
        raise NotInCapture(f"{path} and the archive have {len(both)} steps of the cell in common; a fit needs two")
    origin = int(both.start.min())
    ns = np.concatenate([both.start, both.end]).astype(np.int64) - origin
    t = np.concatenate([both.t_s, both.t_s + both.dur_s])
    # Centered, so that offset and rate are uncorrelated.
    middle = ns.mean()
    rate, level = np.polyfit((ns - middle) * 1e-9, t, 1)
    residual = t - (level + rate * 1e-9 * (ns - middle))
    return Clock(origin, float(level - rate * 1e-9 * middle), float(rate), len(both), float(np.sqrt(np.mean(residual**2))), float(np.abs(residual).max()))


def _marked(own):
    rows = own[~own.name.isin(["cell", "step"])]
    return pd.DataFrame({"what": "range", "name": rows.name, "start": rows.start, "end": rows.end, "number": rows.number, "launched": rows.start})


def _inside(times, ranges):
    """For each time, the number of the range that contains it, or NaN. Ranges do not overlap."""
    if not len(ranges):
        return np.full(len(times), np.nan)
    at = np.searchsorted(ranges.start.to_numpy(), times, side="right") - 1
    inside = (at >= 0) & (times < ranges.end.to_numpy()[np.maximum(at, 0)])
    return np.where(inside, ranges.number.to_numpy(dtype=float)[np.maximum(at, 0)], np.nan)


def _place(events, own):
    events["step"] = _inside(events.start.to_numpy(dtype=np.int64), own[own.name == "step"])
    launched = pd.to_numeric(events.launched).fillna(-1).to_numpy(dtype=np.int64)
    events["layer"] = _inside(launched, own[own.name == "layer"])


def _of_archive(steps):
    return pd.DataFrame({"what": "step", "name": steps.forward if "forward" in steps else "step", "step": steps.step, "t_s": steps.t_s,
                         "dur_s": steps.dur_s, "number": steps.n_tok})


def _accesses(archive, cell):
    """Logged KV accesses of the archive, if any; their times are already in seconds of the cell."""
    try:
        rows = archive.table("kv_access", cell)
    except KeyError:
        return pd.DataFrame(columns=COLUMNS)
    return pd.DataFrame({"what": "access", "name": rows.kind, "step": rows.step, "layer": rows.layer, "t_s": rows.t_s,
                         "dur_s": rows.dur_s, "number": rows.block})
