"""A table of turns with named columns: CSV, Parquet or a data frame, a turn a row, in the order of a job's turns.

Source: whoever made it; github.com/microsoft/vidur and Azure/AzurePublicDataset's Splitwise for the names that they use.
Columns: prompt_tokens, answer_tokens; job: rows of the same job are its turns (without it, each row is a job); new_tokens instead of prompt_tokens: the
prompt is that of the turn before, its answer, and so many more; shared_tokens: how much of the prompt before it begins with; time: a date, or seconds
since the start or 1970; gap_s: after the turn before; api_s; tool; agent. --columns prompt_tokens=NAME,... names others. Known without it: vidur's
(arrived_at, num_prefill_tokens, num_decode_tokens) and Splitwise's (arrival_timestamp, prompt_size, token_size).
Cannot tell: what jobs have in common.
"""
from ..messages import seconds
from ..trace import Job, Refused, Turn
from . import converter
from .fields import count, first, number

NAMES = {"prompt_tokens": ("num_prefill_tokens", "prompt_size", "input_tokens", "input_length", "input_toks"), "job": ("session_id",), "agent": (), "tool": (),
         "answer_tokens": ("num_decode_tokens", "token_size", "output_tokens", "output_length", "output_toks"), "new_tokens": (), "shared_tokens": (),
         "time": ("arrived_at", "arrival_timestamp", "timestamp", "arrival_time_ns"), "gap_s": (), "api_s": ()}


def _names(row, asked):
    return {name: next((each for each in (asked.get(name), name, *usual) if each in row), None) for name, usual in NAMES.items()}


def _detect(row):
    names = _names(row, {})
    return names["answer_tokens"] is not None and (names["prompt_tokens"] or names["new_tokens"]) is not None


@converter("table", _detect, whole=True, rank=9)
def turns(rows, context):
    """A table of turns with named columns, vidur's and Splitwise's too."""
    unknown = [name for name in context.columns if name not in NAMES]
    if unknown:
        raise Refused(f"--columns has no {unknown[0]}; allowed: {', '.join(NAMES)}")
    jobs, single = {}, 0
    for row in rows:
        lacking = [column for column in context.columns.values() if column not in row]
        if lacking:
            raise Refused(f"--columns names {lacking[0]}; the table has {', '.join(map(str, row))}")
        with context.notes.reading(row):
            names = _names(row, context.columns)
            values = {name: row[column] for name, column in names.items() if column is not None}
            single += 1
            name = str(first(values, "job") or f"row {single}")
            _turn(values, *jobs.setdefault(name, (Job(name, place=row.place), [])), context.notes)
    yield from (job for job, _ in jobs.values())


def _turn(values, job, lengths, notes):
    before = sum(lengths[-1]) if lengths else 0
    prompt, answer, new = count(values, "prompt_tokens", needed=False), count(values, "answer_tokens"), count(values, "new_tokens", needed=False)
    if prompt is None:
        prompt = before + count(values, "new_tokens")
    if not prompt or not answer:
        notes.leave_out("failed requests", "they have no answer" if prompt else "they have no prompt")
        return
    shared = count(values, "shared_tokens", needed=False)
    if shared is None:
        shared = before if new is not None or prompt >= before else 0
        if lengths and new is None:
            notes.assume("a prompt begins with the turn before it where it is that long, and else shares nothing")
    shared = min(shared, before, prompt)
    when, turn = seconds(first(values, "time")), len(job.turns)
    if job.arrival_s is None and not lengths:
        job.arrival_s = when
    start_s = float(when - job.arrival_s) if turn and None not in (when, job.arrival_s) else None
    job.turns.append(Turn([(None, prompt - shared)] if prompt > shared else [], [(None, answer)], extends=None if not shared else turn - 1 if shared == before else (turn - 1, shared),
                          gap_s=number(values, "gap_s"), start_s=start_s, api_s=number(values, "api_s"), agent=first(values, "agent"), tool=first(values, "tool")))
    lengths.append((prompt, answer))
