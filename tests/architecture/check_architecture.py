#!/usr/bin/env python3
"""Checks the source tree against the tables below: what stands at its root, what each room may include, and what may
occur in one place only.

    check_architecture.py ROOT [--expect FILE]

A room is a folder with code. Prints `file:line: rule: what` for every violation and exits with 0 when there are none. With FILE,
exits with 0 when the violations are exactly its lines and a forbidden include in any room would be found.
"""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

# What stands at the root.
ROOT = set(""".ci .clang-format .clang-tidy .gitignore CHANGELOG.md CITATION.cff CMakeLists.txt CMakePresets.json LICENSE README.md
analysis cmake docs driver kernels run-demo run-tests slurm sweeps tests workers""".split())
# Room: the rooms, headers and libraries that its files may include besides the standard library and the room itself.
MAY_INCLUDE = {
    "kernels": "cuda",
    "kernels/device": "kernels cuda",
    "kernels/log": "kernels kernels/device cuda",
    "kernels/attention": "kernels kernels/device kernels/log cuda",
    "kernels/attention/decode": "kernels kernels/device kernels/log kernels/attention cuda",
    "kernels/attention/prefill": "kernels kernels/device kernels/log kernels/attention cuda",
    "kernels/blocks": "kernels kernels/device cuda",
    "kernels/layers": "kernels kernels/device cuda",
    "kernels/small_gemm": "kernels kernels/device kernels/layers cuda",
    "kernels/gated_gemm": "kernels kernels/device kernels/layers cuda",
    "kernels/reference": "kernels",
    "sweeps/text": "",
    "sweeps/files": "sweeps/text openssl posix",
    "sweeps/process": "sweeps/files posix",
    "sweeps/tables": "",
    "sweeps/definition": "sweeps/files sweeps/text sweeps/tables toml",
    "sweeps/hdf5": "sweeps/files sweeps/process sweeps/tables hdf5 zlib isal posix",
    "sweeps/archive": "sweeps/files sweeps/process sweeps/tables sweeps/definition sweeps/hdf5 posix",
    "sweeps/commits": "sweeps/files sweeps/text sweeps/process sweeps/tables sweeps/hdf5 sweeps/archive posix",
    "sweeps/upkeep": "sweeps/files sweeps/tables sweeps/hdf5 sweeps/archive sweeps/commits posix",
    "workers/engine/base": "",
    "workers/engine/cache": "workers/engine/base",
    "workers/engine/step": "sweeps/tables/decisions.hpp workers/engine/base workers/engine/cache",
    "workers/engine/prefetch": "workers/engine/base workers/engine/cache workers/engine/step",
    "workers/engine/tiers": "workers/engine/base workers/engine/cache workers/engine/step workers/engine/prefetch",
    "workers/engine/scheduler": "workers/engine/base workers/engine/cache workers/engine/step",
    "workers/engine": "workers/engine/base workers/engine/cache workers/engine/step workers/engine/tiers workers/engine/scheduler",
    "workers/policies/estimators": "workers/engine/base",
    "workers/policies/admission": "workers/policies/estimators workers/engine/base workers/engine/step",
    "workers/policies/eviction": "workers/policies/estimators workers/engine/base workers/engine/cache workers/engine/step",
    "workers/policies/host_eviction": "workers/policies/estimators workers/engine/base workers/engine/cache workers/engine/step",
    "workers/policies/order": "workers/policies/estimators workers/engine/base workers/engine/cache workers/engine/step",
    "workers/policies/plugin": "sweeps/files sweeps/text sweeps/process workers/policies/admission workers/policies/estimators workers/policies/order workers/engine/base workers/engine/cache workers/engine/step workers/engine/prefetch posix",
    "workers/policies": "workers/policies/estimators workers/policies/admission workers/policies/eviction workers/policies/host_eviction workers/policies/order workers/policies/plugin workers/engine/base workers/engine/cache workers/engine/step workers/engine/prefetch",
    "workers/policies/exported": "sweeps/text workers/policies workers/policies/admission workers/policies/plugin workers/policies/estimators workers/engine/base workers/engine/cache workers/engine/step workers/engine/scheduler",
    "workers/workload/input": "workers/engine/base sweeps/text json zlib",
    "workers/workload": "workers/workload/input workers/engine/base sweeps/text",
    "workers/workload/trace": "workers/workload/input workers/workload workers/engine/base sweeps/text",
    "workers/model": "workers/engine/base kernels sweeps/files sweeps/text sweeps/process json posix",
    "workers/backends": "sweeps/text workers/engine/base workers/engine/step workers/model kernels",
    "workers/backends/sim": "workers/engine/base workers/engine/step workers/model",
    "workers/backends/cpu": "workers/backends workers/engine/base workers/engine/step workers/model kernels kernels/reference blas posix",
    "workers/backends/cuda/device": "workers/engine/base workers/engine/step kernels/device cuda posix",
    "workers/backends/cuda/forward": "workers/backends/cuda/device workers/backends workers/engine/base workers/model "
                                     "kernels/device kernels/attention kernels/blocks kernels/layers posix",
    "workers/backends/cuda": "workers/backends/cuda/device workers/backends/cuda/forward workers/backends workers/engine/base "
                             "workers/engine/step workers/model kernels/attention kernels/blocks kernels/log",
    "workers/server/http": "sweeps/files workers/engine/base posix",
    "workers/server/supervisor": "sweeps/process posix",
    "workers/server/dialect": "sweeps/text workers/server/http workers/engine/base json",
    "workers/server": "workers/server/http workers/server/supervisor workers/server/dialect workers/engine/base posix json",
    "workers/record": "workers/backends workers/engine/base workers/engine/step workers/workload sweeps/tables",
    "workers/cell": "workers/server workers/server/http workers/server/dialect workers/record workers/engine/base workers/engine/step workers/engine workers/policies workers/policies/estimators workers/workload "
                    "workers/workload/trace workers/model "
                    "workers/backends workers/backends/sim workers/backends/cpu workers/backends/cuda sweeps/process sweeps/tables posix",
    "workers/bounds": "workers/cell workers/engine/base workers/workload workers/backends/sim",
    "workers/profiles": "workers/model workers/backends/sim sweeps/files sweeps/definition version",
    "workers/binding": "workers/profiles workers/cell workers/backends workers/engine/base workers/policies workers/policies/estimators "
                       "workers/policies/admission workers/policies/plugin workers/model "
                       "workers/backends/sim workers/workload/trace sweeps/definition",
    "workers/rank": "version workers/profiles workers/binding workers/cell workers/engine/base workers/backends/cuda workers/backends/cuda/device "
                    "sweeps/files sweeps/text sweeps/tables sweeps/definition sweeps/archive sweeps/commits json posix",
    "workers/tools": "sweeps/files sweeps/text workers/rank workers/server workers/server/dialect workers/server/http workers/cell workers/engine/base "
                     "workers/backends/cuda posix",
    "analysis/text": "sweeps/files sweeps/text json openssl zlib posix",
    "analysis/digest": "analysis/text sweeps/tables sweeps/definition",
    "analysis/compare": "analysis/text analysis/digest sweeps/text sweeps/tables sweeps/definition sweeps/archive",
    "analysis/ranking": "analysis/text analysis/digest analysis/compare sweeps/tables sweeps/definition sweeps/archive",
    "analysis/capacity": "analysis/text analysis/digest analysis/compare sweeps/tables sweeps/definition sweeps/archive",
    "analysis/claims": "analysis/text analysis/digest analysis/compare analysis/capacity sweeps/tables sweeps/definition sweeps/archive",
    "analysis/trace": "analysis/text sweeps/tables sweeps/archive",
    "analysis/report": "analysis/text analysis/digest analysis/compare analysis/ranking analysis/capacity analysis/claims sweeps/tables sweeps/definition sweeps/archive",
    "driver/command_line": "analysis/text analysis/compare sweeps/files sweeps/tables sweeps/definition sweeps/archive workers/cell version boost posix",
    "driver/farm": "sweeps/text driver/command_line analysis/text sweeps/tables sweeps/archive workers/cell workers/rank posix",
    "driver/plan": "workers/backends/sim driver/command_line driver/farm analysis/text analysis/compare analysis/ranking sweeps/files sweeps/process sweeps/definition sweeps/archive "
                   "workers/binding workers/cell posix",
    "driver/submit": "driver/command_line driver/farm driver/plan analysis/text sweeps/definition workers/profiles workers/binding",
    "driver/run": "driver/command_line driver/farm driver/plan analysis/text analysis/trace sweeps/process sweeps/definition sweeps/archive sweeps/commits "
                  "workers/profiles workers/binding workers/cell workers/rank version posix",
    "driver/search": "driver/command_line driver/plan driver/run analysis/text analysis/digest analysis/compare analysis/ranking analysis/capacity sweeps/files sweeps/process "
                     "sweeps/definition sweeps/archive sweeps/commits workers/profiles workers/rank posix",
    "driver/commands": "driver/command_line driver/farm driver/plan driver/submit driver/run driver/search analysis/text analysis/digest "
                       "analysis/compare analysis/ranking analysis/claims analysis/report analysis/trace sweeps/files sweeps/text sweeps/definition sweeps/archive sweeps/commits "
                       "sweeps/upkeep workers/binding workers/bounds workers/cell workers/engine/base workers/rank workers/tools workers/workload "
                       "workers/workload/trace version posix",
    "driver": "driver/command_line driver/commands driver/farm sweeps/process posix",
}
# Libraries that only these files of a room include.
MAY_ALSO_INCLUDE = {
    "sweeps/text/strict_json.hpp": "json",
    "workers/rank/channel.cpp": "mpi", "workers/rank/mpi_handles.hpp": "mpi",
    "workers/backends/cuda/device/nccl_comm.cpp": "nccl",
    "workers/server/http/loop_curl.cpp": "curl",
    "tests/support/catch.hpp": "catch2",
    "tests/support/main.cpp": "catch2",
}
MOST_FILES = 30  # of a room
# Includes of which every room forbids at least one.
TRESPASS = '#include "driver/main.hpp"\n#include "kernels/device/wgmma.cuh"\n#include "analysis/report/report.hpp"\n'
# How an included header is named in the tables above (the first that matches); our own are named by their path.
HEADERS = {
    "cuda": r"cu(da|blas|rand|b/)|nvml|nvtx|mma\.h|cooperative_groups", "nccl": r"nccl", "curl": r"curl/", "mpi": r"mpi\.h",
    "hdf5": r"hdf5|H5", "toml": r"toml\+\+/", "json": r"nlohmann/",
    "boost": r"boost/", "zlib": r"zlib\.h", "isal": r"isa-l/", "openssl": r"openssl/", "version": r"driver/version\.hpp|version/kernels_digest\.hpp", "catch2": r"catch2/", "blas": r"cblas", "posix": r"[\w/-]+\.h$", "std": r"\w+$",
    "not_from_root": r".*",
}
# Rule, pattern, the files it is looked for in, the files where it belongs.
ONLY_THERE = [
    ("clock", r"\b(steady|system|high_resolution)_clock\b|\bclock_gettime\b|\bstd::time\(", r".*", r"workers/engine/base/clock\.cpp|tests/.*"),
    ("environment", r"\b(secure_)?getenv\b", r".*", r"driver/command_line/options\.cpp|workers/server/secrets\.cpp|tests/.*"),
    ("conditional", r"#\s*(el)?if.*(CUDA(?!CC__|_ARCH_)|NCCL|MPI|HDF5|KVSWEEP)", r".*\.(hpp|cuh)", r"(?!)"),
]


