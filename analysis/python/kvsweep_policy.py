"""A policy for kvsweep as a Python class, to try an idea before it is written in C or C++.

A sweep names the file, which defines one subclass of Policy:

    [axes]
    "policy.plugin" = ["mine.py"]
    "policy.order" = ["fcfs", "plugin"]

    from kvsweep_policy import Policy

    class Mine(Policy):
        def rank_turn(self, waiting, now_ns):
            return waiting.turn.prompt_tokens - waiting.turn.earlier_tokens

The methods that the class defines are what it offers; they are those of workers/policies/plugin/kvsweep_policy.h, which says when
each is called and what it may answer. kvsweep runs the file by `python3` in a process of its own, one a cell, and needs nothing but the
standard library; what the class prints goes to standard error. All times are whole nanoseconds. An exception fails the cell.
"""
import functools
import hashlib
import importlib.util
import os
import select
import socket
import struct
import sys
import threading
from typing import NamedTuple


class Setup(NamedTuple):
    """The pool of KV on the GPU (blocks numbered from 1, and the tokens of each), and policy.plugin_value_1 to _4 of the sweep."""

    num_blocks: int
    block_size: int
    values: tuple = (0.0, 0.0, 0.0, 0.0)


class Turn(NamedTuple):
    """One LLM call of a job."""

    id: int
    arrival_ns: int
    job_arrival_ns: int
    job: int
    number: int
    last: int
    tool: int
    priority: int
    prompt_tokens: int
    earlier_tokens: int
    output_tokens: int
    max_output_tokens: int
    computed_tokens: int
    preemptions: int
    pinned: int


class Waiting(NamedTuple):
    """A turn that joins the queue, as the `joined`th; `again`: 1 where it comes back."""

    turn: Turn
    joined: int
    again: int


class Program(NamedTuple):
    """A job with its subagents, which has arrived and is not over."""

    since_ns: int
    root: int
    phase: int
    tokens: int
    turns: int
    admitted: int


HELD, QUEUED, RUNNING, TOOL = range(4)  # phases of a program
SWAP = "swap"  # an answer of retain()
(NO_REASON, KNOWN_TOOL, UNSEEN_TOOL, SLOW_TOOL, NO_TOOL, LAST_TURN, COLD_START, UTILITY, RENT, WASTE) = range(10)


class Policy:
    """What a policy may define. Those of these methods that it leaves out it does not offer."""

    rank_each_step = False  # rank_turn is asked of each waiting turn at the start of each step
    admission_period_ns = 0  # above 0: admit is asked that often, too
    admission_may_idle = False  # all turns may be held back while nothing runs

    def __init__(self, setup):
        self.setup = setup

    def on_arrival(self, turn): ...
    def on_turn_end(self, turn, now_ns): ...

    def rank_turn(self, waiting, now_ns):
        """policy.order: the turn of least rank is served next."""

    def choose_victim(self, running):
        """policy.order: the id of the turn to preempt, of those that run in order of their admission."""

    def admit(self, programs, timer, now_ns):
        """policy.admission: the roots of the programs that are admitted."""

    def on_program_end(self, program): ...

    def retain(self, turn, now_ns):
        """policy.retention: None, SWAP, or how long the turn's KV is pinned; or a pair of that and a reason."""

    def rank_block(self, block, now_ns):
        """policy.eviction: the block of least rank leaves first; or a pair of the rank and when it ends."""

    def on_computed(self, turn, position, block): ...
    def on_hit(self, turn, position, block): ...
    def on_released(self, turn, finished, blocks, now_ns): ...
    def on_freed(self, block): ...
    def on_used(self, block): ...
    def on_evicted(self, block): ...


# ---- The other end of the pipe is workers/policies/plugin/python.cpp: a message is the number of a function, the bytes that follow,
# ---- and these; an answer is 1 (or 0, of an error), the bytes that follow, and these. Numbers of functions count this list.
FUNCTIONS = ("create on_arrival on_turn_end rank_turn choose_victim admit on_program_end retain rank_block on_computed on_hit on_released "
             "on_freed on_used on_evicted").split()
NEVER = 2**63 - 1


@functools.lru_cache(maxsize=None)
def layout(text):
    return struct.Struct("=" + text)


TURN, WAITING, PROGRAM = layout("Qqq12i"), layout("Qqq12iQi4x"), layout("q5i4x")
INT, U64, F64, TIME = layout("i"), layout("Q"), layout("d"), layout("q")


def turn_at(data, at=0):
    return Turn._make(TURN.unpack_from(data, at))


def with_reason(answer):
    return answer if isinstance(answer, tuple) else (answer, NO_REASON)


