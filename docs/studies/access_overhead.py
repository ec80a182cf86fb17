#!/usr/bin/env python3
"""The cost of the access log: logged decode steps compared with their neighbors, in cells of sweeps/experiments/ipdps-access-load.toml.

    kvsweep run sweeps/experiments/ipdps-access-load.toml --archive load.h5
    python3 docs/studies/access_overhead.py load.h5 -o overhead.json

or, without h5py, from three tables in one folder:

    for t in cells steps access_rows; do kvsweep export load.h5 --table $t -o load/$t.csv; done
    python3 docs/studies/access_overhead.py load

Logged steps are isolated, so the steps two before and two after one are not logged, and neither are their predecessors. Their mean
estimates the time of the step without a log; this is one pair. The next step runs beside the log's copy to the host, so its excess
counts as well. The first logged step of a cell records the graph of its kernels and is left out.
"""
import argparse
import csv
import io
import json
import pathlib
import statistics
import sys

LIMITS = {"0": 1.0, "all": 5.0}  # percent of a step's time


def exported(folder):
    """Rows of the three tables as lists of dictionaries of text."""
    return [list(csv.DictReader(io.StringIO((folder / f"{name}.csv").read_text()))) for name in ("cells", "steps", "access_rows")]


def archived(path):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    import kvsweep

    archive = kvsweep.open(path)
    cells = archive.cells.reset_index() if "cell" not in archive.cells else archive.cells
    return [frame.to_dict("records") for frame in (cells, archive.table("steps"), archive.table("access_rows"))]


def by_cell(rows):
    found = {}
    for row in rows:
        found.setdefault(int(row["cell"]), []).append(row)
    return found


def pairs_of(steps, logged):
    """Excess of each logged decode step, and of the step after it, over its neighbors, as fractions of their mean."""
    step = {int(row["step"]): row for row in steps}
    pairs = []
    for at in sorted(logged)[1:]:
        near = [at - 2, at, at + 1, at + 2]
        alone = not logged & {at - 3, at - 2, at - 1, at + 1, at + 2}
        same = all(n in step for n in near) and len({(step[n]["forward"], int(step[n]["n_decode"])) for n in near}) == 1
        if not alone or not same or step[at]["forward"] != "decode":
            continue
        took = {n: float(step[n]["dur_s"]) for n in near}
        base = (took[at - 2] + took[at + 2]) / 2
        pairs.append({"step": at, "base_s": base, "step_excess": took[at] / base - 1, "next_excess": took[at + 1] / base - 1})
    return pairs


def summary(cell, pairs):
    config = json.loads(cell["config_json"])
    layers = str(config.get("record.access_layers", "0"))
    both = [100 * (pair["step_excess"] + pair["next_excess"]) for pair in pairs]
    own = [100 * pair["step_excess"] for pair in pairs]
    found = {"cell": int(cell["cell"]), "model": config.get("model"), "gpu": config.get("gpu"), "backend": config.get("backend"), "layers": layers,
             "pairs": pairs, "step_percent": statistics.median(own), "with_next_percent": statistics.median(both),
             "step_range": [min(own), max(own)], "with_next_range": [min(both), max(both)]}
    for name in ("access_records", "access_waits", "access_wait_s", "access_stopped_step"):
        if name in cell:
            found[name] = cell[name]
    if layers in LIMITS:
        found["limit_percent"] = LIMITS[layers]
    return found


def line(found):
    spread = "{:+.2f} .. {:+.2f}"
    text = (f"{found['model']}, layers {found['layers']}: a logged step takes {found['step_percent']:+.2f} % "
            f"({spread.format(*found['step_range'])}), with the step behind it {found['with_next_percent']:+.2f} % "
            f"({spread.format(*found['with_next_range'])}), median and range of {len(found['pairs'])} pairs")
    if "limit_percent" in found:
        held = found["with_next_percent"] <= found["limit_percent"]
        text += f"; at most {found['limit_percent']:g} %: {'held' if held else 'not held'}"
    return text


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=pathlib.Path, help="an archive, or a folder with cells.csv, steps.csv and access_rows.csv")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="also write everything as JSON")
    given = parser.parse_args(words)
    cells, steps, rows = exported(given.path) if given.path.is_dir() else archived(given.path)
    steps, rows = by_cell(steps), by_cell(rows)
    found = []
    for cell in cells:
        number = int(cell["cell"])
        pairs = pairs_of(steps.get(number, []), {int(row["step"]) for row in rows.get(number, [])})
        if pairs:
            found.append(summary(cell, pairs))
    if not found:
        sys.exit("access_overhead: no cell has logged steps of decodes that stand alone among steps without a log")
    for each in found:
        print(line(each))
    if given.output:
        given.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
