"""A table of turns with named columns: CSV, Parquet or a data frame, a turn a row, in the order of a job's turns.

Source: any table; github.com/microsoft/vidur and Azure/AzurePublicDataset's Splitwise for the names that they use.
Columns: prompt_tokens, answer_tokens; job: rows of the same job are its turns (without it, each row is a job); new_tokens instead of prompt_tokens: the
prompt is that of the turn before, its answer, and so many more; shared_tokens: how much of the prompt before it begins with; time: a date, or seconds
since the start or 1970; gap_s: after the turn before; api_s; tool; agent. Columns with names that end in _ms, _us or _ns are in these units. --columns prompt_tokens=NAME,... names others. Known without it: vidur's
(arrived_at, num_prefill_tokens, num_decode_tokens) and Splitwise's (arrival_timestamp, prompt_size, token_size).
Cannot tell: what jobs have in common.
"""
from fractions import Fraction

from ..messages import seconds
from ..trace import Job, Refused, Turn
from . import converter
from .fields import count, first, number, text

NAMES = {"prompt_tokens": ("num_prefill_tokens", "prompt_size", "input_tokens", "input_length", "input_toks"), "job": ("session_id",), "agent": (), "tool": (),
         "answer_tokens": ("num_decode_tokens", "token_size", "output_tokens", "output_length", "output_toks"), "new_tokens": (), "shared_tokens": (),
         "time": ("arrived_at", "arrival_timestamp", "timestamp", "arrival_time_ns"), "gap_s": (), "api_s": ()}

UNITS = {"_ms": 10**3, "_us": 10**6, "_ns": 10**9}   # by how the name of a column ends


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
    jobs, single, lacking, seen = {}, 0, set(context.columns.values()), {}
    for row in rows:
        lacking -= set(row)
        seen.update(dict.fromkeys(row))
        with context.notes.reading(row):
            names = _names(row, context.columns)
            values = {name: row[column] for name, column in names.items() if column is not None}
            single += 1
            name = text(values, "job") or f"row {single}"
            _turn(values, names, *jobs.setdefault(name, (Job(name, place=row.place), [])), context.notes, row.place)
    if lacking and seen:
        raise Refused(f"--columns names {min(lacking)}; the table has {', '.join(map(str, seen))}")
    yield from (job for job, _ in jobs.values() if job.turns)   # its rows are listed else


def _seconds(values, name, names):
    """A number is in the unit that the name of its column ends with."""
    unit = UNITS.get(str(names[name])[-3:].lower())
    if unit and first(values, name) is not None:
        return Fraction(number(values, name)) / unit
    return seconds(first(values, name)) if name == "time" else number(values, name)


def _turn(values, names, job, lengths, notes, place):
    before = sum(lengths[-1]) if lengths else 0
    prompt, answer, new = count(values, "prompt_tokens", needed=False), count(values, "answer_tokens"), count(values, "new_tokens", needed=False)
    if prompt is None:
        prompt = before + count(values, "new_tokens")
    if not prompt or not answer:
        notes.leave_out("failed requests", "they have no answer" if prompt else "they have no prompt", prompt, place)
        return
    shared = count(values, "shared_tokens", needed=False)
    if shared is None:
        shared = before if new is not None or prompt >= before else 0
        if lengths and new is None:
            notes.assume("a prompt begins with the turn before it where it is that long, and else shares nothing")
    if shared > min(before, prompt):
        notes.assume("rows have shared_tokens beyond the turn before them or their own prompt: they share as much as there is", 1)
    shared = min(shared, before, prompt)
    when, turn = _seconds(values, "time", names), len(job.turns)
    if job.arrival_s is None and not lengths:
        job.arrival_s = when
    start_s = float(when - job.arrival_s) if turn and None not in (when, job.arrival_s) else None
    if start_s is not None and start_s < (job.turns[-1].start_s or 0):
        raise Refused("begins before the turn before it")
    job.turns.append(Turn([(None, prompt - shared)] if prompt > shared else [], [(None, answer)], extends=None if not shared else turn - 1 if shared == before else (turn - 1, shared),
                          gap_s=_seconds(values, "gap_s", names), start_s=start_s, api_s=_seconds(values, "api_s", names), agent=first(values, "agent"), tool=first(values, "tool")))
    lengths.append((prompt, answer))
