"""Qwen-Bailian: the requests of a chat service, a request a line.

Source: github.com/alibaba-edu/qwen-bailian-usagetraces-anon.
chat_id; parent_chat_id: the request of the turn before, -1 for none; timestamp: seconds from the start; input_length, output_length: tokens; type,
turn: not needed; hash_ids: names of the prompt's blocks of 16 tokens, in all chats, each of them of the block and of all before it.
Cannot tell: how long answers took, so that a turn's time is from start to start; texts; which part of a prompt is the answer before it.
"""
from ..requests import Request, Requests
from . import converter
from .fields import lengths, number

BLOCK = 16


@converter("qwen", lambda row: "chat_id" in row and "parent_chat_id" in row, whole=True, rank=3)
def requests(rows, context):
    """Qwen-Bailian: conversations by parent_chat_id, blocks of 16 tokens."""
    held = Requests(context, BLOCK, "whole", orphans=True)
    for row in rows:
        with context.notes.reading(row):
            held.add(_request(row, context.notes))
    yield from held.finish()


def _request(row, notes):
    prompt, answer = lengths(row, ("input_length",), ("output_length",), notes)
    parents = row["parent_chat_id"]
    parents = parents if isinstance(parents, list) else [parents]
    return Request(str(row["chat_id"]), prompt, answer, row.get("hash_ids"), waits=[str(each) for each in parents if each not in (None, -1, "-1", "")],
                   at_s=number(row, "timestamp"), place=row.place)