OURS = re.compile(r"(driver|workers|kernels|sweeps|analysis|tests)/")


def name_of(header):
    """A room of ours or a library, as in the tables above."""
    if OURS.match(header) and header != "driver/version.hpp":
        return header.rpartition("/")[0]
    return next(name for name in HEADERS if re.match(HEADERS[name], header))


def may_include(path, header):
    name, room = name_of(header), path.rpartition("/")[0]
    if name in ("std", room, MAY_ALSO_INCLUDE.get(path)):
        return True
    if path.startswith("tests/"):
        return name not in ("catch2", "not_from_root")
    return not {name, header}.isdisjoint(MAY_INCLUDE.get(room, "").split())


def is_private(root, header):
    file = root / header
    return OURS.match(header) and file.exists() and "// Private to this room" in file.read_text()


def violations(root, path, text):
    room = path.rpartition("/")[0]
    if room not in MAY_INCLUDE and not path.startswith("tests/"):
        yield f"{path}:1: room: {room} has no row in MAY_INCLUDE"
    for number, line in enumerate(text.splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*[<"]([^>"]+)', line)
        if include and not may_include(path, include[1]):
            yield f"{path}:{number}: include: {include[1]}"
        elif include and not path.startswith("tests/") and name_of(include[1]) != room and is_private(root, include[1]):
            yield f"{path}:{number}: private: {include[1]}"
        for rule, pattern, where, home in ONLY_THERE:
            found = re.search(pattern, line.split("//")[0])
            if found and re.fullmatch(where, path) and not re.fullmatch(home, path):
                yield f"{path}:{number}: {rule}: {found[0]}"