class Calls:
    """The policy's methods as the messages call them: each takes the bytes of a message and returns those of the answer, if any."""

    def __init__(self, policy):
        self.policy = policy

    def on_arrival(self, data):
        self.policy.on_arrival(turn_at(data))

    def on_turn_end(self, data):
        self.policy.on_turn_end(turn_at(data), TIME.unpack_from(data, TURN.size)[0])

    def rank_turn(self, data):
        values = WAITING.unpack_from(data)
        now = TIME.unpack_from(data, WAITING.size)[0]
        return F64.pack(self.policy.rank_turn(Waiting(Turn._make(values[:15]), *values[15:]), now))

    def choose_victim(self, data):
        return U64.pack(self.policy.choose_victim([Turn._make(each) for each in TURN.iter_unpack(data)]))

    def admit(self, data):
        timer, now = layout("iq").unpack_from(data)
        programs = [Program._make(each) for each in PROGRAM.iter_unpack(data[12:])]
        admitted = set(self.policy.admit(programs, bool(timer), now))
        unknown = admitted - {each.root for each in programs}
        if unknown:
            raise ValueError(f"admit: no program has the root {min(unknown)}")
        return b"".join(INT.pack(each.root in admitted) for each in programs)

    def on_program_end(self, data):
        self.policy.on_program_end(Program._make(PROGRAM.unpack_from(data)))

    def retain(self, data):
        answer, reason = with_reason(self.policy.retain(turn_at(data), TIME.unpack_from(data, TURN.size)[0]))
        action = 0 if answer is None else 2 if answer == SWAP else 1
        return layout("qii").pack(answer if action == 1 else 0, action, reason)

    def rank_block(self, data):
        answer = self.policy.rank_block(*layout("Iq").unpack_from(data))
        rank, until = answer if isinstance(answer, tuple) else (answer, NEVER)
        return layout("dq").pack(rank, until)

    def on_computed(self, data):
        self.policy.on_computed(turn_at(data), *layout("iI").unpack_from(data, TURN.size))

    def on_hit(self, data):
        self.policy.on_hit(turn_at(data), *layout("iI").unpack_from(data, TURN.size))

    def on_released(self, data):
        finished, now = layout("iq").unpack_from(data, TURN.size)
        rest = data[TURN.size + 12:]
        self.policy.on_released(turn_at(data), bool(finished), struct.unpack(f"={len(rest) // 4}I", rest), now)


def told_of_block(name):
    return lambda calls, data: getattr(calls.policy, name)(*layout("I").unpack_from(data))


for each_name in ("on_freed", "on_used", "on_evicted"):
    setattr(Calls, each_name, told_of_block(each_name))


def policy_class(path):
    """The one subclass of Policy that the file defines."""
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("kvsweep_plugin", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [each for each in vars(module).values()
             if isinstance(each, type) and issubclass(each, Policy) and each.__module__ == module.__name__]
    if len(found) != 1:
        raise TypeError(f"defines {len(found)} subclasses of kvsweep_policy.Policy, must define one")
    return found[0]


def digest_of_imports(path):
    """SHA-256 of the files below the plugin's folder that it has imported, by name and content; blanks where there are none."""
    folder = os.path.join(os.path.dirname(path), "")
    files = {getattr(module, "__file__", None) for module in sys.modules.values()}
    files = sorted(each for each in files if each and each.startswith(folder) and os.path.isfile(each))
    digest = hashlib.sha256()
    for each in files:
        with open(each, "rb") as file:
            content = file.read()
        digest.update(b"%s %d\n" % (os.fsencode(os.path.relpath(each, folder)), len(content)) + content)
    return (digest.hexdigest() if files else " " * 64).encode()


def offers(policy, path):
    """What the other end must know of the class: which functions it has, its settings, and what it imports."""
    has = bytes(getattr(policy, name) is not getattr(Policy, name) for name in FUNCTIONS[1:])
    return layout("iqi").pack(bool(policy.rank_each_step), policy.admission_period_ns, bool(policy.admission_may_idle)) + has + digest_of_imports(path)


def leave_with(channel):
    """Ends this process when the other end does, even while a method runs."""

    def wait():
        poll = select.poll()
        poll.register(channel, 0)  # nothing but its end
        poll.poll()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def answer_calls(policy, channel):
    stream = channel.makefile("rb", buffering=1 << 16)
    functions = [getattr(Calls(None), name, None) for name in FUNCTIONS]
    while head := stream.read(8):
        number, size = struct.unpack("=II", head)
        data = stream.read(size)
        if number == 0:
            blocks, size_of_block, *values = layout("ii4d").unpack(data)
            calls = Calls(policy(Setup(blocks, size_of_block, tuple(values))))
            functions = [getattr(calls, name, None) for name in FUNCTIONS]
            continue
        answer = functions[number](data)
        if answer is not None:
            channel.sendall(struct.pack("=II", 1, len(answer)) + answer)


def serve(path):
    """Answers kvsweep's calls of the policy in this file, over the socket that is descriptor 3."""
    path = os.path.abspath(path)
    channel = socket.socket(fileno=3)
    leave_with(channel)
    sys.stdout = sys.stderr
    try:
        policy = policy_class(path)
        words = offers(policy, path)
        channel.sendall(struct.pack("=II", 1, len(words)) + words)
        answer_calls(policy, channel)
    except Exception as error:  # the other end reports it as the reason why the cell failed
        import traceback

        at = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == path][-1:]
        where = f" (line {at[0].lineno})" if at else ""
        text = f"{type(error).__name__}: {error}{where}".encode()
        channel.sendall(struct.pack("=II", 0, len(text)) + text)
