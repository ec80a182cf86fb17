#!/usr/bin/env python3
"""Turns the parquet files of SWE-smith-trajectories (split `tool`) into the JSON lines that `trajectories` reads.

    swesmith_parquet_to_jsonl.py tool-*.parquet > swesmith.jsonl
    swesmith_parquet_to_jsonl.py --limit 200 tool-*.parquet | xz > swesmith.jsonl.xz
"""
import argparse
import json

COLUMNS = ["traj_id", "instance_id", "model", "resolved", "messages"]


def rows(path):
    """Yields the rows of one file as dicts, with one batch in memory at a time."""
    import pyarrow.parquet

    table = pyarrow.parquet.ParquetFile(path)
    names = [name for name in COLUMNS if name in table.schema_arrow.names]
    if "messages" not in names:
        raise SystemExit(f"{path}: no column `messages`; found {', '.join(table.schema_arrow.names)}")
    for batch in table.iter_batches(batch_size=64, columns=names):
        yield from batch.to_pylist()


def job(row):
    """One line: a unique id (an instance may have several trajectories) and the messages as a list."""
    messages = row.pop("messages")
    if isinstance(messages, str):
        messages = json.loads(messages)
    return {"id": row.get("traj_id") or row.get("instance_id"), **row, "messages": messages}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parquet", nargs="+", help="files of the data set, in order")
    parser.add_argument("--limit", type=int, default=None, help="stop after so many jobs")
    options = parser.parse_args()
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise SystemExit("pyarrow is not installed; it reads parquet (python3 -m pip install pyarrow)")
    written = 0
    for path in options.parquet:
        for row in rows(path):
            if written == options.limit:
                return
            print(json.dumps(job(row)))
            written += 1


if __name__ == "__main__":
    main()
