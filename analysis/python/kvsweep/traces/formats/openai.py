"""OpenAI messages, a chat a row: SWE-smith and other training sets, logs of requests, files of the batch API.

Source: platform.openai.com/docs/api-reference (chat and responses); huggingface.co/datasets/SWE-bench/SWE-smith-trajectories (messages may be JSON
text). A row is a chat: messages, or body.messages and body.input of a batch file; an id, traj_id, instance_id or custom_id; tools or functions:
schemas, part of the system message. turns[k]: of the k-th answer, exec_s: seconds of the tool that it called. response.choices[0].message is the
answer to a request; output_length: its tokens, where its text is not recorded (AIPerf, with timestamp in ms and text_input). Of Responses: instructions, input (a text or items: message, reasoning, function_call, function_call_output) and output.
Cannot tell: times, unless messages have a timestamp or turns exec_s; tokens of images.
"""
from ..messages import Message, chat_of, compact, estimate, messages_of
from ..sources import with_inner
from ..trace import Refused
from . import converter
from .fields import count, number

ASIDE = {"usage": "lengths are counted from texts", "response_format": "whether the prompt holds it depends on the server"}


def _detect(row):
    body = with_inner(row, "body")
    return "messages" in body or "text_input" in body or isinstance(body.get("input"), list) and "output" in body or "input" in body and isinstance(body.get("output"), list) or body is not row and "input" in body


@converter("openai", _detect, rank=6)
def chat(row, context):
    """OpenAI messages and Responses: SWE-smith, batch files, logs of requests."""
    body, notes = with_inner(row, "body"), context.notes
    if "messages" in body:
        messages = messages_of(body["messages"], notes, row.place)
    else:
        messages = items(body["input"] if "input" in body else body["text_input"], notes, row.place)
    answer = _answer(body, notes, row.place)
    length = count(row, "output_length", "output_tokens", needed=False)
    if length and not answer and messages[-1].role != "assistant":
        answer = [Message("assistant", tokens=length)]
    for message in messages if answer else ():
        if message.role == "assistant":
            message.is_demo = True
            notes.assume("a request that is recorded with its answer is one turn: answers before it are part of its prompt")
    messages += answer
    if not any(message.role == "assistant" for message in messages):
        raise Refused("has no answer: nothing says how long it was")
    for key, why in ASIDE.items():
        if body.get(key) or response_of(body).get(key):
            notes.leave_out(key, why, estimate(compact(body[key])) if key == "response_format" and body.get(key) else 0, row.place)
    found = chat_of(body, messages, notes)
    if length and row.get("session_id") is not None:
        seen = context.blocks_of("sessions").after
        if seen.setdefault(str(row["session_id"]), row.place) != row.place:
            notes.assume("further requests of a session are jobs of their own, without the delay between them", 1)
    if length and number(row, "timestamp") is not None:
        found.arrival_s = number(row, "timestamp") / 1e3   # as AIPerf has it beside a length
    _turns(body, found, notes)
    return found


def response_of(body):
    response = body.get("response")
    response = response.get("body", response) if isinstance(response, dict) else body
    return response if isinstance(response, dict) else {}


def _answer(body, notes, place):
    """The answer to a request that is recorded beside it."""
    response = response_of(body)
    if isinstance(response.get("choices"), list) and response["choices"]:
        if response["choices"][1:]:
            notes.leave_out("further choices of an answer", "the first one is replayed", estimate(compact(response["choices"][1:])), place, len(response["choices"]) - 1)
        return messages_of([response["choices"][0]["message"]], notes, place)
    if response is not body and isinstance(response.get("content"), list):
        return messages_of([{"role": "assistant", "content": response["content"]}], notes, place)
    output = response.get("output") or []
    return items([{"role": "assistant", "content": output}] if isinstance(output, str) else output if isinstance(output, list) else [output], notes, place)


def items(items, notes, place):
    """Messages of the Responses API: what follows each other without an input between is one answer."""
    if isinstance(items, str):
        return messages_of([{"role": "user", "content": items}], notes, place)
    found = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            new = messages_of([item], notes, place)
        elif kind.endswith("_call_output"):
            new = messages_of([{"role": "tool", "content": item.get("output")}], notes, place)
        else:
            new = messages_of([{"role": "assistant", "content": [item]}], notes, place)
        if found and new and found[-1].role == new[0].role == "assistant":
            found[-1].text += new[0].text
            found[-1].reasoning += new[0].reasoning
            found[-1].calls += new[0].calls
        else:
            found += new
    return found


def _turns(body, chat, notes):
    """Tool times: those of turn k are the gap before turn k + 1."""
    turns = body.get("turns")
    answers = sum(message.role == "assistant" and not message.is_demo for message in chat.messages)
    if not isinstance(turns, list):
        return
    if len(turns) > answers:
        raise Refused(f"turns has {len(turns)} entries for {answers} answers")
    for number_, turn in enumerate(turns):
        if not isinstance(turn, dict):
            continue
        if turn.get("exec_s") is not None:
            chat.gaps[number_ + 1] = number(turn, "exec_s")
        if turn.get("llm_created") is not None:
            notes.leave_out("turns[].llm_created", "it says when an answer was made, not when its request was sent")
