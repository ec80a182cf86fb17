#!/usr/bin/env python3
"""Runs the Python snippets of docs/archive.md on a small archive.

    archive_python_test.py TEST_PROGRAM ARCHIVE.md

Each block runs in an empty folder of its own that holds results.h5. A block that imports xarray is left out, and said
to be, where xarray or its HDF5 engine is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def missing(*modules):
    absent = []
    for module in modules:
        try:
            __import__(module)
        except ImportError:
            absent.append(module)
    return absent


def sample_archive(program, folder):
    path = folder / "sample.h5"
    subprocess.run([program, "[.sample]"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "KVSWEEP_SAMPLE_ARCHIVE": str(path)})
    return path


def run_block(number, block, sample):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(sample, Path(folder) / "results.h5")
        ran = subprocess.run([sys.executable, "-c", block], cwd=folder, text=True, capture_output=True)
        print(f"--- block {number}\n{block}{ran.stdout}{ran.stderr}", end="")
        return ran.returncode == 0 and ran.stdout.strip() != ""


program, document = sys.argv[1], Path(sys.argv[2])
absent = missing("h5py", "pandas", "numpy")
if absent:
    print("SKIPPED: Python has no " + ", ".join(absent))
    sys.exit(0)
blocks = re.findall(r"^```python\n(.*?)^```", document.read_text(), re.M | re.S)
assert len(blocks) >= 4, f"{document} has {len(blocks)} Python blocks"
no_xarray = missing("xarray", "h5netcdf")
failed = []
with tempfile.TemporaryDirectory() as folder:
    sample = sample_archive(program, Path(folder))
    for number, block in enumerate(blocks, 1):
        if "xarray" in block and no_xarray:
            print(f"--- block {number} left out: Python has no " + ", ".join(no_xarray))
        elif not run_block(number, block, sample):
            failed.append(number)
print(f"blocks that failed or printed nothing: {failed or 'none'}")
sys.exit(bool(failed))
