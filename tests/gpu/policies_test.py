"""Policies on a card, from sweep file to archive, with checksums on. KVSWEEP_TEST_BACKEND=cpu runs the same without a card."""
import csv
import io
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "farm"))
from cases import case, expect, expect_equal, expect_in, main, skip  # noqa: E402
from farm import Folder, PROGRAM  # noqa: E402

BACKEND = os.environ.get("KVSWEEP_TEST_BACKEND", "cuda")
PLUGINS = os.environ["KVSWEEP_TEST_PLUGINS"]
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../plugins")

TINY = """schema = 1
[sweep]
name = "tiny"
backend = "{backend}"
[axes]
gpu = ["{sku}"]
model = ["tiny-llama-3"]
policy = ["{policy}"]
jps = [20]
[engine]
kv_tokens = 1536
host_kv_tokens = 1536
max_model_len = 1024
max_num_batched_tokens = 512
max_num_seqs = 16
dtype = "{dtype}"
debug = true
[workload]
kind = "agent8"
jobs = 8
scale = 0.05
tool_hint = true
gap_s = 0.05
"""


def sku():
    """That of the card; any where there is none and none is needed."""
    if BACKEND != "cuda":
        return "h100-80gb"
    doctor = subprocess.run([PROGRAM, "doctor", "--backend", "cuda"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.search(r": SKU ([a-z0-9-]+)", doctor.stdout)
    if not found:
        skip("needs a GPU: " + next((line for line in doctor.stdout.splitlines() if "GPU" in line), "built without CUDA"))
    return found.group(1)


def tiny(policy, backend=BACKEND):
    text = TINY.format(backend=backend, sku=sku(), policy=policy, dtype="float32" if BACKEND == "cpu" else "bfloat16")
    return text if policy in ("cpu_offload", "predictive_prefetch") else text.replace("host_kv_tokens = 1536\n", "")


def rows_of(policy, axis, values, scheduler="v1", **keys):
    """The cells of the policy with these values of policy.AXIS and further keys of policy.*, all of which have run."""
    listed = ", ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
    text = tiny(policy).replace("jps = [20]", f'jps = [20]\n"policy.{axis}" = [{listed}]')
    with Folder(text) as folder:
        words = [PROGRAM, "run", "farm.toml", "--archive", "a.h5", "--set", f"engine.scheduler={scheduler}"]
        for key, value in keys.items():
            words += ["--set", f"policy.{key}={value}"]
        done = subprocess.run(words, cwd=folder.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        expect_equal(done.returncode, 0, f"exit code of {words}, {done.stdout}")
        table = subprocess.run([PROGRAM, "export", "a.h5", "--table", "cells", "--format", "csv"], cwd=folder.path, stdout=subprocess.PIPE, text=True)
        rows = list(csv.DictReader(io.StringIO(table.stdout)))
        expect_equal([(row["status"], row["backend"], row["jobs"]) for row in rows], [("ok", BACKEND, "8")] * len(values), f"cells of {axis}")
        return rows


@case("a cell of each rule of eviction, host eviction and admission passes its checksums")
def rules():
    rows_of("fcfs", "eviction", ("partial_first", "next_use", "oracle", "slru", "tail_lru", "retention_priority", "cost_aware", "session_close"))
    rows_of("fcfs", "admission", ("working_set", "thunder", "quota"))
    rows_of("working_set", "first_wait_s", (0, 0.02))
    for admission in ("working_set", "thunder"):
        rows_of("fcfs", "shared_prefixes", ("each", "once"), admission=admission)
    for row in rows_of("predictive_prefetch", "prefetch", ("at_pause", "at_enqueue", "oracle")):
        expect(float(row["host_hit_tok"]) > 0, f"tokens found on the host in {row['label']}: {row['host_hit_tok']}")
    rows_of("cpu_offload", "store", ("prompt", "all"), scheduler="vllm-0.33")
    for row in rows_of("cpu_offload", "host_eviction", ("next_use", "oracle", "arc")):
        expect(float(row["host_hit_tok"]) > 0, f"tokens found on the host in {row['label']}: {row['host_hit_tok']}")


@case("a plugin in C and one in Python decide cells whose checksums hold")
def plugins():
    in_c, in_python = os.path.join(PLUGINS, "fcfs_lru.so"), os.path.abspath(os.path.join(SOURCES, "fcfs_lru.py"))
    rows = rows_of("fcfs", "plugin", (in_c, in_python), order="plugin", eviction="plugin")
    for row in rows:
        expect(float(row["plugin_calls"]) > 8, f"calls in {row['label']}: {row['plugin_calls']}")


if __name__ == "__main__":
    main()
