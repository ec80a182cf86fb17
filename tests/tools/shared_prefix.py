#!/usr/bin/env python3
"""Writes a trace (docs/traces.md) of programs that share the first tokens of their prompts.

    shared_prefix.py PROGRAMS TOKENS OUT.jsonl [GROUPS]

In GROUPS groups, by turns, of which each shares other tokens; 1 if not given.

Each program has ten turns: 2,000 to 3,500 tokens of its own behind the shared ones, then 400 to 1,000 more a turn, answers of 100 to 300 tokens, tools of 1 s.
"""
import json
import random
import sys

if len(sys.argv) not in (4, 5):
    sys.exit(__doc__)
programs, shared, out, groups = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]) if sys.argv[4:] else 1
draw = random.Random(42)
jobs, prompt_tokens, answer_tokens = [], 0, 0
for number in range(programs):
    turns, context = [], 0
    for turn in range(10):
        own = draw.randint(2000, 3500) if turn == 0 else draw.randint(400, 1000)
        answer = draw.randint(100, 300)
        first = turn == 0
        group = f"shared {number % groups}" if groups > 1 else "shared"
        prompt = [[group, shared, "system"]] * (shared > 0) * first + [[f"{number} {turn}", own]]
        context += own + shared * first
        prompt_tokens += context
        context += answer
        answer_tokens += answer
        turns.append({"prompt": prompt, "answer": [[None, answer]], "tool": "tool", **({} if first else {"extends": turn - 1, "gap_s": 1})})
    jobs.append({"job": str(number), "turns": turns})
counts = {"jobs": programs, "turns": 10 * programs, "prompt_tokens": prompt_tokens, "answer_tokens": answer_tokens, "arrivals": 0, "gaps": 9 * programs, "starts": 0}
with open(out, "w") as file:
    for line in [{"kvsweep_trace": 1, "converter": "shared_prefix", "counts": counts}, *jobs]:
        file.write(json.dumps(line) + "\n")
