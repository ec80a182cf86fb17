"""Claude Code's own logs: ~/.claude/projects/PROJECT/SESSION.jsonl, an event a line.

Source: the files themselves (github.com/anthropics/claude-code documents only their place). type: user or assistant, others are not requests; message;
an answer is a line for each of its blocks, with one message.id; usage: input_tokens, cache_read_input_tokens and cache_creation_input_tokens are
together the prompt, output_tokens the answer, as the vendor counted them; parentUuid: the event before, uuid; timestamp; sessionId; isSidechain and
agentId: a subagent's.
Cannot tell: the system prompt and the schemas of tools, which count in the prompt all the same; what sessions have in common.
"""
from ..messages import seconds
from ..trace import Job, Turn
from . import converter
from .fields import number

PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class _Answer:
    def __init__(self, row, asked_s, before, root):
        self.asked_s, self.before, self.place = asked_s, before, row.place   # before: the answer that it continues
        self.agent = str(row.get("agentId") or f"sidechain {root}") if row.get("isSidechain") else None
        self.usage, self.answered_s, self.tool = {}, None, None

    def add(self, message, when):
        """A line of the answer. The last one has the whole usage."""
        self.usage = message.get("usage") or self.usage
        self.answered_s = max(filter(None, (when, self.answered_s)), default=None)
        calls = [part.get("name") for part in message.get("content") or () if isinstance(part, dict) and part.get("type") == "tool_use"]
        self.tool = self.tool or (calls or [None])[0]


@converter("claudecode", lambda row: "sessionId" in row and "type" in row or {"type", "summary", "leafUuid"} <= set(row), whole=True, rank=1)
def sessions(rows, context):
    """Claude Code's own logs, with the vendor's token counts."""
    found, events = {}, {}
    for row in rows:
        with context.notes.reading(row):
            _event(row, found, events, context.notes)
    context.notes.assume("a prompt begins with the one before it and its answer where it is that long, else with what the provider's cache had; sessions share nothing")
    for name, answers in found.items():
        with context.notes.reading(next(iter(answers.values()))):
            yield _job(name, answers, context.notes)


def _event(row, found, events, notes):
    """`events`: by uuid, when an event was, which answer it continues and which event began its chain; by id of a message, its session."""
    message, when = row.get("message") or {}, seconds(row.get("timestamp"))
    before_s, before, root = events.get(row.get("parentUuid"), (None, None, row.get("uuid")))
    session = str(row.get("sessionId"))
    if row.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        notes.leave_out(f"events of type {row.get('type')}", "they are no requests")
    elif row["type"] == "assistant" and message.get("model") == "<synthetic>":
        notes.leave_out("failed requests", "the answer is the harness's", place=row.place)
    elif row["type"] == "assistant":
        name = str(message.get("id") or row.get("uuid"))
        if events.setdefault(("answer", name), session) != session:
            notes.leave_out("answers of another session", "a session that goes on repeats the one before it")
        else:
            found.setdefault(session, {}).setdefault(name, _Answer(row, before_s, before, root)).add(message, when)
        before = name
    if row.get("uuid"):
        events[row["uuid"]] = (when if when is not None else before_s, before, root)


def _job(name, answers, notes):
    timed = [answer for answer in answers.values() if answer.asked_s is not None]
    job, numbers, lengths, ends, last = Job(name, arrival_s=min((answer.asked_s for answer in timed), default=None), place=next(iter(answers.values())).place), {}, [], [], {}
    for key, answer in sorted(answers.items(), key=lambda entry: entry[1].asked_s or 0):
        prompt, output = sum(int(number(answer.usage, part) or 0) for part in PROMPT), int(number(answer.usage, "output_tokens") or 0)
        if not prompt or not output:
            notes.leave_out("failed requests", "they have no usage", place=answer.place)
            continue
        base = numbers.get(answer.before, last.get(answer.agent))
        if base is not None and job.turns[base].agent != answer.agent:
            base = last.get(answer.agent)
        turn = Turn([], [(None, output)], agent=answer.agent, tool=answer.tool, after=_after(answer, base, last, ends, job))
        shared = 0
        if base is not None:
            whole = sum(lengths[base])
            cached = int(number(answer.usage, "cache_read_input_tokens") or 0)
            shared = whole if prompt >= whole else min(prompt, lengths[base][0]) if prompt >= lengths[base][0] else min(cached, prompt, lengths[base][0])
            turn.extends = None if not shared else base if shared == whole else (base, shared)
        turn.prompt = [(None, prompt - shared)] if prompt > shared else []
        waited = [ends[each] for each in turn.after or ([len(job.turns) - 1] if job.turns else []) if ends[each] is not None]
        if answer.asked_s is not None:
            turn.start_s = float(answer.asked_s - job.arrival_s)
            turn.gap_s = float(max(0, answer.asked_s - max(waited))) if waited else None
            turn.api_s = float(max(0, answer.answered_s - answer.asked_s)) if answer.answered_s is not None else None
        numbers[key] = last[answer.agent] = len(job.turns)
        job.turns.append(turn)
        lengths.append((prompt, output))
        ends.append(answer.answered_s)
    return job


def _after(answer, base, last, ends, job):
    """A subagent's first turn waits for its parent's last one; the parent waits for the subagents that had ended."""
    if answer.agent is not None and base is None:
        return [last[None]] if None in last else None
    after = [] if base is None else [base]
    if answer.agent is None:
        for agent in [agent for agent in last if agent is not None]:
            if ends[last[agent]] is not None and answer.asked_s is not None and ends[last[agent]] <= answer.asked_s:
                after.append(last.pop(agent))
    return after if after and after != [len(job.turns) - 1] else None
