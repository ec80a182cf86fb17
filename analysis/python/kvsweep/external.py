"""Results of other programs, beside the cells of an archive.

    baseline = kvsweep.external.load("hf.json")         # made by analysis/python/hf_baseline.py
    kvsweep.external.cells(archive, [baseline])         # the archive's cells and one row more, backend "external"

They stay out of archives: an archive holds what the program ran. A file is one JSON object: format "kvsweep-external", version 1,
name (what measured), experiment (the sweep it stands beside), kind ("MEASURED (...)"), config and figures as cells of /cells have
them (figures are numbers), and whatever else is worth keeping.
"""
import dataclasses
import json
import math

import pandas as pd


@dataclasses.dataclass(frozen=True)
class External:
    name: str
    experiment: str
    kind: str
    config: dict
    figures: dict


def load(path):
    """Raises ValueError naming the file and what is wrong with it."""
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != "kvsweep-external":
        raise ValueError(f"{path} is no external result: its format must be kvsweep-external")
    if found.get("version") != 1:
        raise ValueError(f"{path} has version {found.get('version')}; this reads version 1")
    for key, kind in (("name", str), ("experiment", str), ("kind", str), ("config", dict), ("figures", dict)):
        if not isinstance(found.get(key), kind) or not found[key]:
            raise ValueError(f"{path}: {key} must be a {'text' if kind is str else 'table'} that is not empty, found {found.get(key)!r}")
    if not found["kind"].startswith("MEASURED (") and not found["kind"].startswith("MODELLED ("):
        raise ValueError(f"{path}: kind must begin with MEASURED ( or MODELLED (, found {found['kind']!r}")
    for name, value in found["figures"].items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{path}: figure {name} must be a number, found {value!r}")
    for key, value in found["config"].items():
        if not isinstance(value, (str, int, float)):
            raise ValueError(f"{path}: config.{key} must be a text, a number or a boolean, found {value!r}")
    figures = {name: float(value) for name, value in found["figures"].items()}
    return External(found["name"], found["experiment"], found["kind"], found["config"], figures)


def cells(archive, externals):
    """The archive's cells, followed by a row for each external result."""
    rows = []
    for each in externals:
        row = {"status": "ok", "backend": "external", "label": each.name, "kind": each.kind, "config": each.config, "variant": each.name}
        row |= {key: each.config.get(key) for key in {"gpu", "policy", "jps", *archive.axes}}
        rows.append(row | {name: value for name, value in each.figures.items() if name in archive.cells.columns})
    return pd.concat([archive.cells, pd.DataFrame(rows)], ignore_index=True) if rows else archive.cells
