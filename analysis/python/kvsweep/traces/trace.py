"""Jobs and turns as docs/traces.md has them, and the file that holds them."""
import contextlib
import gzip
import json
import numbers
import os
import tempfile
from dataclasses import dataclass, field

VERSION = 1
MOST_TOKENS = 1 << 26
LATEST_S = 1e9
MOST_BYTES = 30 << 20
MOST_KINDS, MOST_REASONS = 200, 20
MOST_NAME = 200
LABELS = ("system", "user", "assistant", "tool_call", "tool_result", "role", "synthesized")


class Refused(Exception):
    """What cannot be converted: a row, which is counted and left out, or the whole file."""


@dataclass
class Turn:
    """One request and its answer. A segment is (id, tokens) or (id, tokens, label); the id None is equal to no other."""
    prompt: list
    answer: list
    extends: object = None     # turn k with its answer, or (k, tokens)
    after: list = None         # None: the turn before
    gap_s: float = None
    start_s: float = None      # from the job's arrival
    api_s: float = None
    agent: str = None
    tool: str = None


@dataclass
class Job:
    name: str
    turns: list = field(default_factory=list)
    arrival_s: float = None
    place: str = None          # where it was read


def lengths(job):
    """Tokens of each turn's prompt and answer. Refuses what the format does not have."""
    if not job.turns:
        raise Refused("has no answer")
    found = []
    for number, turn in enumerate(job.turns):
        prompt, answer = (sum(_tokens(segment, number) for segment in segments) for segments in (turn.prompt, turn.answer))
        if turn.extends is not None:
            if type(turn.extends) is not int and not (isinstance(turn.extends, (list, tuple)) and [type(each) for each in turn.extends] == [int, int]):
                raise Refused(f"turn {number} extends {turn.extends!r}; allowed: the number of a turn, or (number, tokens)")
            base = turn.extends if isinstance(turn.extends, int) else turn.extends[0]
            if not 0 <= base < number:
                raise Refused(f"turn {number} extends {base}, which is no turn before it")
            known = sum(found[base])
            shared = known if isinstance(turn.extends, int) else turn.extends[1]
            if not 0 <= shared <= known:
                raise Refused(f"turn {number} extends {shared} tokens of turn {base}; allowed: from 0 to {known}, its prompt and answer")
            prompt += shared
        for wait in turn.after or ():
            if type(wait) is not int or not 0 <= wait < number:
                raise Refused(f"turn {number} waits for {wait!r}, which is no turn before it")
        if not (prompt >= 1 and answer >= 1 and prompt + answer <= MOST_TOKENS):
            raise Refused(f"turn {number} has {prompt} tokens of prompt and {answer} of answer; allowed: from 1 each to {MOST_TOKENS} together")
        for name in ("gap_s", "start_s", "api_s"):
            _check_seconds(f"turn {number}: {name}", getattr(turn, name))
        found.append((prompt, answer))
    _check_seconds("arrival_s", job.arrival_s, 1e10)   # it may count from 1970
    return found


def _tokens(segment, turn):
    name, tokens, label = (*segment, "user")[:3]
    if type(tokens) is not int or tokens < 0:
        raise Refused(f"turn {turn} has a segment of {tokens!r} tokens; allowed: a whole number from 0")
    if label not in LABELS:
        raise Refused(f"turn {turn} has a segment with the label {label!r}; allowed: {', '.join(LABELS)}")
    if name is not None and not (type(name) is int and 0 <= name < 1 << 63) and not (type(name) is str and 1 <= len(name.encode()) <= MOST_NAME):
        raise Refused(f"turn {turn} has a segment with the id {str(name)[:40]!r}; allowed: a text of 1 to {MOST_NAME} bytes, a whole number from 0, or None")
    return tokens


def _check_seconds(what, value, most=LATEST_S):
    if value is not None and (not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= value <= most):
        raise Refused(f"{what} is {value!r}; allowed: seconds from 0 to {most:g}")


class Notes:
    """What the first line says: what was left out and why, what was assumed."""

    def __init__(self, strict=False):
        self.strict = strict
        self.left_out = {}   # (what, why): {"count": ..., "tokens": ..., "first": [places]}
        self.counted = {}    # sentence behind a number: the number

    def leave_out(self, what, why, tokens=0, place=None, count=1):
        if (what, why) not in self.left_out and sum(known == what for known, _ in self.left_out) >= MOST_REASONS:
            why = "for further reasons"
        if (what, why) not in self.left_out and len(self.left_out) >= MOST_KINDS:
            what, why = "things of further kinds", "for further reasons"
        entry = self.left_out.setdefault((what, why), {"count": 0, "tokens": 0, "first": []})
        entry["count"] += count
        entry["tokens"] += tokens
        if place and len(entry["first"]) < 3:
            entry["first"].append(str(place))

    def assume(self, sentence, count=0):
        """With a count, the sentence begins with the number of times."""
        self.counted[sentence] = self.counted.get(sentence, 0) + count

    def assumed(self):
        return [f"{count} {sentence}" if count else sentence for sentence, count in self.counted.items()]

    @contextlib.contextmanager
    def reading(self, row):
        """`with notes.reading(row):` counts a row that cannot be read, and goes on. `row` has a place, or is one."""
        place = getattr(row, "place", row)
        try:
            yield
        except (Refused, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, AssertionError, RecursionError) as problem:
            why = f"has no {problem.args[0]}" if isinstance(problem, KeyError) else str(problem)[:200] or type(problem).__name__
            if self.strict:
                raise Refused(f"{place}: {why}") from problem
            self.leave_out("rows that cannot be read", why, place=place)

    def lines(self):
        return [{"what": what, "why": why, **{key: value for key, value in entry.items() if value}} for (what, why), entry in self.left_out.items()]


