"""Drives an installed vLLM and scheduler-replay through the same random workloads, and compares what they decide.

    vllm_test.py SCHEDULER_REPLAY [FIRST_SEED [COUNT]]

Skipped where vLLM cannot be imported. Says which version it compared with. A failure prints the seed, the
step, and each field that differs.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import vllm_scheduler

COUNT = 200


def splitmix64(x):
    mask = 2**64 - 1
    z = (x + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def eos_of(number, outputs):
    """Position of the end of sequence in the outputs of a request, as scheduler-replay --eos places it."""
    k = 1 + splitmix64(777_000 + number) % (2 * outputs)
    return k - 1 if k < outputs else None


def tokens(dice, count):
    return [dice.randint(0, 31_999) if dice.random() < 0.3 else 7 for _ in range(count)]


def random_workload(seed, tier):
    """Jobs whose turns extend each other and share prefixes, over a pool that barely holds the longest."""
    dice = random.Random(seed)
    block = dice.choice([4, 8, 16])
    system = tokens(dice, 8 * block)
    rows, longest = [], 0
    for job in range(dice.randint(3, 9)):
        prompt = system[:dice.randint(0, 8 * block)]
        step = dice.randint(0, 20)
        for turn in range(dice.randint(1, 3)):
            prompt = prompt + tokens(dice, dice.randint(1, 6 * block))
            outputs = tokens(dice, dice.randint(1, 3 * block))
            rows.append({"id": f"j{job}t{turn}", "arrival_step": step, "prompt": prompt, "output_len": len(outputs),
                         "output_tokens": outputs, "priority": dice.randint(0, 2)})
            if dice.random() < 0.08:
                rows[-1]["abort_step"] = step + dice.randint(0, 15)
            longest = max(longest, len(prompt) + len(outputs))
            prompt = prompt + outputs
            step += len(outputs) + dice.randint(1, 25)
    needed = -(-(longest - 1) // block)
    seqs = dice.choice([2, 3, 8])
    config = {"num_gpu_blocks": 1 + needed + dice.choice([0, 1, 2, dice.randint(0, needed)]), "block_size": block, "max_num_seqs": seqs,
              "max_num_batched_tokens": seqs + dice.choice([7, 40, 200]), "max_model_len": longest + dice.randint(0, 3),
              "long_prefill_token_threshold": dice.choice([0, 0, dice.randint(1, 30)]),
              "long_prefill_token_threshold_adaptive": dice.random() < 0.3,
              "watermark": dice.choice([0, 0, 0.05, 0.2]), "enable_prefix_caching": tier or dice.random() < 0.9,
              "enable_chunked_prefill": True, "policy": dice.choice(["fcfs", "fcfs", "priority"]),
              "scheduler_reserve_full_isl": dice.random() < 0.6}
    if tier:
        config["tier"] = {"blocks": dice.choice([needed // 2 + 1, 2 * needed, 20 * needed]),
                          "policy": dice.choice(["lru", "arc"]), "transfer_steps": dice.choice([1, 1, 2, 5]),
                          "offload_prompt_only": dice.random() < 0.5}
    if vllm_scheduler.is_v0_26():  # which has no adaptive threshold, and whose watermark is not modelled
        del config["watermark"], config["long_prefill_token_threshold_adaptive"]
    if config["policy"] == "priority" and not config["scheduler_reserve_full_isl"]:
        config["policy"] = "fcfs"  # equal requests could preempt each other forever
    rows.sort(key=lambda row: row["arrival_step"])
    return {"name": f"random{seed}", "note": "", "config": config, "requests": rows}


def replayed(program, workload, arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workload.json"
        path.write_text(json.dumps(workload))
        out = subprocess.run([program, "--scheduler", "vllm-0.26" if vllm_scheduler.is_v0_26() else "vllm-0.33", *arguments, str(path)], capture_output=True, text=True)
    endless = vllm_scheduler.is_v0_26() and "forever" in out.stderr  # as there: it preempts requests in flight
    if out.returncode != 0 and not endless:
        raise AssertionError(out.stderr.strip())
    steps = [json.loads(line) for line in out.stdout.splitlines()]
    return [*steps, None] if endless else steps[:-1]


def in_common(step):
    """The fields of a replayed step that vllm_scheduler has, in its form."""
    fields = ("id", "kind", "num_tokens", "num_computed_before", "block_ids")
    common = {key: step[key] for key in ("running", "waiting", "free_blocks", "free_blocks_after", "free_queue_head")}
    common["schedule_called"] = step.get("schedule_called", True)
    common["scheduled"] = [{field: row[field] for field in fields} for row in step["scheduled"]]
    common |= {key: sorted(step[key]) for key in ("preempted", "finished")}
    if "loads" in step and common["schedule_called"]:
        for copies in ("loads", "stores"):
            common[copies] = [[row[field] for field in ("job", "id", "gpu_blocks", "host_blocks")] for row in step[copies]]
        common["flush"] = sorted(step["flush"])
    return common


def steps_until_it_fails(theirs):
    """Its steps, and None where 0.26 fails: its connector asserts that a request that ends while it waits has blocks, and requests
    in flight may preempt each other forever."""
    try:
        yield from theirs.steps()
    except (AssertionError, RuntimeError):
        if not vllm_scheduler.is_v0_26():
            raise
        yield None


def waits_for_ever(step):
    """Whether 0.26 serves nothing, since the head of its queue needs blocks of requests that wait behind it."""
    return vllm_scheduler.is_v0_26() and step["waiting"] and not step["running"] and not step["scheduled"]


def difference(program, seed):
    """What differs first in the workload of this seed: empty if nothing does, None if it is known to differ."""
    asynchronous, tier, eos = seed % 2 == 1, seed % 4 >= 2, seed % 8 == 7 or seed % 8 == 5
    workload = random_workload(seed, tier)
    arguments = ["--async", *(["--eos"] if eos else [])] if asynchronous else []
    ours = replayed(program, workload, arguments)
    theirs = vllm_scheduler.Replay(workload, asynchronous, eos_of if eos else None)
    for number, step in enumerate(steps_until_it_fails(theirs)):
        if step is None or theirs.scheduler.phantom:
            return None
        if number < len(ours) and ours[number] is None:
            return None
        mine = in_common(ours[number]) if number < len(ours) else {}
        if waits_for_ever(step) and mine.get("scheduled"):
            return None
        if mine == step:
            continue
        lines = [f"seed {seed}, {'asynchronous' if asynchronous else 'synchronous'}, {'tier' if tier else 'no tier'}, "
                 f"step {number}"]
        for key in sorted(mine.keys() | step.keys()):
            if mine.get(key) != step.get(key):
                lines.append(f"  {key}\n    vLLM   {step.get(key)}\n    kvsweep {mine.get(key)}")
        return "\n".join(lines)
    return ""


def main():
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    try:
        import vllm
        from vllm.v1.core.sched.scheduler import Scheduler  # noqa: F401
    except Exception as error:  # an installation without a part that it needs
        print(f"SKIPPED: vLLM cannot be imported: {type(error).__name__}: {error}")
        return
    program = sys.argv[1]
    first, count = (int(sys.argv[2]) if len(sys.argv) > 2 else 0), (int(sys.argv[3]) if len(sys.argv) > 3 else COUNT)
    equal, left_out, failed = 0, 0, []
    for seed in range(first, first + count):
        found = difference(program, seed)
        equal += found == ""
        left_out += found is None
        if found:
            failed.append(found)
    print(f"vLLM {vllm.__version__}: {equal} of {count} workloads equal, {left_out} left out for phantom hashes")
    print("\n".join(failed[:5]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
