"""Rows of other benchmarks, read by their own programs."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "farm"))
from cases import case, expect_equal, main, skip  # noqa: E402

PROGRAM = os.environ["KVSWEEP_PROGRAM"]
SWEEP = """schema = 1
[sweep]
name = "tiny"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum"]
jps = [3]
[workload]
kind = "swe_smith_like"
jobs = 3
"""


def exported(folder):
    """The lines of an archive as AIPerf's JSON."""
    def kvsweep(*words):
        return subprocess.run([PROGRAM, *words], cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout
    with open(os.path.join(folder, "tiny.toml"), "w", encoding="utf-8") as file:
        file.write(SWEEP)
    kvsweep("run", "tiny.toml", "--archive", "a.h5")
    return [json.loads(line) for line in kvsweep("export", "a.h5", "--format", "aiperf").splitlines()]


@case("the package aiperf reads exported cells as its own results, of the schema that it has")
def aiperf_reads_cells():
    try:
        from aiperf.common.models.export_models import JsonExportData, JsonMetricResult
    except ImportError as error:
        skip(f"the package aiperf cannot be imported: {error}")
    with tempfile.TemporaryDirectory() as folder:
        cells = exported(folder)
    expect_equal(len(cells), 2, "cells")
    metrics = {name for name, field in JsonExportData.model_fields.items() if "JsonMetricResult" in str(field.annotation)}
    for cell in cells:
        read = JsonExportData.model_validate(cell)
        expect_equal(read.schema_version, JsonExportData.SCHEMA_VERSION, "schema")
        # Unknown names are allowed in the model, so that a misspelt one would pass.
        unknown = {name for name in cell if name not in JsonExportData.model_fields}
        expect_equal(unknown, {"kvsweep"}, "names that it does not know")
        for name in metrics & set(cell):
            expect_equal(set(cell[name]) - set(JsonMetricResult.model_fields), set(), f"fields of {name} that it does not know")


if __name__ == "__main__":
    main()
