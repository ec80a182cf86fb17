"""The formats that are understood, one file each. A format is a function with a test that tells its rows from others'."""
import importlib
import importlib.util
import itertools
import os
import pkgutil
from dataclasses import dataclass

from ..trace import Refused

FORMATS = {}


@dataclass
class Format:
    name: str
    detect: object      # detect(row): whether a file that begins with this row is of the format
    convert: object     # convert(row, context): a Job, a Chat, a list of them or None; or convert(rows, context) yields jobs
    whole: bool
    rank: int           # formats of a lower rank are asked first
    summary: str


def converter(name, detect, whole=False, rank=1):
    """Makes a function a converter, which is called for each row, or with `whole` once with all rows of the files."""
    def register(function):
        FORMATS[name] = Format(name, detect, function, whole, rank, (function.__doc__ or "").strip().partition("\n")[0])
        return function

    return register


def known():
    """All formats, in the order in which they are asked."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module("." + module.name, __name__)
    return sorted(FORMATS.values(), key=lambda each: each.rank)


def detected(rows, path):
    """The format of the first of these rows that has one; the converter counts those before it."""
    for row, each in itertools.product(rows, known()):
        try:
            if each.detect(row):
                return each
        except (TypeError, AttributeError, KeyError, IndexError, ValueError, StopIteration):
            continue
    if "kvsweep_trace" in rows[0]:
        raise Refused(f"{path}: is a trace already, which kvsweep reads as it is")
    raise Refused(f"{path}: is of no known format; its first row has {', '.join(map(str, list(rows[0])[:12]))}; known: {', '.join(each.name for each in known())}; "
                  "a table of turns names its columns by --columns")


def named(name):
    """A known format, or the one that a Python file adds."""
    if name.endswith(".py"):
        before = {each.name: each for each in known()}
        if not os.path.exists(name):
            raise Refused(f"--format {name}: there is no such file")
        spec = importlib.util.spec_from_file_location("kvsweep_traces_added", name)
        try:
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        except (SyntaxError, ImportError) as problem:
            line = f":{problem.lineno}" if getattr(problem, "lineno", None) else ""
            raise Refused(f"--format {name}{line}: cannot be loaded: {getattr(problem, 'msg', problem)}") from problem
        added = [each for each in FORMATS.values() if before.get(each.name) is not each]
        FORMATS.clear()
        FORMATS.update(before)
        if not added:
            raise Refused(f"--format {name}: adds no converter; it needs a function under @converter(name, detect)")
        return added[-1]
    formats = {each.name: each for each in known()}
    if name not in formats:
        raise Refused(f"--format is {name!r}; allowed: {', '.join(formats)}, or a Python file with a converter")
    return formats[name]
