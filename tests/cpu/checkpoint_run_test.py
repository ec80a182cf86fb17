"""A cell with weights from a checkpoint folder, run by the built kvsweep from a sweep file to its archive.

checkpoint_run_test.py BACKEND SOURCE_DIR; the program is named by KVSWEEP_PROGRAM. Exits with 77 where BACKEND has no device.
"""
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = os.environ["KVSWEEP_PROGRAM"]
SKIPPED = 77

MODEL = """architecture = "llama"
layers = 2
hidden = 64
heads = 2
kv_heads = 1
head_dim = 64
intermediate = 64
vocab = 192
max_context = 512
dtype = "bfloat16"
dtype_bytes = 2
gated_mlp = true
tied_embeddings = false
biases = false
learned_positions = 0
norm_eps = 1e-5

[rope]
theta = 10000.0
scaling = "llama3"
factor = 8.0
low_freq_factor = 1.0
high_freq_factor = 4.0
original_max_context = 64
"""


def sweep(backend, gpu, checkpoint, axis):
    return f"""schema = 1
[sweep]
name = "checkpoint"
backend = "{backend}"
[axes]
gpu = ["{gpu}"]
model = ["fixture"]
policy = ["fcfs"]
jps = [20]
{axis}
[engine]
max_model_len = 512
max_num_batched_tokens = 256
max_num_seqs = 8
[weights]
checkpoint = "{checkpoint}"
[workload]
kind = "agent8"
jobs = 4
scale = 0.018
gap_s = 0.01
"""


def kvsweep(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300, check=False)
    if "needs a GPU" in done.stderr or "built without CUDA" in done.stderr:
        print("SKIPPED: " + done.stderr.strip())
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(f"kvsweep {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def profiles_with_fixture(folder, source):
    """The shipped profiles and the fixture's shape, with a card beside the H200 that has a pool for a few jobs."""
    for part in ("gpus", "policies", "published", "models"):
        (folder / part).mkdir()
        for profile in (source / "sweeps" / part).iterdir():
            (folder / part / profile.name).symlink_to(profile)
    (folder / "models" / "fixture.toml").write_text(MODEL, encoding="ascii")
    tight = (source / "sweeps/gpus/a100-40gb.toml").read_text(encoding="ascii")
    tight = tight.replace("[kv_tokens]", '[kv_tokens]\n"fixture" = 1024', 1)
    (folder / "gpus" / "a100-40gb.toml").unlink()
    (folder / "gpus" / "a100-40gb.toml").write_text(tight, encoding="ascii")


def cell_of(archive):
    rows = list(csv.DictReader(io.StringIO(kvsweep("export", str(archive), "--table", "cells", "--format", "csv"))))
    assert len(rows) == 1, rows
    return rows[0]


def main():
    backend, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    checkpoint = source / "tests/fixtures/models/llama-3"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        profiles = folder / "profiles"
        profiles.mkdir()
        profiles_with_fixture(profiles, source)
        cells = {}
        for what, axis in (("own", '"engine.kv_tokens" = [4096]'), ("emulated", '"engine.emulate" = ["a100-40gb"]')):
            file, archive = folder / f"{what}.toml", folder / f"{what}.h5"
            file.write_text(sweep(backend, "h200-141gb", checkpoint, axis), encoding="ascii")
            kvsweep("run", str(file), "--archive", str(archive), "--profiles", str(profiles))
            kvsweep("check", str(archive))
            cells[what] = cell_of(archive)
    assert "engine.emulate=a100-40gb" in cells["emulated"]["label"], "an emulated pool is part of the cell's name"
    assert cells["own"]["key"] != cells["emulated"]["key"], "another pool is another cell"
    for cell in cells.values():
        assert cell["status"] == "ok" and cell["jobs"] == "4", cell
        assert "weights.digest" in cell["config_json"], "what the weights are is part of the cell"
        assert cell["weights"] == str(checkpoint), cell["weights"]


if __name__ == "__main__":
    main()
