#!/usr/bin/env python3
"""Follows "A GPU" and "A model" of docs/extending.md: their commands run, in a copy of sweeps/, as a reader would run them.

    guides_test.py SOURCE_DIR PROGRAM
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, PROGRAM = Path(sys.argv[1]), sys.argv[2]


def commands(section):
    """The section's indented commands but those for which a checkpoint is needed, with a name for NAME."""
    text = (SOURCE / "docs/extending.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    found = re.findall(r"^ {4,}((?:cp|kvsweep) .*)$", text, re.MULTILINE)
    return [line.split("#")[0].replace("NAME", "my-model") for line in found if "FOLDER" not in line]


def run(line, folder):
    print("$", line, flush=True)
    words = shlex.split(line)
    words[0] = PROGRAM if words[0] == "kvsweep" else words[0]
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, KVSWEEP_PROFILES=str(folder / "sweeps")))
    print(done.stdout[-2000:], flush=True)
    return done


def say_what_was_not_measured(profile):
    """Step 3 of the guide for a GPU."""
    text = profile.read_text()
    for table in ("kv_tokens", "published", "measured"):
        text = re.sub(rf"^\[{table}\]$.*?(?=^\[)", "", text, flags=re.MULTILINE | re.DOTALL)
    profile.write_text(text.replace("estimated = false", "estimated = true"))


def follow(section, expected, between=None):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(SOURCE / "sweeps", folder / "sweeps", ignore=shutil.ignore_patterns("measured"))
        lines = commands(section)
        assert len(lines) == expected, f"{section}: expected {expected} commands, found {lines}"
        assert run(lines[0], folder).returncode == 0
        if between:
            between(folder, lines)
        for line in lines[1:]:
            done = run(line, folder)
            assert done.returncode == 0, f"{section}: {line} ended with {done.returncode}"
        assert "are estimated" in done.stdout, "the answer does not say that the kernels are estimated"


def complete_gpu(folder, lines):
    refused = run(lines[1], folder)
    assert refused.returncode == 2 and "kernels.estimated must be true" in refused.stdout, "a bare copy was not refused"
    say_what_was_not_measured(folder / "sweeps/gpus/h100-nvl-94gb.toml")


follow("A GPU", 3, complete_gpu)
follow("A model", 3)
