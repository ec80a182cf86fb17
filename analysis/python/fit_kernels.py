#!/usr/bin/env python3
"""Fits the constants of the `kernels` cost model to measured kernel latencies.

usage: fit_kernels.py DATA_FOLDER [--check GPUS_FOLDER]

DATA_FOLDER holds aiconfigurator's vLLM operator tables (ai-dynamo/aiconfigurator, commit 095f58a) as
aic_full_<gpu>_sxm_vllm<version>_<op>_perf.csv.xz, latencies in ms. Prints a [kernels] table per GPU profile and the
error of each fit; with --check it compares them with the profiles instead and exits 1 when they differ
(77 when the data is not there). Standard library only. The formulas are those of docs/engine.md.
"""

import csv
import lzma
import math
import os
import sys

# Measured cards: data file prefix, datasheet memory bandwidth in GB/s and dense bf16 TFLOPS.
# The h200 tables of vLLM 0.19 are not used: their long prefills exceed twice the card's peak.
MEASURED = {
    "h100-80gb": ("h100_sxm_vllm0.19.0", 3350.0, 989.0),
    "h200-141gb": ("h200_sxm_vllm0.14.0", 4800.0, 989.0),
    "a100-sxm-80gb": ("a100_sxm_vllm0.14.0", 2039.0, 312.0),
}
# Cards without data: the fit of a measured one, scaled by datasheet bandwidth and TFLOPS, and by the share of that card's
# efficiency that the power limit leaves to tensor-core work.
DERIVED = {
    "a100-sxm-40gb": ("a100-sxm-80gb", 1555.0, 312.0, 1.0),  # same 400 W board, slower HBM2
    "a100-40gb": ("a100-sxm-80gb", 1555.0, 312.0, 0.9),  # 250 W; NVIDIA gives the PCIe card 90 % of the SXM card's speed
    "a100-80gb": ("a100-sxm-80gb", 1935.0, 312.0, 0.9),  # 300 W
    "l40s-48gb": ("a100-sxm-80gb", 864.0, 362.0, 0.7),  # 350 W for 362 TFLOPS: clocks fall under sustained GEMM; assumed
    "rtx5090-32gb": ("a100-sxm-80gb", 1792.0, 209.5, 1.0),  # 575 W for 209.5 TFLOPS
    "b200-180gb": ("h100-80gb", 7672.0, 2250.0, 1.0),  # 1,000 W, 2.27 times the H100's TFLOPS for 1.43 times its power
    "gb200-186gb": ("h100-80gb", 8000.0, 2500.0, 1.0),  # 1,200 W
}

LAYERS, HEADS, KV_HEADS, HEAD_DIM, HIDDEN, QKV, GATE_UP, DOWN, VOCAB = 32, 32, 8, 128, 4096, 6144, 28672, 14336, 128256
LAYER_WEIGHTS = HIDDEN * (QKV + HIDDEN + GATE_UP + DOWN)
LAYER_ROW_VALUES = (HIDDEN + QKV) + (HIDDEN + HIDDEN) + (HIDDEN + GATE_UP) + (DOWN + HIDDEN)
# (n, k) of a Llama-3.1-8B layer, or the measured shapes nearest to it.
GEMM_SHAPES = {(6144, 4096), (4096, 4096), (12288, 4096), (16384, 4096), (65536, 4096), (4096, 12288), (4096, 16384)}
MAX_ROWS = 8192  # of a GEMM in the fit
MAX_PREFILL_TOKENS, MAX_PREFILL_CHUNKS = 16384, 32  # of an attention call in the fit
MAX_DECODE_ROWS = 256  # of an attention call in the fit: the usual limit on running sequences
LONG_CONTEXT = 16384  # KV tokens of a decode batch; typical of agent workloads


def read(folder, prefix, op, keep):
    path = os.path.join(folder, f"aic_full_{prefix}_{op}_perf.csv.xz")
    with lzma.open(path, "rt", newline="") as lines:
        return [row for row in csv.DictReader(lines) if keep(row)]


def read_gemms(folder, prefix):
    rows = read(folder, prefix, "gemm", lambda r: r["gemm_dtype"] == "bfloat16")
    return {(int(r["m"]), int(r["n"]), int(r["k"])): float(r["latency"]) * 1e-3 for r in rows}


def read_attention(folder, prefix, op):
    """(heads, kv_heads) -> [(batch, tokens per sequence, seconds per layer)] for bf16, no window, head size 128."""
    def keep(row):
        return (row["attn_dtype"] == row["kv_cache_dtype"] == "bfloat16" and row["head_dim"] == str(HEAD_DIM)
                and row.get("window_size", "0") == "0")

    table = {}
    for r in read(folder, prefix, op, keep):
        length = int(r["isl"]) + (int(r["step"]) if op.startswith("generation") else 0)
        sample = (int(r["batch_size"]), length, float(r["latency"]) * 1e-3)
        table.setdefault((int(r["num_heads"]), int(r["num_key_value_heads"])), []).append(sample)
    return table


