"""OpenHands: output.jsonl of its evaluations, a task a line, with the history of events.

Source: github.com/All-Hands-AI/OpenHands (events of version 0, and of the SDK, which have a kind and an llm_message or tool_call). history: events, or pairs of an action and its observation. source: user, agent or
environment; timestamp; action and args (content, command, thought); tool_call_metadata.model_response: the answer as the model gave it; observation
and content: a tool's result. An action "system" has the system prompt and the schemas of tools.
Cannot tell: what a condenser took from the prompts.
"""
from ..messages import Chat, Message, compact, messages_of, name_of, seconds
from . import converter


def _events(history):
    for event in history:
        yield from event if isinstance(event, list) else [event]


@converter("openhands", lambda row: isinstance(row.get("history"), list) and bool(row["history"]) and "source" in next(_events(row["history"])), rank=2)
def history(row, context):
    """OpenHands' histories of events."""
    chat, answered = Chat(name_of(row), []), set()
    for event in _events(row["history"]):
        message = _message(event, chat, answered, context.notes)
        if message is not None:
            message.sent_s = seconds(event.get("timestamp"))
            chat.messages.append(message)
    return chat


def _message(event, chat, answered, notes):
    if "kind" in event:
        return _message_of_sdk(event, chat, answered, notes)
    args, action = event.get("args") or {}, event.get("action")
    response = (event.get("tool_call_metadata") or {}).get("model_response") or {}
    text = next((str(value) for value in (args.get("content"), args.get("thought"), event.get("content"), None if "action" in event else event.get("message")) if value), "")
    if action == "system":
        chat.tools = args.get("tools") or []
        return Message("system", text)
    if "observation" in event:
        return Message("tool", event.get("content") or "") if event["observation"] not in ("agent_state_changed", "null") else _without(event, notes)
    if action in ("change_agent_state", "recall", "null"):
        return _without(event, notes)
    if event.get("source") != "agent":
        return Message("user", text or event.get("message") or "")
    if response.get("choices"):
        if response.get("id") in answered:   # further calls of one answer
            return None
        answered.update({response.get("id")} - {None})
        return messages_of([response["choices"][0]["message"]], notes)[0]
    calls = [] if action in (None, "message") else [(action, {key: value for key, value in args.items() if key not in ("thought", "content")})]
    return Message("assistant", text, calls=calls)


def _message_of_sdk(event, chat, answered, notes):
    kind = event["kind"]
    if kind == "SystemPromptEvent":
        chat.tools = event.get("tools") or []
        return messages_of([{"role": "system", "content": [event.get("system_prompt")]}], notes)[0]
    if kind == "MessageEvent":
        return messages_of([event["llm_message"]], notes)[0]
    if kind == "ObservationEvent":
        return messages_of([{"role": "tool", "content": event["observation"].get("content") or compact(event["observation"])}], notes)[0]
    if kind != "ActionEvent":
        return _without(event, notes)
    call = [event["tool_call"]] if event.get("tool_call") else []
    name = event.get("llm_response_id")
    if name in answered:   # further calls of one answer
        chat.messages[-1].calls += messages_of([{"role": "assistant", "tool_calls": call}], notes)[0].calls
        return None
    answered.update({name} - {None})
    return messages_of([{"role": "assistant", "content": event.get("thought"), "reasoning_content": event.get("reasoning_content"), "tool_calls": call}], notes)[0]


def _without(event, notes):
    notes.leave_out("events of the harness", "the model does not see them", len(compact(event)) // 4)
