"""The contents of archives, read with h5py alone, and of shards."""
import glob
import os
import zlib

from cases import skip

try:
    import h5py
    import numpy
except ImportError:
    h5py = None

STATUS = ("planned", "ok", "failed", "timeout", "infeasible", "excluded", "quarantined")
ALL = 2  # the level of a cell with every table
# Written when the cell ends, so a second run of the cell would write other values.
RUN_COLUMNS = ("t_start_utc", "t_end_utc", "wall_s", "digest", "rank", "attempts")


def need_h5py():
    if h5py is None:
        skip("h5py is not installed")


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def attribute(path, name):
    """Of the archive as a whole."""
    with h5py.File(path, "r") as archive:
        return text(archive.attrs[name])


def cells(path):
    """Rows of /cells by label, as dictionaries."""
    need_h5py()
    with h5py.File(path, "r") as archive:
        group = archive["cells"]
        columns = {text(name): group[name][:] for name in group.attrs["columns"]}
    rows = [{text(name): text(values[i].item()) for name, values in columns.items()}
            for i in range(len(columns["status"]))]
    return {row["label"]: row | {"status": STATUS[row["status"]]} for row in rows}


def finished_cells(path):
    """Label -> values that differ between two runs of a cell, for every committed cell with a result
    and all its tables in the archive or in a shard."""
    found = {}
    if os.path.exists(path):
        for label, row in cells(path).items():
            if row["status"] == "ok" and row["record"] == ALL:
                found[label] = tuple(row[name] for name in RUN_COLUMNS)
    for shard in glob.glob(path + ".d/" + "?" * 64 + "*.h5"):
        for label, row in shard_rows(shard).items():
            found.setdefault(label, row)
    return found


def shard_table(path, wanted):
    """A table of a shard, columns by name (sweeps/hdf5/packed_tables.hpp)."""
    with open(path, "rb") as shard:
        assert shard.read(17) == b"kvsweep tables 1\n", path
        deflated, _ = numpy.frombuffer(shard.read(16), "<u8").tolist()
        description, chunks = zlib.decompress(shard.read(deflated)), shard.read()

    def take(kind):
        nonlocal description
        value = int.from_bytes(description[:8], "little")
        description = description[8:]
        if kind is int:
            return value
        text, description = description[:value], description[value:]
        return text.decode()

    at, columns = 0, {}
    while description:
        table = take(str)
        for _ in range(take(int)):
            name, _, _, _ = (take(str), take(str), take(str), take(int))
            for _ in range(take(int)):
                take(str)
            kind, width, rows, chunk_rows = take(str), take(int), take(int), take(int)
            values = b""
            for _ in range(0, rows, chunk_rows):
                size = take(int)
                if table == wanted:  # behind the chunk is its checksum
                    shuffled = zlib.decompress(chunks[at:at + size - 4])
                    values += numpy.frombuffer(shuffled, "u1").reshape(width, -1).T.tobytes()
                at += size
            if table == wanted:
                columns[name] = numpy.frombuffer(values, f"S{width}" if kind == "text" else kind)[:rows].tolist()
    return columns


def shard_rows(path):
    """The same of the cells in a shard."""
    cells = shard_table(path, "cells")
    rows = [{name: text(values[i]) for name, values in cells.items()} for i in range(len(cells["key"]))]
    return {row["label"]: tuple(row[name] for name in RUN_COLUMNS) for row in rows
            if STATUS[row["status"]] == "ok" and row["record"] == ALL}


def datasets(archive):
    """Path -> dataset, for all datasets that must be equal in archives of the same cells."""
    found = {}

    def visit(path, item):
        if isinstance(item, h5py.Dataset) and not item.attrs.get("volatile", False) \
                and not path.startswith("provenance/"):
            found[path] = item

    archive.visititems(visit)
    return found


def same(a, b):
    if isinstance(a, bytes):
        return a == b
    if a.dtype.names:
        return all(same(a[name], b[name]) for name in a.dtype.names)
    if a.dtype.kind == "f":
        return numpy.array_equal(a, b, equal_nan=True)
    return numpy.array_equal(a, b)


def differences(path_a, path_b):
    """Names of the non-volatile datasets in which two archives differ."""
    need_h5py()
    with h5py.File(path_a, "r") as a, h5py.File(path_b, "r") as b:
        in_a, in_b = datasets(a), datasets(b)
        differing = sorted(set(in_a) ^ set(in_b))
        for path in sorted(set(in_a) & set(in_b)):
            x, y = in_a[path], in_b[path]
            if x.shape != y.shape or not same(x[()], y[()]):
                differing.append(path)
    return differing
