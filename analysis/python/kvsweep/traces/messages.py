"""Messages of every dialect, as one: a role, texts with labels, calls. What has no place in a prompt is listed as left out."""
import datetime
import json
import re
from dataclasses import dataclass, field
from fractions import Fraction

from .trace import Refused

ROLES = {"system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant",
         "chatgpt": "assistant", "bing": "assistant", "bard": "assistant", "claude": "assistant", "model": "assistant", "agent": "assistant",
         "ai": "assistant", "tool": "tool", "function": "tool", "observation": "tool", "ipython": "tool", "environment": "tool",
         "tool_response": "tool", "function_response": "tool", "function_call": "assistant", "tool_call": "assistant"}
TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
MEDIA = ("image", "image_url", "input_image", "audio", "input_audio", "video", "video_url", "file", "input_file", "document", "computer_screenshot")
REASONING = ("reasoning_content", "reasoning", "thinking", "thought", "thinking_blocks", "reasoning_details")
CALLS = ("tool_use", "server_tool_use", "mcp_tool_use", "function_call", "custom_tool_call", "tool_call")
RECORD = ("role", "content", "from", "value", "id", "type", "object", "timestamp", "time", "index", "is_demo", "tool", "turns")  # of the record, not of the prompt

DATE = re.compile(r"(\d{4})[-/](\d\d?)[-/](\d\d?)(?:[T ](\d\d?):(\d\d)(?::(\d\d)(?:\.(\d+))?)?)?\s*(?:Z|UTC|([+-])(\d\d):?(\d\d)?)?", re.I)


@dataclass
class Message:
    role: str                                   # system, user, assistant or tool
    text: str = ""
    reasoning: str = ""
    calls: list = field(default_factory=list)   # (name, arguments)
    is_demo: bool = False                       # an example, part of the prompt
    sent_s: float = None                        # when it was complete, on any clock
    raw: dict = None                            # as recorded, for a model's own template
    tokens: int = None                          # of an answer without a recorded text


@dataclass
class Chat:
    name: str
    messages: list
    tools: list = field(default_factory=list)   # schemas
    arrival_s: float = None
    gaps: dict = field(default_factory=dict)    # by turn: seconds after the turn before
    requests: list = field(default_factory=list)   # chats of one answer each, the job's further turns, with whole prompts
    place: str = None                           # where it was read


def name_of(row, *keys):
    for key in (*keys, "id", "traj_id", "instance_id", "conversation_id", "conversation_hash", "custom_id", "uuid"):
        value = row.get(key)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value):
            return str(value)
    return f"{row.place}" if getattr(row, "place", None) else "chat"


def chat_of(row, messages, notes, name=None):
    """A chat with what stands beside its messages: system prompts and schemas of tools."""
    for key in ("system", "system_prompt", "instructions"):
        if row.get(key):
            messages = messages_of([{"role": "system", "content": row[key]}], notes, row.place) + messages
    tools = row.get("tools") or row.get("functions") or []
    return Chat(name or name_of(row), messages, tools=tools if isinstance(tools, list) else [tools], place=row.place)


def messages_of(records, notes, place=None):
    """The messages of a list, or of its JSON text."""
    if isinstance(records, str):
        try:
            records = json.loads(records)
        except ValueError as problem:
            raise Refused(f"messages are a text that is no JSON: {problem}") from None
    if not isinstance(records, (list, tuple)):
        raise Refused("messages are no list")
    found = []
    for number, record in enumerate(records):
        if not isinstance(record, dict):
            raise Refused(f"message {number} is no object")
        found += _messages(record, notes, place)
    return found


def _messages(record, notes, place):
    said = next((record[key] for key in ("role", "from") if record.get(key)), None)
    role = ROLES.get(str(said).lower())
    if said == "exit":
        notes.leave_out("messages of role exit", "they are the harness's, after the last request", count=1)
        return []
    if role is None:
        raise Refused(f"role is {said!r}; allowed: {', '.join(sorted(ROLES))}")
    message = Message(role, sent_s=seconds(record.get("timestamp")), raw=record,
                      is_demo=bool(record.get("is_demo")) or record.get("tool") == "demo")
    results = _content(content_of(record), message, notes, place)
    if said in ("function_call", "tool_call"):
        message.calls, message.text = [_call(loaded(message.text))], ""
    _keys(record, message, notes)
    if not results:
        return [message]
    if message.text or message.calls:
        results.append(message)
    return results


def content_of(record):
    return next((record[key] for key in ("content", "value") if record.get(key) is not None), None)


