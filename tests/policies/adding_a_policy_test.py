#!/usr/bin/env python3
"""Follows docs/adding-a-policy.md: its code blocks, inserted where it says, compile and pass.

    adding_a_policy_test.py SOURCE_DIR COMPILER [FLAGS] -- LIBRARIES

The new file and the factory are compiled anew from a copy of workers/policies; everything else is linked as it was built.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```cpp (file|line)=(\S+)(?: after=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def with_line(text, macro, line):
    """Behind the last entry of the macro's list, which goes on as long as lines end in a backslash."""
    lines = text.splitlines()
    last = next(i for i, each in enumerate(lines) if each.startswith("#define " + macro + "("))
    while lines[last].endswith("\\"):
        last += 1
    lines[last] += " \\"
    lines.insert(last + 1, line.rstrip("\n"))
    return "\n".join(lines) + "\n"


def follow(document, source, copy):
    """Returns the files that are new or changed, each once."""
    shutil.copytree(source / "workers/policies", copy / "workers/policies")
    written = []
    for kind, path, macro, text in BLOCK.findall(document):
        target = copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text if kind == "file" else with_line(target.read_text(), macro, text))
        written += [target] if target not in written else []
    return written


def run(command):
    print(" ".join(map(str, command)), flush=True)
    return subprocess.run(command).returncode


source, compiler = Path(sys.argv[1]), sys.argv[2]
split = sys.argv.index("--")
flags, libraries = sys.argv[3:split], sys.argv[split + 1:]
with tempfile.TemporaryDirectory() as folder:
    files = follow((source / "docs/adding-a-policy.md").read_text(), source, Path(folder))
    names = sorted(file.relative_to(folder).as_posix() for file in files)
    assert len(names) == 6, f"expected two files, a line in each of two and two tests, found {names}"
    program = folder + "/test"
    command = [compiler, "-std=c++20", *flags, f"-I{folder}", f"-I{source}", *files, *libraries, "-o", program]
    sys.exit(run(command) or run([program]))
