"""Inputs from the wild that were once misread or refused (../shared/data/cases), with the values that are right."""
from world import Trace, case, expect, expect_equal, expect_in, main, shared, traces

FOLDER = "data/cases/traces"
NOTHING = "prompts share nothing"
# file: turns, tokens of prompts, tokens of answers, and what the first line says besides
RIGHT = {
    "qwen-think.jsonl": (2, 480, 16, ""), "qwen-sampled.jsonl": (1, 320, 8, "requests that others continue"), "qwen-parent-list.jsonl": (2, 480, 16, ""),
    "start-ms.jsonl": (2, 1024, 16, ""), "ses-interleaved.jsonl": (4, 2048, 32, ""), "ses-mixed.jsonl": (2, 1024, 16, ""), "ses-back.jsonl": (2, 1024, 16, "begins before"),
    "start-back.jsonl": (2, 1024, 16, "begins before"), "qwen-back.jsonl": (1, 512, 8, "begins before"), "delay-neg.jsonl": (1, 512, 8, "delay is -5"),
    "m-reasoning-content.jsonl": (2, 838, 1006, "reasoning stays"), "m-reasoning.jsonl": (1, 112, 503, ""), "m-reasoning-details.jsonl": (1, 112, 503, ""),
    "m-refusal.jsonl": (1, 112, 501, ""), "m-function-call.jsonl": (2, 752, 605, "key name of messages"), "m-customtool.jsonl": (2, 250, 103, "synthesized"),
    "m-parallel.jsonl": (2, 270, 117, "synthesized"), "m-tools.jsonl": (2, 10831, 120, ""), "m-anthropic-system.jsonl": (1, 2118, 89, ""), "m-anthropic-blocks.jsonl": (2, 253, 106, ""),
    "sg-system.json": (1, 1244, 89, ""), "sg-function.json": (3, 359, 189, ""), "sg-bing.json": (1, 112, 2, ""), "sg-null.json": (1, 112, 89, "null"), "sg-empty.json": (1, 112, 89, "without an answer"),
    "sg-dup.json": (2, 224, 178, ""), "sg-intid.json": (2, 224, 178, ""), "sg-items.json": (1, 112, 89, ""), "sg-role.json": (1, 13, 2, ""), "m-plain.jsonl": (2, 365, 120, ""),
    "m-array.json": (4, 730, 240, ""), "m-bare.json": (2, 365, 120, ""), "m-intid.jsonl": (2, 365, 120, ""), "m-noid.jsonl": (2, 365, 120, ""), "m-dupid.jsonl": (4, 730, 240, ""),
    "m-developer.jsonl": (1, 120, 89, ""), "m-exit-role.jsonl": (2, 339, 92, "role exit"), "m-lastuser.jsonl": (2, 365, 120, "behind the last answer"), "m-pair.jsonl": (1, 17, 2, ""),
    "m-onlyuser.jsonl": (2, 365, 120, "nothing says how long"), "m-image.jsonl": (1, 13, 89, "image_url parts"), "m-prefill.jsonl": (1, 121, 89, "before the first question"),
    "m-emptyanswer.jsonl": (2, 336, 2, ""), "m-nullcontent.jsonl": (2, 336, 90, ""), "burst-fails.csv": (2, 889, 294, "failed requests"), "burst-sessions.csv": (3, 1976, 324, NOTHING),
    "zero-output.jsonl": (3, 1800, 3, "3 answers of 0 tokens"), "guidellm-seconds.jsonl": (50, 30000, 1000, "timestamps are seconds"), "mooncake-no-ids.jsonl": (5, 5010, 100, "without hash_ids"),
    "mooncake-bs64.jsonl": (3, 1920, 15, "blocks of 64 tokens"), "mooncake-unsorted.jsonl": (4, 2400, 20, ""), "epoch-ms.jsonl": (3, 1800, 15, ""), "epoch-ns.jsonl": (3, 1800, 15, "nanoseconds"),
    "hash-hex.jsonl": (1, 600, 5, ""), "hash-signed.jsonl": (1, 600, 5, ""), "strings.jsonl": (1, 600, 5, ""), "floats.jsonl": (1, 600, 5, ""), "offset.jsonl": (3, 1536, 24, ""),
    "array.json": (3, 1800, 15, ""), "crlf-bom.jsonl": (3, 1800, 15, ""), "aiperf-messages.jsonl": (5, 250, 100, ""), "aiperf-text.jsonl": (5, 810, 100, ""),
    "wildchat.jsonl": (1, 13, 2, "arrives when"), "lmsys.jsonl": (1, 13, 2, ""), "taubench.json": (4, 730, 240, ""), "sweagent.traj": (1, 119, 89, "whole history"),
    "openhands.jsonl": (1, 13, 13, ""), "claudecode.jsonl": (1, 153, 20, "no requests"), "vidur.csv": (2, 572, 36, ""), "splitwise.csv": (1, 472, 18, ""), "quoted-shift.csv": (2, 972, 38, NOTHING),
    "azure-tz.csv": (2, 519, 36, NOTHING), "azure-nofrac-tz.csv": (1, 472, 18, NOTHING), "azure-semicolon.csv": (1, 472, 18, NOTHING), "azure-tab.tsv": (1, 472, 18, NOTHING),
    "azure-quoted-comma.csv": (1, 472, 18, NOTHING), "azure-utf16.csv": (1, 472, 18, NOTHING), "azure-cr.csv": (2, 944, 36, NOTHING), "azure-thousands.csv": (1, 1472, 18, NOTHING),
    "azure-dupheader.csv": (2, 944, 36, "repeats the header"), "azure-float.csv": (1, 472, 18, "has no prompt"), "azure-index.csv": (2, 944, 36, NOTHING), "azure-lower.csv": (1, 472, 18, NOTHING),
    "azure-day.csv": (2, 944, 36, NOTHING), "azure-12digits.csv": (1, 472, 18, NOTHING), "azure-multimodal.csv": (2, 519, 36, "images"),
}
REFUSED = {"nan.jsonl": "NaN is no number", "null-out.jsonl": "has no output_length", "mooncake-no-output.jsonl": "has no output_length", "m-surrogate.jsonl": "half of a surrogate pair",
           "m-latin1.jsonl": "is not UTF-8 at byte 52", "batch.jsonl": "nothing says how long it was"}


