"""Mooncake, and what grew from it: a request a line.

Source: github.com/kvcache-ai/Mooncake (FAST25-release/traces); AIPerf and Dynamo (session_id, delay, request_id, wait_for, tool_wait_ms).
input_length, output_length (also input_tokens, created_time, ...): tokens; timestamp: ms from the start, or since 1970; hash_ids: names of the
prompt's blocks in all sessions, each of them of the block and of all before it, absent: the prompts share nothing that is known; block_size: 512,
or what the ids fit. session_id: requests follow each other; wait_for: or start when these have ended; delay, delay_ms, tool_wait_ms: ms after that;
start_ms, api_ms: from the session's start, and the server's time; agent, tool: names. session_context_growth "accumulate" (or --rows increments):
the rows of a session are what each turn adds to the history.
Cannot tell: texts, and which part of a prompt is the answer before it. An answer of 0 tokens may be a failure or a prefill alone.
"""
import contextlib
import itertools
from fractions import Fraction

from ..requests import Request, Requests
from ..trace import Refused
from . import converter
from .fields import count, first, lengths, number, text

USUAL, AHEAD = 512, 2000
SIZES = (512, 16, 64, 128, 256, 32, 1024, 2048, 8, 4096, 1)
IN, OUT = ("input_length", "input_tokens", "in"), ("output_length", "output_tokens", "out")


def _detect(row):
    return first(row, "input_length", "input_tokens") is not None and ("hash_ids" in row or ("output_length" in row or "output_tokens" in row) and "chat_id" not in row
                                                                       and ("timestamp" in row or "session_id" in row or "delay" in row))


def _block_size(rows):
    """The size of blocks that the ids of the first rows fit."""
    for row in rows:
        with contextlib.suppress(Refused):
            if row.get("block_size"):
                return max(1, count(row, "block_size")), None
    seen = [(len(row["hash_ids"]), row[key]) for row in rows if isinstance(row.get("hash_ids"), list) for key in IN if isinstance(row.get(key), (int, float))]
    for size in SIZES:
        if seen and sum(tokens // size <= ids <= -(-tokens // size) for ids, tokens in seen) > 0.9 * len(seen):
            return size, None if size == USUAL else f"ids name blocks of {size} tokens, which is what the lengths fit"
    return USUAL, None


def _time_unit(rows):
    """Milliseconds, but fractions that rush by are seconds, and larger numbers are time since 1970."""
    times = [row[key] for row in rows for key in ("timestamp", "created_time") if isinstance(row.get(key), (int, float)) and row[key] == row[key]]
    if not times:
        return Fraction(1, 1000), None
    if max(times) >= 1e17:
        return Fraction(1, 10**9), "timestamps are nanoseconds since 1970"
    if max(times) >= 1e14:
        return Fraction(1, 10**6), "timestamps are microseconds since 1970"
    if min(times) >= 1e9 and max(times) < 1e11:
        return 1, "timestamps are seconds since 1970"
    if any(time % 1 for time in times) and max(times) - min(times) < 5 * len(times):
        return 1, "timestamps are seconds: as milliseconds, which they are named, more than 200 requests would come in a second"
    return Fraction(1, 1000), None


@converter("mooncake", _detect, whole=True, rank=4)
def requests(rows, context):
    """Requests with block ids: Mooncake, AIPerf, Dynamo; increments too."""
    rows = iter(rows)
    ahead = list(itertools.islice(rows, AHEAD))
    block, sentence = _block_size(ahead)
    unit_s, unit_sentence = _time_unit(ahead)
    for each in (sentence, unit_sentence):
        if each:
            context.notes.assume(each)
    growth = next((row["session_context_growth"] for row in ahead if row.get("session_context_growth")), None)
    prompts = {"accumulate": "increments"}.get(growth, "whole" if growth else "auto") if context.rows == "auto" else context.rows
    held = Requests(context, block, prompts)
    for at, row in enumerate(itertools.chain(ahead, rows), 1):
        with context.notes.reading(row):
            held.add(_request(row, unit_s, block, at, context.notes))
    yield from held.finish()


def _request(row, unit_s, block, at, notes):
    if row.get("block_size") and count(row, "block_size") != block:
        raise Refused(f"block_size is {row['block_size']}, that of the lines above {block}")
    prompt, answer = lengths(row, IN, OUT, notes)
    when = first(row, "timestamp", "created_time")
    ids = row.get("hash_ids")
    if ids is None:
        notes.assume("rows without hash_ids share nothing with others")
    elif not isinstance(ids, list) or not all(isinstance(each, (int, str)) and not isinstance(each, bool) for each in ids):
        raise Refused("hash_ids is no list of numbers or texts")
    if when is not None:
        number(row, "timestamp" if row.get("timestamp") not in (None, "") else "created_time")
    delay = next((number(row, name) for name in ("tool_wait_ms", "delay_ms", "delay") if row.get(name) is not None), None)
    scaled = {name: None if number(row, name) is None else number(row, name) / 1e3 for name in ("start_ms", "api_ms")}
    waits = row.get("wait_for") or []
    if not isinstance(waits, list):
        raise Refused("wait_for is no list of request ids")
    return Request(str(row.get("request_id", f"line {at}")), prompt, answer, ids, text(row, "session_id"), [str(each) for each in waits],
                   text(row, "agent"), None if when is None else Fraction(when) * unit_s, scaled["start_ms"], scaled["api_ms"],
                   None if delay is None else delay / 1e3, text(row, "tool"), row.place)
