"""ShareGPT and its variants: conversations of from and value.

Source: huggingface.co/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered, and what LLaMA-Factory calls sharegpt.
conversations (or items): from: human, user, gpt, assistant, chatgpt, bing, bard, system, tool, function_call (JSON of a call), observation; or role
and content; value: the text. system: a system prompt; tools: schemas, as JSON text.
Cannot tell: times.
"""
from ..messages import chat_of, content_of, messages_of
from . import converter


def _list(row):
    return next((row[key] for key in ("conversations", "items") if isinstance(row.get(key), (list, str))), None)


@converter("sharegpt", lambda row: _list(row) is not None and "requests" not in row, rank=5)
def chat(row, context):
    """ShareGPT, its roles and its system and tools beside."""
    records = _list(row)
    if not records:
        context.notes.leave_out("conversations without an answer", "there is nothing to replay", place=row.place)
        return None
    kept = [record for record in records if content_of(record) is not None or record.get("tool_calls")] if isinstance(records, list) else records
    if len(kept) < len(records):
        context.notes.leave_out("messages without a text", "the recording has null for them", count=len(records) - len(kept), place=row.place)
    messages = messages_of(kept, context.notes, row.place)
    if not any(message.role == "assistant" for message in messages):
        context.notes.leave_out("conversations without an answer", "there is nothing to replay", place=row.place)
        return None
    if row.get("messages"):
        context.notes.leave_out("key messages of rows", "the conversations beside it are read", place=row.place)
    return chat_of(row, messages, context.notes)