def minimize(loss, start, rounds=400):
    """Nelder-Mead over the logarithms of positive constants: deterministic, no derivatives (the loss is an L1 norm)."""
    for _ in range(2):  # restarting from the first answer escapes a collapsed simplex
        n = len(start)
        corners = [start] + [[v + (0.2 if i == j else 0.0) for j, v in enumerate(start)] for i in range(n)]
        simplex = sorted((loss(c), c) for c in corners)
        for _ in range(rounds):
            center = [sum(c[j] for _, c in simplex[:-1]) / n for j in range(n)]
            worst = simplex[-1][1]

            def towards(scale):
                point = [center[j] + scale * (center[j] - worst[j]) for j in range(n)]
                return loss(point), point

            step = towards(1.0)
            if step[0] < simplex[0][0]:
                step = min(step, towards(2.0))
            elif step[0] >= simplex[-2][0]:
                step = min(step, towards(-0.5))
            if step[0] < simplex[-1][0]:
                simplex[-1] = step
            else:
                best = simplex[0][1]
                shrunk = [[0.5 * (a + b) for a, b in zip(best, c)] for _, c in simplex[1:]]
                simplex = [simplex[0]] + [(loss(c), c) for c in shrunk]
            simplex.sort()
        start = simplex[0][1]
    return simplex[0]


def fit(model, samples, start):
    """Constants that minimize the mean |log(model / measured)|, rounded to 4 digits, and that mean."""
    def loss(logs):
        constants = [math.exp(v) for v in logs]
        return sum(abs(math.log(model(constants, s) / s[-1])) for s in samples) / len(samples)

    error, logs = minimize(loss, [math.log(v) for v in start])
    return [float(f"{math.exp(v):.4g}") for v in logs], error


def errors(pairs):
    ratios = sorted(abs(model / measured - 1.0) for model, measured in pairs)
    return f"{100 * ratios[len(ratios) // 2]:.1f} % / {100 * ratios[int(0.9 * (len(ratios) - 1))]:.1f} %"


def roofline(norm, memory, compute):
    return (memory**norm + compute**norm) ** (1.0 / norm)


def gemm_seconds(norm, constants, weights, row_values, rows, gemms=1):
    launch_us, bandwidth_gb_s, tflops = constants
    memory = gemms * launch_us * 1e-6 + 2.0 * (weights + rows * row_values) / (bandwidth_gb_s * 1e9)
    return roofline(norm, memory, 2.0 * rows * weights / (tflops * 1e12))


def fit_gemm(gemms):
    samples = [(m, n, k, t) for (m, n, k), t in sorted(gemms.items()) if (n, k) in GEMM_SHAPES and m <= MAX_ROWS]
    candidates = []
    for norm in (2, 4, 8):
        model = lambda c, s, norm=norm: gemm_seconds(norm, c, s[1] * s[2], s[1] + s[2], s[0])
        constants, error = fit(model, samples, [4.0, 2500.0, 500.0])
        candidates.append((error, norm, constants, model))
    _, norm, constants, model = min(candidates, key=lambda c: c[:3])
    return norm, constants, errors([(model(constants, s), s[-1]) for s in samples])


def measured_step(gemms, rows):
    """All GEMMs of a step with logits for every row up to 256, from measured shapes: latency is linear in n and in k."""
    at = lambda n, k, m=rows: gemms[m, n, k]
    gate_up = at(16384, 4096) + (GATE_UP - 16384) / (65536 - 16384) * (at(65536, 4096) - at(16384, 4096))
    down = 0.5 * (at(4096, 12288) + at(4096, 16384))
    return LAYERS * (at(6144, 4096) + at(4096, 4096) + gate_up + down) + VOCAB / 65536 * at(65536, 4096, min(rows, 256))


def step_errors(norm, constants, gemms):
    pairs = []
    for rows in sorted({m for m, _, _ in gemms if m <= MAX_ROWS}):
        body = LAYERS * gemm_seconds(norm, constants, LAYER_WEIGHTS, LAYER_ROW_VALUES, rows, gemms=4)
        head = gemm_seconds(norm, constants, HIDDEN * VOCAB, HIDDEN + VOCAB, min(rows, 256))
        pairs.append((body + head, measured_step(gemms, rows)))
    return errors(pairs)


def prefill_seconds(constants, sample, heads=HEADS):
    launch_us, token_ns, tflops = constants
    tokens, pairs = sample[0] * sample[1], sample[0] * sample[1] * (sample[1] + 1) / 2
    return launch_us * 1e-6 + tokens * token_ns * 1e-9 * heads / HEADS + 4 * heads * HEAD_DIM * pairs / (tflops * 1e12)


def decode_seconds(constants, sample, kv_heads=KV_HEADS):
    launch_us, row_ns, bandwidth_gb_s = constants
    kv_bytes = 2 * 2 * kv_heads * HEAD_DIM * sample[0] * sample[1]
    rows = sample[0] * row_ns * 1e-9 * kv_heads / KV_HEADS
    return launch_us * 1e-6 + rows + kv_bytes / (bandwidth_gb_s * 1e9)


