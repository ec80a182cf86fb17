"""Requests that name sessions, or each other, as jobs: graphs of turns with prompts by blocks, or by length alone."""
from dataclasses import dataclass, field

from .blocks import check_fit, prompt_of
from .trace import Job, Refused, Turn


@dataclass
class Request:
    name: str
    prompt_tokens: int
    answer_tokens: int
    ids: list = None          # None: the row names no blocks
    session: str = ""
    waits: list = field(default_factory=list)   # names of requests
    agent: str = ""
    at_s: float = None        # on the clock of the trace
    start_s: float = None     # from the job's start
    api_s: float = None
    gap_s: float = None
    tool: str = ""
    place: str = None
    after: list = field(default_factory=list)   # numbers within its job
    path: object = None


class Requests:
    """Collects requests into jobs: those of a session, and those that wait for each other."""

    def __init__(self, context, block, prompts="whole", orphans=False):
        self.context, self.block, self.prompts, self.orphans = context, block, prompts, orphans
        self.paths = context.blocks_of("requests")
        self.jobs, self.by_session, self.placed = [], {}, {}

    def add(self, request):
        job = self._job(request)
        requests = self.jobs[job] if job is not None else []
        if not request.after and requests:
            request.after = [len(requests) - 1]
        for number in request.after:
            before = requests[number]
            if None not in (request.at_s, before.at_s) and request.at_s < before.at_s or None not in (request.start_s, before.start_s) and request.start_s < before.start_s:
                raise Refused(f"begins before request {before.name}, which it waits for")
        if request.name in self.placed:
            raise Refused(f"request {request.name} stands on an earlier line already")
        if request.ids is not None:
            check_fit(request.ids, request.prompt_tokens, self.block)
            request.path, request.ids = self.paths.follow(request.ids), None
            request.path.ids = request.path.nodes = ()
        if job is None:
            self.jobs.append(requests)
            job = len(self.jobs) - 1
            if request.session:
                self.by_session[request.session] = job
        self.placed[request.name] = (job, len(requests))
        requests.append(request)

    def _job(self, request):
        found = None
        for wait in request.waits:
            if wait == request.name:
                raise Refused(f"request {request.name} waits for itself")
            if wait not in self.placed:
                if not self.orphans:
                    raise Refused(f"request {request.name} waits for {wait}, which no line above names")
                self.context.notes.leave_out("requests that others continue", "they are not in the file; a conversation begins with the first request that is")
                continue
            job, number = self.placed[wait]
            if found is not None and job != found:
                raise Refused(f"request {request.name} waits for requests of different sessions")
            found = job
            if number not in request.after:
                request.after.append(number)
        return self.by_session.get(request.session) if found is None and request.session else found

    def finish(self):
        growing = self.prompts == "increments" or (self.prompts == "auto" and self._look_like_increments())
        for requests in self.jobs:
            yield _job_of(requests, growing and len(requests) > 1, self.block)

    def _look_like_increments(self):
        """Whole prompts begin as the one before them. Where hardly any does, the rows are what each turn adds."""
        pairs = fits = longer = 0
        for requests in self.jobs:
            for request in requests[1:]:
                before = requests[request.after[0]] if request.after else requests[0]
                if request.waits or request.agent != before.agent:   # a graph says itself what continues what
                    continue
                pairs += 1
                if request.path is not None and before.path is not None:
                    fits += _shared(request.path, before.path) > 0
                else:
                    fits += request.prompt_tokens >= before.prompt_tokens + before.answer_tokens
                    longer += 1
        if not pairs:
            return False
        growing = fits < 0.1 * pairs if longer < pairs else fits < 0.5 * pairs
        self.context.notes.assume(
            f"rows of a session are what each turn adds: of {pairs} later rows {fits} begin as the row before (--rows whole reads them as whole prompts)" if growing else
            f"rows of a session are whole prompts: of {pairs} later rows {fits} begin as the row before (--rows increments adds the history)")
        return growing


def _shared(a, b):
    total = 0
    for mine, other in zip(a.runs, b.runs):
        total += min(mine[1], other[1]) if mine[0] == other[0] else 0
        if mine != other:
            break
    return total


def _continues(requests):
    """Which request each one continues, as the next turn of the same agent. A named agent's continue each other. Of those that wait for a
    request, the one that shares most with it continues it, and it continues the one that it shares most with."""
    claim, before = {}, {}

    def shared(a, b):
        a, b = requests[a].path, requests[b].path
        return _shared(a, b) if a is not None and b is not None else 0

    for number, request in enumerate(requests):
        for wait in request.after:
            if request.agent == requests[wait].agent and (wait not in claim or shared(number, wait) > shared(claim[wait], wait)):
                claim[wait] = number
    for number, request in enumerate(requests):
        for wait in request.after:
            if claim.get(wait) == number and (number not in before or shared(number, wait) > shared(number, before[number])):
                before[number] = wait
    return before


def _job_of(requests, growing, size):
    first = requests[0]
    job = Job(first.session or first.name, arrival_s=first.at_s, place=first.place)
    before, agents = _continues(requests), []
    for number, request in enumerate(requests):
        base = before.get(number)
        agents.append(None if number == 0 else agents[base] if base is not None else request.agent or request.name)
        start_s = request.start_s
        if start_s is None and None not in (request.at_s, first.at_s) and len(requests) > 1:
            start_s = float(max(0, request.at_s - first.at_s))
        gap_s = request.gap_s
        if gap_s is None and base is not None and request.after == [base] and None not in (start_s, job.turns[base].start_s, job.turns[base].api_s):
            gap_s = max(0.0, start_s - job.turns[base].start_s - job.turns[base].api_s)
        extends, prompt = None, [(None, request.prompt_tokens)]
        if request.path is not None:
            reach = (base, requests[base].path, requests[base].prompt_tokens) if base is not None and not growing and requests[base].path else None
            extends, prompt = prompt_of(request.path, request.prompt_tokens, size, reach)
        if growing and base is not None:
            extends = base
        job.turns.append(Turn(prompt, [(None, request.answer_tokens)], extends=extends, after=None if request.after in ([], [number - 1]) else request.after,
                              gap_s=gap_s, start_s=start_s, api_s=request.api_s, agent=agents[-1], tool=request.tool or None))
    return job
