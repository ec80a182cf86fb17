#!/usr/bin/env python3
"""Which folder may include which, and what may stand only in one place: the source tree against the tables below.

    check_architecture.py ROOT [--expect FILE]

Prints `file:line: rule: what` for every violation; exits with 0 when there are none or exactly the lines of FILE.
"""
import re
import sys
from pathlib import Path

# Headers without a library: how input of any kind is read within limits.
READING = r"sweeps/(input_text|strict_json)\.hpp"
# Folder (the first that matches): what its files may include besides the standard library and the folder itself.
MAY_INCLUDE = {
    "kernels/": r"cuda",
    "sweeps/": r"toml|hdf5|posix",
    "workers/engine/": r"(?!)",
    "workers/policies/": r"workers/engine/.*",
    "workers/workload/": r"workers/engine/(ids|clock|request|errors)\.hpp|" + READING + r"|json|pcre2|lzma|posix",
    "workers/model/": r"workers/engine/errors\.hpp|kernels/random_weight\.hpp|" + READING + r"|json|posix",
    "workers/backends/cuda/": r"(workers/engine|workers/model|workers/backends|kernels)/.*|cuda|posix",
    "workers/backends/": r"(workers/engine|workers/model|kernels)/.*|blas|posix",
    "workers/": r"sweeps/.*|json|posix",
    "driver/": r"workers/[^/]+\.hpp|(sweeps|analysis)/.*|boost|posix",
    "analysis/": r"sweeps/.*|json|posix",
    "tests/": r"(?!catch2|not_from_root).*",
}
MAY_ALSO_INCLUDE = {
    "sweeps/strict_json.hpp": "json",
    "workers/channel.cpp": "mpi",
    "driver/main.cpp": "mpi",
    "workers/backends/cuda/nccl_comm.cpp": "nccl",
    "tests/support/catch.hpp": "catch2",
    "tests/support/main.cpp": "catch2",
}
# How an included header is named in the tables above (the first that matches); our own are named by their path.
HEADERS = {
    "cuda": r"cu(da|blas|rand|b/)|nvml|nvtx|mma\.h|cooperative_groups", "nccl": r"nccl", "mpi": r"mpi\.h",
    "hdf5": r"hdf5|H5", "toml": r"toml\+\+/", "json": r"nlohmann/", "pcre2": r"pcre2", "lzma": r"lzma",
    "boost": r"boost/", "catch2": r"catch2/", "blas": r"cblas", "posix": r"[\w/-]+\.h$", "std": r"\w+$",
    "not_from_root": r".*",
}
# Rule, pattern, the files it is looked for in, the files where it belongs.
ONLY_THERE = [
    ("clock", r"\b(steady|system|high_resolution)_clock\b|\bclock_gettime\b", r".*", r"workers/engine/clock\.cpp|tests/.*"),
    ("environment", r"\b(secure_)?getenv\b", r".*", r"driver/options\.cpp|tests/.*"),
    ("conditional", r"#\s*(el)?if.*(CUDA(?!CC__|_ARCH__)|NCCL|MPI|HDF5|KVSWEEP)", r".*\.(hpp|cuh)", r"(?!)"),
]


def first(table, matches):
    return next(key for key in table if matches(key))


def may_include(path, header):
    folder = first(MAY_INCLUDE, path.startswith)
    ours = re.match(r"(driver|workers|kernels|sweeps|analysis|tests)/", header)
    name = header if ours else first(HEADERS, lambda key: re.match(HEADERS[key], header))
    allowed = re.fullmatch(MAY_INCLUDE[folder], name) or name == MAY_ALSO_INCLUDE.get(path)
    return allowed or name == "std" or name.startswith(folder)


def violations(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*[<"]([^>"]+)', line)
        if include and not may_include(path, include[1]):
            yield f"{path}:{number}: include: {include[1]}"
        for rule, pattern, where, home in ONLY_THERE:
            found = re.search(pattern, line.split("//")[0])
            if found and re.fullmatch(where, path) and not re.fullmatch(home, path):
                yield f"{path}:{number}: {rule}: {found[0]}"


root = Path(sys.argv[1])
found = []
folders = sorted({folder.split("/")[0] for folder in MAY_INCLUDE})
for file in sorted(file for folder in folders for file in (root / folder).rglob("*")):
    path = file.relative_to(root).as_posix()
    if file.suffix in (".hpp", ".cpp", ".cuh", ".cu") and not path.startswith("tests/architecture/planted/"):
        found += violations(path, file.read_text())
print("\n".join(found) or "no violations")
expected = Path(sys.argv[3]).read_text().splitlines() if "--expect" in sys.argv else []
sys.exit(found != expected)
