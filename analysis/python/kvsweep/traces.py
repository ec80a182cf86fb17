"""Traces of one's own, in the native format of docs/traces.md."""
import json

import numpy as np
import pandas as pd

WHOLE = ("input_length", "output_length", "block_size")
LISTS = ("hash_ids", "wait_for")
REQUIRED = ("input_length", "output_length", "hash_ids")
FIELDS = (*REQUIRED, "block_size", "request_id", "session_id", "wait_for", "agent", "tool_wait_ms", "delay_ms", "tool", "timestamp",
          "start_ms", "api_ms")


def write_trace(dataframe, path):
    """Writes a row as a request, in the frame's order, with the fields of docs/traces.md as columns. A field that is None or NaN is left
    out of its row. Raises ValueError naming the row and the column; `kvsweep workload --check` judges what the requests mean together.
    """
    for name in REQUIRED:
        if name not in dataframe.columns:
            raise ValueError(f"a trace needs the column {name}; the frame has {', '.join(map(str, dataframe.columns)) or 'none'}")
    for name in dataframe.columns:
        if name not in FIELDS:
            raise ValueError(f"a trace has no column {name}; allowed: {', '.join(FIELDS)}")
    lines = [json.dumps(_request(index, row)) + "\n" for index, row in zip(dataframe.index, dataframe.to_dict("records"))]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def _request(index, row):
    request = {name: _plain(f"row {index}: {name}", name, value) for name, value in row.items() if not _missing(value)}
    for name in REQUIRED:
        if name not in request:
            raise ValueError(f"row {index}: {name} is missing")
    return request


def _missing(value):
    return value is None or (np.isscalar(value) and pd.isna(value))


def _plain(where, name, value):
    """As JSON has it. A column of whole numbers in which one is missing has floats."""
    if name in LISTS:
        if np.isscalar(value):
            raise ValueError(f"{where} must be a list, found {value!r}")
        return [str(each) if name == "wait_for" else _whole(where, each, 2**64) for each in value]
    if name in WHOLE:
        return _whole(where, value, 2**31)
    if name.endswith("_ms") or name == "timestamp":
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
            raise ValueError(f"{where} must be a number of milliseconds, found {value!r}")
        return float(value)
    return str(value)


def _whole(where, value, end):
    whole = isinstance(value, (int, np.integer)) or (isinstance(value, (float, np.floating)) and value.is_integer())
    if isinstance(value, bool) or not whole or not 0 <= int(value) < end:
        raise ValueError(f"{where} must be a whole number below {end}, found {value!r}")
    return int(value)
