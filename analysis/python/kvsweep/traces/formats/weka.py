"""AgentX and Weka: sessions of Claude Code as kv-cache-tester has them, an object a session.

Source: github.com/callanjfox/kv-cache-tester (traces/), replayed by AIPerf as AgentX.
Session: id; block_size (64); hash_id_scope "local" (ids mean something within the session) or "global"; requests.
Request: t, seconds from the session's start; in, out: tokens; hash_ids: names of the prompt's blocks, each of them of the block and of all before
it; api_time: how long the server took; think_time: client time before the request. type "subagent": agent_id, t, duration_ms and requests of its
own, spawned after the request before it and waited for by the one behind it.
Cannot tell: texts, tools, which part of a prompt is the answer before it, whether a parent waited for a subagent.
"""
from ..blocks import BlockPaths, check_fit, prompt_of
from ..trace import Job, Refused, Turn
from . import converter
from .fields import lengths, number


def _is_subagent(request):
    return request.get("type") == "subagent"


class _Clocks:
    """What times of subagents count from, and whether a marker has the time of its end. Releases of the corpus differ."""

    def __init__(self, requests):
        self.absolute = self.marks_end = False
        relative = False
        for at, marker in enumerate(requests):
            inner = marker.get("requests") if _is_subagent(marker) else None
            if not inner:
                continue
            t, first = number(marker, "t") or 0.0, number(inner[0], "t") or 0.0
            self.absolute |= t > 0 and first >= t
            relative |= first < t
            following = next((each for each in requests[at:] if not _is_subagent(each)), None)
            if following is not None and t + (number(marker, "duration_ms") or 0.0) / 1e3 > number(following, "t") + 1:
                self.marks_end = True
        if self.absolute and relative:
            raise Refused("mixes subagents with requests that count from the session's start and others with requests that count from the subagent's")
        self.marks_end &= not self.absolute

    def start(self, marker):
        t, duration = number(marker, "t") or 0.0, (number(marker, "duration_ms") or 0.0) / 1e3
        if self.absolute:
            return number(marker["requests"][0], "t")
        return max(0.0, t - duration) if self.marks_end else t


class _Session:
    def __init__(self, row, paths, context):
        self.size, self.paths, self.context = int(row.get("block_size", 64)), paths, context
        self.clocks = _Clocks(row["requests"])
        self.job = Job(str(row.get("id", row.place)))
        self.placed = []     # by turn: path, tokens
        self.subagents = 0
        self._agent(row["requests"], None, None, 0.0)

    def _agent(self, requests, name, spawner, origin_s):
        """Adds an agent's turns; returns the last one. `spawner`: the turn that the first one waits for."""
        last, pending, before_s = None, [], 0.0
        for request in requests:
            if _is_subagent(request):
                pending.append(self._subagent(request, last, origin_s))
                continue
            start_s = origin_s + number(request, "t", needed=True)
            if start_s < before_s:
                raise Refused("a request starts before the one in front of it")
            before_s = start_s
            after = [each for each in (last if last is not None else spawner,) if each is not None]
            gap_s = number(request, "think_time")
            if pending:
                after += [turn for turn, _ in pending]
                gap_s = max(0.0, start_s - max(end_s for _, end_s in pending))
                pending = []
            if last is None and spawner is not None:
                by = self.job.turns[spawner]
                gap_s = max(0.0, start_s - by.start_s - (by.api_s or 0.0))
            last = self._turn(request, name, after, start_s, gap_s, last)
        if last is None:
            raise Refused("has no requests" if name is None else f"subagent {name} has no requests")
        return last

    def _turn(self, request, name, after, start_s, gap_s, last):
        tokens, answer = lengths(request, ("in", "input_length"), ("out", "output_length"), self.context.notes)
        if not isinstance(request.get("hash_ids"), list):
            raise Refused("a request has no hash_ids")
        check_fit(request["hash_ids"], tokens, self.size)
        path = self.paths.follow(request["hash_ids"], None if last is None else self.placed[last][0])
        extends, prompt = prompt_of(path, tokens, self.size, None if last is None else (last, *self.placed[last]))
        turn = len(self.job.turns)
        self.placed.append((path, tokens))
        self.job.turns.append(Turn(prompt, [(None, answer)], extends=extends, after=None if after == [turn - 1] or not after else after,
                                   gap_s=gap_s, start_s=start_s, api_s=number(request, "api_time"), agent=name))
        return turn

    def _subagent(self, marker, spawner, origin_s):
        """(last turn, when it ended) of a subagent."""
        if spawner is None:
            raise Refused("a subagent has no request of its parent in front of it")
        if not marker.get("requests"):
            raise Refused("a subagent has no requests")
        self.subagents += 1
        begun = self.clocks.start(marker)
        origin = 0.0 if self.clocks.absolute else origin_s + begun
        name = str(marker.get("agent_id") or f"subagent {self.subagents}")
        last = self._agent(marker["requests"], name, spawner, origin)
        turn = self.job.turns[last]
        end_s = turn.start_s + (turn.api_s or 0.0)
        duration_ms = number(marker, "duration_ms")
        return last, end_s if duration_ms is None else max(end_s, (begun if self.clocks.absolute else origin) + duration_ms / 1e3)


@converter("weka", lambda row: "requests" in row and isinstance(row["requests"], list), rank=0)
def session(row, context):
    """Claude Code sessions of kv-cache-tester and AgentX, with subagents."""
    scope = row.get("hash_id_scope", "local")
    if scope not in ("local", "global"):
        raise Refused(f"hash_id_scope is {scope!r}; allowed: local or global")
    if scope == "global":
        context.blocks.setdefault("weka", BlockPaths(context.numbers))
    read = _Session(row, context.blocks["weka"] if scope == "global" else BlockPaths(context.numbers), context)
    if read.subagents:
        clocks = read.clocks
        context.notes.assume("times of a subagent's requests count from the session's start" if clocks.absolute else
                             f"times of a subagent's requests count from its own start, which is its marker's time{' less its duration' if clocks.marks_end else ''}")
        context.notes.assume("a parent waits for its subagents")
    return read.job
