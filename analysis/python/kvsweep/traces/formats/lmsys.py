"""LMSYS-Chat-1M and the Chatbot Arena: conversations with many models.

Source: huggingface.co/datasets/lmsys/lmsys-chat-1m (conversation_id, conversation: role and content) and chatbot_arena_conversations (conversation_a
and conversation_b of two models, tstamp: seconds since 1970). Moderation, language and votes are not needed.
Cannot tell: times of messages; the system prompt.
"""
from ..messages import Chat, messages_of, name_of, seconds
from . import converter

BOTH = ("conversation_a", "conversation_b")


@converter("lmsys", lambda row: isinstance(row.get("conversation"), list) or all(isinstance(row.get(key), list) for key in BOTH), rank=3)
def conversation(row, context):
    """LMSYS-Chat-1M, and both sides of Chatbot Arena."""
    keys = ["conversation"] if "conversation" in row else BOTH
    return [Chat(name_of(row, "question_id") + key[len("conversation"):], messages_of([{key_: record.get(key_) for key_ in ("role", "content")} for record in row[key]], context.notes, row.place),
                 arrival_s=seconds(row.get("tstamp"))) for key in keys]
