"""Reads archives. Tables are groups of 1-D datasets; docs/archive.md describes them."""
import functools
import json
import pathlib

import h5py
import pandas as pd

CELL_TABLES = ("jobs", "turns", "steps", "sched", "kv_events", "telemetry", "evictions", "kv_access", "access_rows",
               "access_kernels", "kv_copies")


def open(path):
    """The archive at `path`."""
    return Archive(path)


def _column(dataset, rows):
    values = dataset[rows]
    names = h5py.check_enum_dtype(dataset.dtype)
    if names:
        return pd.Series(values).map({number: name for name, number in names.items()})
    if values.dtype.kind == "S":
        return pd.Series([text.decode("utf-8", "replace") for text in values], dtype=object)
    if values.dtype == object:
        return pd.Series([t.decode("utf-8", "replace") if isinstance(t, bytes) else t for t in values], dtype=object)
    return pd.Series(values)


def _text(attribute):
    """Texts of attributes are bytes of fixed length; before schema 2 they are str."""
    return attribute.decode() if isinstance(attribute, bytes) else attribute


class Archive:
    """Tables of one archive: `cells`, `jobs`, `turns`, `steps`, `sched`, `kv_events`, ... as data frames.

    Whole tables are read when they are first asked for and kept. `table(name, cell)` reads the rows of one cell alone.
    """

    def __init__(self, path):
        self.path = str(path)
        with h5py.File(self.path, "r") as file:
            if _text(file.attrs.get("format")) != "kvsweep":
                raise ValueError(f"{self.path} is no archive of kvsweep")
            if file.attrs["schema_major"] > 2:
                raise ValueError(f"{self.path} has schema {file.attrs['schema_major']}; this reads schemas up to 2")
            self.sweep, self.tool_version, self.created_utc = (
                _text(file.attrs[name]) for name in ("sweep_name", "tool_version", "created_utc"))
            spec = file["spec/toml"][()]
            self.spec = spec.decode() if isinstance(spec, bytes) else str(spec)
            cells = file["cells"].attrs
            self.axes, self.figures = ([_text(name) for name in cells[kind]] for kind in ("axes", "figures"))

    def __repr__(self):
        return f"<kvsweep archive {self.path}: {self.sweep}, {len(self.ok)} of {len(self.cells)} cells>"

    def __getattr__(self, name):
        if name in CELL_TABLES:
            return self.table(name)
        raise AttributeError(name)

    @functools.cached_property
    def cells(self):
        """One row per planned cell, with the kind of its numbers in `kind` and the policy with its tier in `variant`."""
        frame = self._read("cells", slice(None))
        configs = [json.loads(text) for text in frame.config_json]
        frame["config"] = configs
        frame["kind"] = [_kind(config) for config in configs]
        for key in ("gpu", "policy", "jps"):
            frame[key] = [config.get(key) for config in configs]
        if "policy_note" in frame:  # the policy as it ran, with what the sweep changed in it
            frame["policy"] = frame.policy_note.where(frame.policy_note != "", frame.policy)
        frame["variant"] = [_variant(*each) for each in zip(frame.policy, configs, strict=True)]
        return frame

    @property
    def ok(self):
        """The cells that have a result."""
        return self.cells[self.cells.status == "ok"]

    @functools.lru_cache(maxsize=8)  # noqa: B019 (archives live as long as the program)
    def _whole(self, name):
        return self._read(name, slice(None))

    def table(self, name, cell=None, columns=None):
        """A table; only the rows of cell number `cell`, and of these only `columns`, if they are given.

        Unknown tables raise KeyError; columns that this archive lacks are left out. An archive lacks a table of cells that
        has no rows: it is a frame without columns.
        """
        if cell is None:
            return self._whole(name) if columns is None else self._read(name, slice(None), columns)
        row = self.cells.loc[cell]
        first, count = (int(row.get(f"{name}_{part}", 0)) for part in ("off", "n"))
        return self._read(name, slice(first, first + count), columns)

    def xarray(self, *figures):
        """Figures of the cells with results, as an xarray.Dataset over `kind`, `gpu`, `variant`, `jps`, `seed` and those further axes in
        which cells differ; NaN where no cell is. Needs xarray."""
        cells, own = self.ok, {"gpu", "policy", "jps", "dram_gib"}
        further = [axis for axis in self.axes if axis not in own and cells[axis].nunique() > 1]
        return cells.set_index(["kind", "gpu", "variant", "jps", "seed", *further])[list(figures or self.figures)].to_xarray()

    def to_parquet(self, folder):
        """Writes every table that is not empty as FOLDER/TABLE.parquet. Needs pyarrow. Single tables are data frames, which have
        to_parquet() themselves; `cells` has the configurations as JSON beside it."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tables = {"cells": self.cells.drop(columns="config")}
        with h5py.File(self.path, "r") as file:
            names = [name for name in CELL_TABLES if name in file]
        tables |= {name: table for name in names if len(table := self._read(name, slice(None)))}
        for name, table in tables.items():
            table.to_parquet(folder / f"{name}.parquet", index=False)

    def nsight(self, cell, path, **more):
        """A cell in a capture of Nsight Systems that was exported to SQLite: kvsweep.nsight.read()."""
        from . import nsight

        return nsight.read(self, cell, path, **more)

    def _read(self, name, rows, columns=None):
        with h5py.File(self.path, "r") as file:
            if name not in file and name in CELL_TABLES:
                return pd.DataFrame()
            if name not in file:
                raise KeyError(f"{self.path} has no table {name}")
            group = file[name]
            names = [name for name in map(_text, group.attrs["columns"]) if columns is None or name in columns]
            return pd.DataFrame({column: _column(group[column], rows) for column in names})


def _kind(config):
    """The kind of a cell's numbers. Only numbers of one backend, cost model and emulated pool are comparable."""
    backend = config["backend"]
    text = f"MODELLED (sim, {config.get('sim.cost_model', '-')}" if backend == "sim" else f"MEASURED ({backend}"
    if backend == "server":
        text += f", {config['server.kind']} {config['server.version']}"
    if "engine.emulate" in config:
        text += f", pool of {config['engine.emulate']}"
    return text + ")"


def _variant(policy, config):
    dram = config.get("dram_gib")
    return (policy or "-") + (f"-{dram:g}G" if dram is not None else "")
