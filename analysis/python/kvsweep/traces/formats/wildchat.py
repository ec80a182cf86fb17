"""WildChat: conversations with ChatGPT.

Source: huggingface.co/datasets/allenai/WildChat-1M. conversation: role and content; timestamp of a message: when an answer was made; timestamp of the
row: that of the last turn; conversation_hash. Language, country, hashes of addresses and moderation are not needed.
Cannot tell: when a user asked, so that gaps are unknown; the system prompt.
"""
from ..messages import Chat, messages_of, name_of, seconds
from . import converter


@converter("wildchat", lambda row: isinstance(row.get("conversation"), list) and "conversation_hash" in row, rank=2)
def conversation(row, context):
    """WildChat, with the times of conversations."""
    messages = messages_of([{key: record.get(key) for key in ("role", "content", "timestamp")} for record in row["conversation"]], context.notes, row.place)
    times = [message.sent_s for message in messages if message.sent_s is not None]
    context.notes.assume("a conversation arrives when its first answer was made, or else at the time of its row, which is that of its last turn")
    return Chat(name_of(row), messages, arrival_s=min(times, default=seconds(row.get("timestamp"))))
