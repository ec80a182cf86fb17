"""What shipped.c decides."""
import collections

from kvsweep_policy import (HELD, KNOWN_TOOL, LAST_TURN, NO_TOOL, QUEUED, RUNNING, SLOW_TOOL, TOOL, UNSEEN_TOOL, Policy)

SECOND = 10**9


class Sum:
    def __init__(self):
        self.total_ns = self.calls = 0

    def add(self, took_ns):
        self.total_ns += took_ns
        self.calls += 1

    def mean_ns(self):
        return self.total_ns // self.calls if self.calls else None


def hold(expected_ns):
    if expected_ns is None:
        return 2 * SECOND, UNSEEN_TOOL
    return (0, SLOW_TOOL) if expected_ns > 2 * SECOND else (2 * SECOND, KNOWN_TOOL)


class Shipped(Policy):
    def __init__(self, setup):
        super().__init__(setup)
        self.pool = setup.num_blocks * setup.block_size
        self.returned = collections.defaultdict(Sum)  # by tool
        self.started = {}  # by job: when its tool began, and which
        self.ended = self.ended_tokens = self.ended_turns = 0

    def on_arrival(self, turn):
        started, tool = self.started.pop(turn.job, (0, -1))
        if tool >= 0 and turn.arrival_ns > started:
            self.returned[tool].add(turn.arrival_ns - started)

    def on_turn_end(self, turn, now_ns):
        self.started[turn.job] = (now_ns, -1 if turn.last else turn.tool)

    def retain(self, turn, now_ns):
        if turn.last or turn.tool < 0:
            return None, LAST_TURN if turn.last else NO_TOOL
        ttl, reason = hold(self.returned[turn.tool].mean_ns())
        return ttl or None, reason

    def admit(self, programs, timer, now_ns):
        turns = self.ended_turns + sum(each.turns for each in programs)
        growth = (self.ended_tokens + sum(each.tokens for each in programs)) / turns if turns else 0
        admitted = {each.root for each in programs if each.admitted}
        present = [each for each in programs if each.admitted or each.phase in (QUEUED, RUNNING)]
        expected = sum(each.tokens + growth for each in present)
        for each in programs:
            if each.phase != HELD or expected + (each.tokens + growth) > 0.9 * self.pool:
                break
            admitted.add(each.root)
            expected += each.tokens + growth
        tokens = sum(each.tokens for each in programs if each.root in admitted or each.phase in (QUEUED, RUNNING))
        for each in reversed(programs):
            if tokens > self.pool and each.root in admitted and each.phase == TOOL:
                admitted.remove(each.root)
                tokens -= each.tokens
        return admitted

    def on_program_end(self, program):
        self.ended += 1
        self.ended_tokens += program.tokens
        self.ended_turns += program.turns