def fit_gpu(folder, prefix):
    gemms = read_gemms(folder, prefix)
    norm, gemm, gemm_error = fit_gemm(gemms)
    context = read_attention(folder, prefix, "context_attention")
    in_range = lambda s: s[0] <= MAX_PREFILL_CHUNKS and s[0] * s[1] <= MAX_PREFILL_TOKENS
    context = {heads: sorted(filter(in_range, samples)) for heads, samples in context.items()}
    decode = read_attention(folder, prefix, "generation_attention")[HEADS, KV_HEADS]
    decode = sorted(s for s in decode if s[0] <= MAX_DECODE_ROWS)
    prefill, _ = fit(prefill_seconds, context[HEADS, KV_HEADS], [10.0, 10.0, 500.0])
    rows, _ = fit(decode_seconds, decode, [10.0, 200.0, 3000.0])

    def prefill_error(heads, kv_heads):
        return errors([(prefill_seconds(prefill, s, heads), s[-1]) for s in context[heads, kv_heads]])

    pairs = [(s, decode_seconds(rows, s)) for s in decode]
    report = {
        "one GEMM": gemm_error,
        "all GEMMs of a step": step_errors(norm, gemm, gemms),
        "prefill attention, 32 / 8 heads": prefill_error(HEADS, KV_HEADS),
        "prefill attention, 32 / 32 heads (not fitted)": prefill_error(32, 32),
        "prefill attention, 40 / 40 heads (not fitted)": prefill_error(40, 40),
        "decode attention": errors([(t, s[-1]) for s, t in pairs]),
        f"decode attention, >= {LONG_CONTEXT} KV tokens":
            errors([(t, s[-1]) for s, t in pairs if s[0] * s[1] >= LONG_CONTEXT]),
    }
    return norm, gemm, prefill, rows, report


def table(norm, gemm, prefill, decode):
    return {
        "gemm_norm": norm, "gemm_launch_us": gemm[0], "gemm_gb_s": gemm[1], "gemm_tflops": gemm[2],
        "prefill_launch_us": prefill[0], "prefill_token_ns": prefill[1], "prefill_tflops": prefill[2],
        "decode_launch_us": decode[0], "decode_row_ns": decode[1], "decode_gb_s": decode[2],
    }


def derive(tables, name):
    """The table of a measured card for another one."""
    measured, bandwidth, tflops, power = DERIVED[name]
    base = tables[measured]
    _, base_bandwidth, base_tflops = MEASURED[measured]
    scale = {"gb_s": bandwidth / base_bandwidth, "tflops": power * tflops / base_tflops}
    out = dict(base)
    for key in out:
        for unit, factor in scale.items():
            if key.endswith("_" + unit):
                out[key] = float(f"{out[key] * factor:.4g}")
    out["prefill_token_ns"] = float(f"{base['prefill_token_ns'] / scale['tflops']:.4g}")
    return out


def constants_of_profile(path):
    """The [kernels] numbers of a profile (a flat table of `key = number  # comment`)."""
    found, inside = {}, False
    with open(path) as lines:
        for line in lines:
            line = line.split("#")[0].strip()
            if line.startswith("["):
                inside = line == "[kernels]"
            elif inside and "=" in line:
                key, value = (part.strip() for part in line.split("=", 1))
                found[key] = value
    return found


def check(tables, folder):
    wrong = 0
    for name, constants in tables.items():
        path = os.path.join(folder, name + ".toml")
        if not os.path.exists(path):
            continue  # the measured 80 GB SXM card is only the base of others, not a profile
        found = constants_of_profile(path)
        for key, value in constants.items():
            if key not in found or not math.isclose(float(found[key]), value, rel_tol=2e-3):
                print(f"{path}: {key} is {found.get(key)}, the fit gives {value}")
                wrong += 1
    print(f"{wrong} constants differ from the fit")
    return 1 if wrong else 0


def main(arguments):
    if not arguments or len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[1] != "--check"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = arguments[0]
    if not os.path.isdir(folder):
        print(f"SKIPPED: no data folder {folder}")
        return 77
    tables, reports = {}, {}
    for name, (prefix, _, _) in MEASURED.items():
        *fitted, reports[name] = fit_gpu(folder, prefix)
        tables[name] = table(*fitted)
    for name in DERIVED:
        tables[name] = derive(tables, name)
    if len(arguments) == 3:
        return check(tables, arguments[2])
    for name, constants in tables.items():
        print(f"# {name}: {'estimated from ' + DERIVED[name][0] if name in DERIVED else 'fitted to ' + MEASURED[name][0]}")
        for what, error in reports.get(name, {}).items():
            print(f"#   median / p90 relative error, {what}: {error}")
        print("[kernels]")
        for key, value in constants.items():
            print(f"{key} = {value}")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
