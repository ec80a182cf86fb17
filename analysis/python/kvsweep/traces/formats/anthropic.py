"""Anthropic messages: requests of the Messages API, alone, with their answer, or of a batch.

Source: docs.anthropic.com/en/api/messages and message-batches. messages: content is a text or blocks (text, thinking, tool_use, tool_result, images);
system: a text or blocks; tools: schemas; params: the request of a batch file; response, result.message or message: the answer.
Cannot tell: times; tokens of images; what a redacted thinking block holds.
"""
from ..sources import row_of, with_inner
from . import converter, openai

BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")


def _detect(row):
    body = row.get("params", row)
    return isinstance(body.get("messages"), list) and ("params" in row or isinstance(body.get("system"), (str, list)) or any(
        isinstance(part, dict) and part.get("type") in BLOCKS for message in body["messages"] if isinstance(message.get("content"), list) for part in message["content"]))


@converter("anthropic", _detect, rank=5)
def chat(row, context):
    """Anthropic messages, alone, with answers or of batches."""
    found = with_inner(row, "params")
    result = row.get("result") if isinstance(row.get("result"), dict) else row
    answer = next((each for each in (row.get("response"), result.get("message")) if isinstance(each, dict) and isinstance(each.get("content"), list)), None)
    return openai.chat(row_of({**found, "response": answer}, row.place) if answer else found, context)
