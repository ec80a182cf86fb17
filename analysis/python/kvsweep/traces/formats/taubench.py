"""tau-bench and tau2-bench: results of tasks.

Sources: github.com/sierra-research/tau-bench (a list of task_id, trial, traj: messages) and tau2-bench (simulations: task_id, trial, messages with
timestamp; info.environment_info: policy, the system prompt, and tool_defs).
Cannot tell: the schemas of tools of tau-bench. What the simulated user does with tools of its own is not part of the agent's prompts.
"""
from ..messages import Chat, messages_of
from . import converter

KEPT = ("role", "content", "tool_calls", "function_call", "name", "tool_call_id", "timestamp", "reasoning_content")


@converter("taubench", lambda row: isinstance(row.get("traj"), list) or isinstance(row.get("simulations"), list), rank=2)
def task(row, context):
    """Results of tau-bench and tau2-bench."""
    environment = (row.get("info") or {}).get("environment_info") or {} if "simulations" in row else {}
    head = [{"role": "system", "content": environment["policy"]}] if environment.get("policy") else []
    chats = []
    for one in row.get("simulations") or [row]:
        records = [record for record in one.get("messages") or one["traj"] if not _of_user(record)]
        left = len(one.get("messages") or one["traj"]) - len(records)
        if left:
            context.notes.leave_out("tool messages of the simulated user", "they are not part of the agent's prompts", count=left)
        records = [{key: record[key] for key in KEPT if record.get(key) is not None} for record in records]
        tools = environment.get("tool_defs") or []
        chats.append(Chat(f"{one.get('task_id', row.place)}/{one.get('trial', 0)}", messages_of(head + records, context.notes, row.place), tools=list(tools)))
    return chats


def _of_user(record):
    return record.get("requestor") == "user" or record.get("role") == "user" and record.get("tool_calls")
