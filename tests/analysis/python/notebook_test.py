#!/usr/bin/env python3
"""Executes docs/archive-in-python.ipynb over the archive that it names.

    notebook_test.py KVSWEEP SOURCE_DIR            # checks that every cell runs and shows what the page shows
    notebook_test.py KVSWEEP SOURCE_DIR --update   # writes what the cells show into the page
"""
import ast
import base64
import importlib.util
import io
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
missing = [name for name in ("h5py", "numpy", "pandas", "matplotlib", "xarray") if importlib.util.find_spec(name) is None]
if missing:
    print("SKIPPED: Python has no " + ", ".join(missing))
    sys.exit(0)

PAGE = source / "docs/archive-in-python.ipynb"


def execute(code, names):
    """Runs a cell; returns the value of its last line if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, PAGE.name, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), PAGE.name, "eval"), names)


def shown(value):
    """As a notebook keeps it: a picture for a figure, else text."""
    if value is None:
        return []
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=120)
        data = {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": "a figure"}
    else:
        data = {"text/plain": repr(value)}
        if hasattr(value, "to_html"):
            data["text/html"] = value.to_html()
    return [{"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}]


def words_of(outputs):
    """Words and numbers; other versions of pandas align columns otherwise."""
    return re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?|[^\W\d]+", " ".join(each["data"]["text/plain"] for each in outputs))


def is_same(a, b):
    """Equal, or numbers that differ by rounding."""
    try:
        return a == b or math.isclose(float(a), float(b), rel_tol=1e-6)
    except ValueError:
        return a == b


def main():
    page = json.loads(PAGE.read_text())
    codes = [cell for cell in page["cells"] if cell["cell_type"] == "code"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "run", source / "sweeps/experiments/demo.toml", "--set", "repeat.n=5", "--archive", f"{folder}/demo.h5"],
                       cwd=source, check=True, capture_output=True)
        subprocess.run([program, "report", f"{folder}/demo.h5", "-o", f"{folder}/report"], cwd=source, check=True, capture_output=True)
        os.chdir(folder)
        sys.path.insert(0, str(source / "analysis/python"))
        names = {}
        outputs = [shown(execute(cell["source"], names)) for cell in codes]
    if "--update" in sys.argv:
        for cell, output in zip(codes, outputs):
            cell["outputs"] = output
        PAGE.write_text(json.dumps(page, indent=1) + "\n")
        return
    for cell, output in zip(codes, outputs):
        said, found = (words_of(each) for each in (cell["outputs"], output))
        same = len(said) == len(found) and all(map(is_same, said, found))
        assert same, f"{cell['source']}\nshows {found}\nand in the page {said}"


if __name__ == "__main__":
    main()