@case("inputs from the wild have the values that are right, or are refused with the reason")
def wild():
    shared(FOLDER)
    for name, (turns, prompts, answers, said) in RIGHT.items():
        first = Trace(shared(f"{FOLDER}/{name}")).first
        counts = first["counts"]
        expect_equal((counts["turns"], counts["prompt_tokens"], counts["answer_tokens"]), (turns, prompts, answers), name)
        expect_in(said, str(first["left_out"]) + str(first["assumed"]), name)
    for name, reason in REFUSED.items():
        try:
            Trace(shared(f"{FOLDER}/{name}"))
            expect(False, f"{name} is converted")
        except traces.Refused as problem:
            expect_in(reason, str(problem), name)


@case("every input from the wild is converted or refused with one sentence that names it")
def all_of_them():
    for path in sorted(shared("data/cases").rglob("*.json*")) + sorted(shared("data/cases").rglob("*.csv")):
        try:
            Trace(path)
        except traces.Refused as problem:
            expect(path.name in str(problem) and "\n" not in str(problem), str(problem))


@case("recorded times of the wild are the times of the trace")
def wild_times():
    def trace(name):
        return Trace(shared(f"{FOLDER}/{name}"))
    expect_equal(trace("qwen-think.jsonl").of("start_s"), [0, 300], "Qwen's turns")
    expect_equal(trace("start-ms.jsonl").of("gap_s"), [None, 59.1], "start_ms and api_ms")
    expect_equal([round(job["arrival_s"], 6) for job in trace("guidellm-seconds.jsonl").jobs][:3], [0, 0.2, 0.4], "seconds")
    for name in "epoch-ms.jsonl", "epoch-ns.jsonl":
        expect_equal([job["arrival_s"] for job in trace(name).jobs], [0, 0.5, 0.9], name)
    expect_equal([job["arrival_s"] for job in trace("burst-sessions.csv").jobs], [0, 40, 113], "BurstGPT")
    expect_equal([job["arrival_s"] for job in Trace(shared("data/cases/env/burst-arrivals.csv")).jobs], [0, 40, 113], "BurstGPT as arrivals")


if __name__ == "__main__":
    main()