def at_root(root):
    """Names that git has there; without git all, but folders that .gitignore names."""
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            return {name.split("/")[0] for name in listed.stdout.split("\0") if name}
    return {path.name for path in root.iterdir()} - {".git", "build", "results"}


def main(root, expected):
    files = Counter()
    found = [f"{name}:1: root: nothing of this name belongs there" for name in sorted(at_root(root) - ROOT)]
    for file in sorted(file for folder in ("analysis", "driver", "kernels", "sweeps", "tests", "workers")
                       for file in (root / folder).rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.suffix in (".hpp", ".cpp", ".cuh", ".cu") and not path.startswith("tests/architecture/planted/"):
            files[path.rpartition("/")[0]] += 1
            found += violations(root, path, file.read_text())
    found += [f"{room}:1: room: {count} files of code" for room, count in sorted(files.items())
              if room in MAY_INCLUDE and count > MOST_FILES]
    print("\n".join(found) or "no violations")
    if expected is None:
        return found != []
    blind = [room for room in MAY_INCLUDE if not list(violations(root, f"{room}/trespasser.cpp", TRESPASS))]
    print("".join(f"a forbidden include in {room} would not be found\n" for room in blind), end="")
    return found != expected or blind != []


sys.exit(main(Path(sys.argv[1]), Path(sys.argv[3]).read_text().splitlines() if "--expect" in sys.argv else None))
