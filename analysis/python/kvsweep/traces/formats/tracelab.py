"""TraceLab: sessions of coding agents, a round a line.

Source: github.com/uw-syfi/TraceLab (data CC-BY-4.0).
session_id, round_index; input_tokens_total, output_tokens; prefix_tokens: how much of the prompt the provider's cache had; timing_events: user_message
and tool_result come before the request, all others but usage_report belong to the answer; tools: tool_name, tool_wall_latency_ms.
Cannot tell: what sessions have in common (the first round shares nothing), and which part of a prompt is the answer before it.
"""
from ..messages import seconds
from ..trace import Job, Refused, Turn
from . import converter
from .fields import count, least, number


def _times(row):
    """When the request was sent, and when its answer was complete."""
    sent, answered = [], []
    for event in row.get("timing_events") or ():
        if event["event_type"] in ("user_message", "tool_result"):
            sent.append(seconds(event["timestamp"]))
        elif event["event_type"] != "usage_report":
            answered.append(seconds(event["timestamp"]))
    answered_s = max(answered, default=None)
    return max(sent, default=answered_s), answered_s


def _slowest(tools):
    """The tool that the next round waits for longest."""
    return max(tools, key=lambda tool: number(tool, "tool_wall_latency_ms") or 0.0).get("tool_name") if tools else None


@converter("tracelab", lambda row: "round_index" in row and "session_id" in row, whole=True, rank=0)
def rounds(rows, context):
    """TraceLab: rounds of coding agents, with what the provider's cache had."""
    jobs, ends = {}, {}
    for row in rows:
        with context.notes.reading(row):
            _round(row, jobs, ends, context.notes)
    context.notes.assume("a round shares its prefix_tokens with the prompt in front of it, a session's first round shares nothing")
    yield from sorted(jobs.values(), key=lambda job: job.arrival_s or 0.0)


def _round(row, jobs, ends, notes):
    name = str(row["session_id"])
    prompt, answer, cached = count(row, "input_tokens_total"), count(row, "output_tokens"), count(row, "prefix_tokens")
    if cached > prompt:
        raise Refused("has more prefix_tokens than input_tokens_total")
    prompt, answer = least(prompt, "prompts", notes), least(answer, "answers", notes)
    sent_s, answered_s = _times(row)
    job = jobs.get(name, Job(name, arrival_s=sent_s, place=row.place))
    last_sent_s, last_answered_s, last_prompt = ends.get(name, (None, None, 0))
    if None not in (sent_s, last_sent_s) and sent_s < last_sent_s:
        raise Refused("begins before the round in front of it")
    shared = min(cached, last_prompt, prompt)
    turn = Turn([(None, prompt - shared)] if prompt > shared else [], [(None, answer)], tool=_slowest(row.get("tools") or []))
    if shared:
        turn.extends = (len(job.turns) - 1, shared)
    if None not in (sent_s, last_answered_s):
        turn.gap_s = max(0.0, sent_s - last_answered_s)
    if None not in (sent_s, job.arrival_s):
        turn.start_s = sent_s - job.arrival_s
    if None not in (sent_s, answered_s):
        turn.api_s = max(0.0, answered_s - sent_s)
    job.turns.append(turn)
    jobs[name], ends[name] = job, (sent_s, answered_s, prompt)
