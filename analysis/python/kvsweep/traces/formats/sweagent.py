"""SWE-agent: a .traj file a task.

Source: github.com/SWE-agent/SWE-agent (docs/usage/trajectories). history: the messages, is_demo for those of the demonstration; thought and action
repeat the content; trajectory[k].execution_time: seconds of the k-th action.
Cannot tell: what a history processor took from the prompts (trajectory[].query has it, and repeats everything else in each step).
"""
from ..messages import Chat, messages_of, name_of
from . import converter
from .fields import number

KEPT = ("role", "content", "tool_calls", "is_demo", "thinking_blocks", "reasoning_content", "timestamp")


@converter("sweagent", lambda row: isinstance(row.get("trajectory"), list) and isinstance(row.get("history"), list), rank=2)
def trajectory(row, context):
    """SWE-agent's .traj files."""
    messages = messages_of([{key: record[key] for key in KEPT if record.get(key) is not None} for record in row["history"]], context.notes, row.place)
    context.notes.assume("prompts hold the whole history: what a history processor of SWE-agent takes away is not applied")
    chat = Chat(name_of(row), messages)
    for turn, step in enumerate(row["trajectory"]):
        if step.get("execution_time") is not None:
            chat.gaps[turn + 1] = number(step, "execution_time")
    return chat
