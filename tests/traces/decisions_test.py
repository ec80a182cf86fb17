"""Converted traces are replayed as the C++ readers of kvsweep 1 replayed the sources: digests of what they read and of what the engine decided are below.

`read` has lengths, tools, gaps and agents of all turns, and depends on nothing but the reading. `decided` has the order of admission, hits and preemptions
of fcfs and continuum on one pool; where rules of the engine change and `read` stays, record it anew. Offloading is not here: the tier has other rules than
then. Jobs without recorded tool times waited 1 s then, which is gap_fallback_s here.
"""
import hashlib
import itertools
import json
import lzma
import os
import pathlib
import subprocess
import tempfile

from world import FOLDER, case, expect_equal, main, package, shared, traces

PROGRAM = os.environ.get("KVSWEEP_PROGRAM", "kvsweep")
SWEEP = """schema = 1
[sweep]
name = "decisions"
backend = "sim"
[axes]
policy = ["fcfs", "continuum"]
gpu = ["h100-80gb"]
[engine]
max_num_batched_tokens = 8192
max_model_len = 131072
kv_tokens = 200000
[workload]
kind = "trace"
[sim]
cost_model = "kernels"
"""
TRACES, AGENTS, TOKENS = "data/traces", "data/trajectories", "data/tokenizers/cl100k_base.tiktoken"
CLAUDE, MATCHED = f"{TRACES}/weka_claude_code_473.jsonl.xz", f"{AGENTS}/matched100.jsonl.xz"
LONG = ("weka_claude_code_473.jsonl.xz", "mini_gemini3pro.jsonl.xz", "matched100.jsonl.xz")   # lines
WITHOUT_TEXTS = [   # source, keys, turns, read, decided
    (CLAUDE, "arrivals=live live=6 jobs=15 too_long=cut gap_cap_s=60", 1102, "b8d58fd82709e1df", "e5806fa62055727f"),
    (CLAUDE, "preset=agentx live=6 jobs=15 too_long=cut", 602, "80e1d135a1812130", "f0f933ce97983833"),
    (CLAUDE, "pacing=recorded jps=0.05 jobs=10 too_long=cut gap_cap_s=60", 680, "bdf265e54fc3eb74", "9104d22531b66702"),
    (f"{TRACES}/mooncake_conversation_trace.jsonl.xz", "arrivals=recorded jobs=400 time_scale=4", 800, "4385498e3e535f90", "e7555582a91050e7"),
    (f"{TRACES}/AzureLLMInferenceTrace_code_2023.csv.xz", "arrivals=recorded jobs=500", 1000, "6997889c8eace4c9", "76eb43355625cc5d"),
    (f"{TRACES}/tracelab_example_rounds.jsonl.xz", "jps=0.1 gap_cap_s=60 too_long=cut", 38, "b02c135cd36e393e", "909783afbd1f6aa7"),
    (MATCHED, "jps=0.3 jobs=20 gap_fallback_s=1", 676, "063cc2721a7f0418", "63368dd6ea80d886")]
BY_CL100K = [
    (MATCHED, "jps=0.3 jobs=20 gap_fallback_s=1", 676, "34fa5cf0f45ff97d", "4060ae013a3ad047"),
    (f"{AGENTS}/swesmith_real.jsonl.xz", "jps=0.3 gap_fallback_s=1", 472, "b71f63e624187a0e", "f5c9a592a85e5895"),
    (f"{AGENTS}/mini_gemini3pro.jsonl.xz", "jps=0.3 jobs=20 gap_fallback_s=1", 1126, "728ba89efc89a8c1", "69053f73608931de")]


def whole(number):
    """Without a decimal point where it is an integer, as the digests were recorded."""
    return int(number) if number == int(number) else round(number, 6)


def digest(rows):
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def kvsweep(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    expect_equal(done.returncode, 0, f"{words[0]}: {done.stderr}")
    return done.stdout


def beginning(path, out):
    """The first lines of a file, as many as any replay takes, since all of them take jobs in their order."""
    with lzma.open(path, "rb") as file:
        out.write_bytes(b"".join(itertools.islice(file, 60 if path.name in LONG else 600)))
    return out


def compared(replays, tokenizer=None):
    folder, made = pathlib.Path(tempfile.mkdtemp(dir=FOLDER.name)), {}
    (folder / "s.toml").write_text(SWEEP)
    for number, (source, keys, turns, read, decided) in enumerate(replays):
        if source not in made:
            made[source] = folder / f"{len(made)}.jsonl.gz"
            traces.convert(beginning(shared(source), folder / f"{len(made)}.jsonl"), made[source], tokenizer=tokenizer)
        archive, sets = folder / f"{number}.h5", [f"path={made[source]}", *keys.split()]
        named = [key if key.startswith("jps") else f"workload.{key}" for key in sets]
        kvsweep("run", folder / "s.toml", "--archive", archive, *(word for key in named for word in ("--set", key)))
        rows = [json.loads(line) for line in kvsweep("export", archive, "--table", "turns", "--format", "jsonl").splitlines()]
        what = f"{pathlib.Path(source).name} with {keys}"
        expect_equal(len(rows), turns, f"{what}: turns")
        expect_equal(digest(sorted((row["cell"], row["job"], row["turn"], row["agent"], row["parent"], row["prompt_tok"], row["output_tok"], row["tool"], whole(row["gap_s"]))
                                   for row in rows)), read, f"{what}: what was read")
        rows.sort(key=lambda row: (row["cell"], row["t_admit_s"], row["job"], row["turn"]))
        expect_equal(digest([(row["cell"], row["job"], row["turn"], row["cached_gpu_tok"], row["preemptions"]) for row in rows]), decided, f"{what}: what was decided")


@case("traces without texts are replayed as the C++ readers replayed them")
def without_texts():
    compared(WITHOUT_TEXTS)


@case("agents counted by cl100k_base are replayed as the C++ readers replayed them")
def by_cl100k():
    package("tiktoken")
    compared(BY_CL100K, str(shared(TOKENS)))


if __name__ == "__main__":
    main()
