"""Prompts with their answers: completion, instruction and preference sets, requests as plain texts.

Source: huggingface.co/docs/trl/dataset_formats (prompt and completion; chosen and rejected, with the prompt in both or beside; texts or messages);
Alpaca, Dolly and LLaMA-Factory (instruction, input or context, output or response; system; history: pairs); OpenAI's completions (prompt, and
response.choices[0].text; output_tokens where the text is not recorded); github.com/LMCache/lmcache-agent-trace (session_id; timestamp: us since
1970; input: the whole prompt of a request; output). A text of "Human:" and "Assistant:" paragraphs is a chat.
Cannot tell: how a text was framed for the model.
"""
import re

from ..messages import REASONING, Message, chat_of, compact, estimate, messages_of, name_of, seconds
from ..sources import with_inner
from ..trace import Refused
from . import converter, openai
from .fields import count, first, text

PROMPTS = ("history", "prompt", "instruction", "question", "query", "problem", "input", "context")
ANSWERS = ("completion", "chosen", "response", "output", "answer", "solution", "response_0", "response_a", "response_j", "completions", "responses")   # others are listed
ASIDE = ("system", "system_prompt", "tools", "conversations", "session_id", "timestamp", "body", "custom_id", "id", "prompt_id", "choices", *REASONING)
SPEAKER = re.compile(r"(?:^|\n\n)(Human|Assistant):[ \n]?")


def _detect(row):
    row = with_inner(row, "body")
    asks = any(isinstance(row.get(key), str) and not row[key].strip().isdigit() for key in PROMPTS) or isinstance(row.get("prompt"), list)
    return {"chosen", "rejected"} <= set(row) or asks and not {"messages", "conversations", "conversation"} & set(row) and (
        _answer(row) is not None or count(row, "output_tokens", "output_length", needed=False))


@converter("pairs", _detect, whole=True, rank=4)
def rows(rows, context):
    """Prompt and completion, preferences, instructions; LMCache's agent trace."""
    sessions, notes = {}, context.notes
    for row in rows:
        chat = None
        with notes.reading(row):
            chat = _chat(with_inner(row, "body"), notes)
        if chat is not None and text(row, "session_id"):
            notes.assume("requests of a session are its turns in the order of their times, each with its whole prompt")
            sessions.setdefault(text(row, "session_id"), []).append(chat)
        elif chat is not None:
            yield chat
    for name, chats in sessions.items():
        chats.sort(key=lambda chat: next((message.sent_s for message in chat.messages if message.sent_s is not None), 0))
        chats[0].name, chats[0].requests = name, chats[1:]
        yield chats[0]


def _chat(row, notes):
    said, place = _answer(row), row.place
    if isinstance(said, list) and said and not (isinstance(said[0], dict) and {"role", "from"} & set(said[0])):   # several answers
        if said[1:]:
            notes.leave_out("further answers", "the first one is replayed", estimate(compact(said[1:])), place, len(said) - 1)
        said = said[0] if isinstance(said[0], str) else first(said[0], "response", "text")
    length = count(row, "output_tokens", "output_length", needed=False) if said is None else None
    if not length and not isinstance(said, (str, list, dict)):
        raise Refused("has no answer that is a text or messages")
    if isinstance(said, str) and not SPEAKER.match(said):
        said = {"role": "assistant", "content": said, **{key: row[key] for key in REASONING if row.get(key)}}
    answer = [Message("assistant", tokens=length)] if length else _messages(said, "assistant", notes, place)
    messages = _asked(row, notes, place)
    if any(message.role == "user" for message in answer):   # the whole chat
        messages = [message for message in messages if message.text.strip() not in "\n".join(each.text for each in answer)]
    elif not messages:
        raise Refused("has no prompt")
    for key, value in row.items():
        if value and key == "rejected":
            notes.leave_out("rejected answers", "the chosen one is replayed", estimate(value if isinstance(value, str) else compact(value)))
        elif key not in (*PROMPTS, *ANSWERS, *ASIDE) and isinstance(value, (str, list, dict)) and value:
            notes.leave_out(f"key {key} of rows", "it is no part of the prompt that is known", estimate(value if isinstance(value, str) else compact(value)))
    messages += answer
    messages[0].sent_s = seconds(row.get("timestamp"))
    return chat_of(row, messages, notes, name_of(row, "prompt_id"))


def _answer(row):
    choices = openai.response_of(row).get("choices")
    return choices[0].get("text") if choices else next((row[key] for key in ANSWERS if _says(row.get(key))), None)


def _says(value):
    """Whether it is a text or messages, or several of them; items of the Responses API have a type."""
    one = value[0] if isinstance(value, list) and value else value
    return bool(one) if isinstance(one, str) else isinstance(one, dict) and "type" not in one and bool({"role", "from", "response", "text"} & set(one))


def _asked(row, notes, place):
    """The messages before the answer: a chat beside it, earlier pairs, the prompt."""
    if row.get("conversations"):
        return messages_of(row["conversations"], notes, place)
    pairs = [Message(role, said) for pair in row.get("history") or () if isinstance(pair, (list, tuple)) for role, said in zip(("user", "assistant"), pair)]
    if isinstance(row.get("prompt"), (list, dict)):
        return pairs + _messages(row["prompt"], "user", notes, place)
    texts = [row[key] for key in PROMPTS if isinstance(row.get(key), str) and row[key]]
    if texts and not SPEAKER.match(texts[0]):
        notes.assume("a prompt that is a text is the message of a user")
    return pairs + _messages("\n\n".join(texts), "user", notes, place)


def _messages(value, role, notes, place):
    """Messages, or a text, which may hold the paragraphs of several speakers."""
    if not isinstance(value, str):
        return messages_of(value if isinstance(value, (list, tuple)) else [value], notes, place)
    parts = SPEAKER.split(value) if SPEAKER.match(value) else ["", {"assistant": "Assistant"}.get(role, "Human"), value]
    return [Message("user" if who == "Human" else "assistant", said) for who, said in zip(parts[1::2], parts[2::2]) if said]