def _content(content, message, notes, place):
    """Adds a content to a message. Returns the results of tools in it, which are messages of their own."""
    results = []
    for part in content if isinstance(content, (list, tuple)) else [content]:
        if part is None:
            continue
        if isinstance(part, str):
            message.text += part
            continue
        if not isinstance(part, dict):
            raise Refused("content is neither a text nor a list of parts")
        kind = str(part.get("type") or "text")
        if kind in TEXTS and isinstance(part.get("text"), str):
            message.text += part["text"]
        elif kind in ("thinking", "reasoning"):
            message.reasoning += _reasoning(part)
        elif kind == "refusal":
            message.text += part.get("refusal") or ""
        elif kind in CALLS:
            message.calls.append(_call(part))
        elif kind.endswith("tool_result") or kind.endswith("_output") or "result" in kind:
            result = Message("tool", sent_s=message.sent_s, raw={"role": "tool", "tool_call_id": part.get("tool_use_id")})
            inner = part.get("content", part.get("output"))
            try:
                _content(inner, result, notes, place)
            except Refused:
                result.text = compact(inner)
            result.raw["content"] = result.text
            results.append(result)
        elif kind in MEDIA and isinstance(part.get("source"), dict) and part["source"].get("type") == "text":
            message.text += part["source"].get("data") or ""
        elif kind in MEDIA:
            notes.leave_out(f"{kind} parts", "their tokens depend on the model", place=place)
        else:
            notes.leave_out(f"content parts of type {kind}", "no dialect of messages says what the model sees of them", estimate(compact(part)), place)
    return results


def _reasoning(value):
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "".join(_reasoning(each) for each in value)
    if isinstance(value, dict):
        return next((_reasoning(value[key]) for key in ("thinking", "text", "content", "summary") if value.get(key)), "")
    return ""


def _keys(record, message, notes):
    """What stands beside the content."""
    for key in REASONING:
        text = _reasoning(record.get(key))
        if text and text not in message.reasoning and not (key == "thought" and text in message.text):   # SWE-agent repeats it
            message.reasoning += text
    if isinstance(record.get("refusal"), str):
        message.text += record["refusal"]
    calls = record.get("tool_calls")
    for call in loaded(calls) if isinstance(calls, str) else calls if calls is not None else ():
        message.calls.append(_call(call))
    if record.get("function_call"):
        message.calls.append(_call(record["function_call"]))
    used = (*RECORD, *REASONING, "refusal", "tool_calls", "function_call")
    for key, value in record.items():
        if key not in used and isinstance(value, (str, list, dict)) and value:
            notes.leave_out(f"key {key} of messages", "it is not part of what the template renders",
                            estimate(value if isinstance(value, str) else compact(value)))


def loaded(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def _call(call):
    """(name, arguments) of OpenAI's and Anthropic's calls, nested or not."""
    if isinstance(call, str):
        return "", call
    if not isinstance(call, dict):
        raise Refused("a tool call is no object")
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    name = inner.get("name", "")
    arguments = next((inner[key] for key in ("arguments", "input", "parameters", "args") if inner.get(key) is not None), {})
    if isinstance(arguments, str):
        arguments = loaded(arguments) if isinstance(loaded(arguments), (dict, list)) else arguments
    return str(name), arguments


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def estimate(text):
    return -(-len(text.encode(errors="replace")) // 4)


def seconds(value):
    """Seconds on a clock of its own: a number of s, ms, us or ns since 1970, or a date and time."""
    if value is None or isinstance(value, bool) or value == "":
        return None
    if isinstance(value, datetime.datetime):
        return value.timestamp() if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc).timestamp()
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return date_s(value)
    if not isinstance(value, (int, float)) or not abs(value) < 1e20:
        raise Refused(f"the time is {value!r}; allowed: a number, or a date and time")
    for scale in (1e9, 1e6, 1e3):
        if abs(value) >= 1e8 * scale:   # 1973
            return Fraction(value) / int(scale)
    return float(value)


def date_s(text):
    """Seconds since 1970 of a date and time, UTC where it has no zone: exactly, since doubles have no nanoseconds there."""
    found = DATE.fullmatch(text.strip())
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        moment = datetime.datetime(year, month, day, hour, minute, tzinfo=datetime.timezone.utc)
    except (AttributeError, ValueError):
        raise Refused(f"the time is {text[:40]!r}; allowed: a date and time such as 2023-11-16 18:17:03.9799600, or seconds") from None
    digits, sign, hours, minutes = found.groups()[6:]
    offset = int(f"{sign or '+'}1") * (int(hours or 0) * 3600 + int(minutes or 0) * 60)
    return int(moment.timestamp()) + second - offset + Fraction(int(digits or 0), 10 ** len(digits or ""))