class TraceFile:
    """Writes jobs as they come; the first line, which counts them, is put in front at the end."""

    def __init__(self, path):
        self.path = str(path)
        self.counts = dict.fromkeys(("jobs", "turns", "prompt_tokens", "answer_tokens", "arrivals", "gaps", "starts"), 0)
        self.names = {}   # how often each occurred
        self.arrivals, self.first_s = [], None
        self.spool = tempfile.TemporaryFile("w+", encoding="utf-8", dir=os.path.dirname(os.path.abspath(self.path)))

    def add(self, job):
        """A name that is taken gets a number."""
        found = lengths(job)
        if None not in (self.first_s, job.arrival_s) and abs(job.arrival_s - self.first_s) > LATEST_S / 2:
            raise Refused(f"arrives {float(abs(job.arrival_s - self.first_s)):.0f} s from the first job: its time is of another clock")
        turns = _json([_turn_line(turn) for turn in job.turns])
        if len(turns) > MOST_BYTES:
            raise Refused(f"is a job of {len(turns)} bytes; allowed: {MOST_BYTES}")
        name = plain = _name(job.name)
        while name in self.names:
            self.names[plain] += 1
            name = f"{plain}#{self.names[plain]}"
        self.names[name] = 1
        self.arrivals.append(job.arrival_s)
        self.first_s = job.arrival_s if self.first_s is None else self.first_s
        self.spool.write(f"{_json(name)}\t{turns}\n")
        counts = self.counts
        counts["jobs"] += 1
        counts["turns"] += len(job.turns)
        counts["prompt_tokens"] += sum(prompt for prompt, _ in found)
        counts["answer_tokens"] += sum(answer for _, answer in found)
        counts["arrivals"] += job.arrival_s is not None
        counts["gaps"] += sum(turn.gap_s is not None for turn in job.turns)
        counts["starts"] += sum(turn.start_s is not None for turn in job.turns)

    def finish(self, head, notes):
        """Puts the file in place, whole or not at all."""
        if 0 < self.counts["arrivals"] < self.counts["jobs"]:
            notes.assume("jobs have no time of arrival, as others have one: jobs arrive by a rate (jps)", self.counts["jobs"] - self.counts["arrivals"])
        first = {"kvsweep_trace": VERSION, **head, "counts": self.counts, "left_out": notes.lines(), "assumed": notes.assumed()}
        partial = f"{self.path}.partial"
        try:
            with open(partial, "wb") as file, gzip.GzipFile("", "wb", 6, file, 0) if self.path.endswith(".gz") else file as out:
                out.write((json.dumps(first, ensure_ascii=False) + "\n").encode())
                self._copy(out)
            os.replace(partial, self.path)
        finally:
            self.spool.close()
            if os.path.exists(partial):
                os.remove(partial)
        return first

    def _copy(self, out):
        """Arrivals count from the first one."""
        origin = min((arrival for arrival in self.arrivals if arrival is not None), default=0)
        self.spool.seek(0)
        for line, arrival in zip(self.spool, self.arrivals):
            name, _, turns = line.partition("\t")
            arrived = f'"arrival_s":{_json(_short(arrival - origin))},' if arrival is not None else ""
            out.write(f'{{"job":{name},{arrived}"turns":{turns[:-1]}}}\n'.encode())


def _name(value):
    """Within the 200 bytes that the format allows, with room for a number."""
    return str(value).encode(errors="replace")[:180].decode(errors="ignore")


def _json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _turn_line(turn):
    line = {}
    if turn.extends is not None and (isinstance(turn.extends, int) or turn.extends[1]):
        line["extends"] = turn.extends
    if turn.after is not None:
        line["after"] = turn.after
    for name in ("gap_s", "start_s", "api_s"):
        if getattr(turn, name) is not None:
            line[name] = _short(getattr(turn, name))
    for name in ("agent", "tool"):
        if getattr(turn, name):
            line[name] = _name(getattr(turn, name))
    line["prompt"], line["answer"] = ([segment for segment in segments if segment[1]] for segments in (turn.prompt, turn.answer))
    return line


def _short(seconds):
    """Whole nanoseconds, without a needless fraction."""
    rounded = round(seconds, 9)
    return int(rounded) if rounded == int(rounded) else float(rounded)
