"""mini-swe-agent, version 2: a .traj.json file a task.

Source: github.com/SWE-agent/mini-swe-agent (trajectory_format). messages: of the chat or the Responses API; extra.timestamp: seconds since 1970, when
a message was complete; the last message has role exit; info: not needed, but for the task's name.
Cannot tell: schemas of tools, which the harness adds to each request.
"""
from ..messages import Chat, name_of, seconds
from . import converter, openai


def _detect(row):
    return isinstance(row.get("messages"), list) and ("trajectory_format" in row or "info" in row and any("extra" in message for message in row["messages"]))


@converter("miniswe", _detect, rank=2)
def trajectory(row, context):
    """mini-swe-agent's .traj.json files."""
    messages = []
    for record in row["messages"]:
        plain = {key: value for key, value in record.items() if key not in ("extra", "object", "id", "usage") or key == "id" and isinstance(value, int)}
        new = openai.items(plain["output"] if record.get("object") == "response" else [plain], context.notes, row.place)
        for message in new:
            message.sent_s = seconds((record.get("extra") or {}).get("timestamp"))
        messages += new
    return Chat(name_of(row), messages)
