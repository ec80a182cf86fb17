"""Stand-ins for the structures of vLLM that kvsweep's policies work on."""
import abc
import collections
import contextlib
import enum
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "farm"), os.path.join(HERE, "..", "..", "analysis", "python")]
sys.modules["vllm"] = types.SimpleNamespace(__version__="0.33.0")
import kvsweep.steering as ours

if "KVSWEEP_PROGRAM" not in os.environ:
    sys.exit("SKIPPED: KVSWEEP_PROGRAM does not name a kvsweep")
LIBRARY = os.path.join(os.path.dirname(os.environ["KVSWEEP_PROGRAM"]), "libkvsweep_policies.so")
FAILS = """from kvsweep_policy import Policy
class Fails(Policy):
    def __init__(self, setup):
        super().__init__(setup)
        self.asked = 0
    def rank_turn(self, waiting, now_ns):
        self.asked += 1
        return -waiting.joined if self.asked < 3 else 1 / 0
"""
SLOW = FAILS.replace("1 / 0", "__import__('time').sleep(0.2) or 0.0")


class RequestQueue(abc.ABC):
    """vLLM's, as far as it says what a queue must have."""


names = ["__bool__", "__iter__", "__len__", "add_request", "peek_request", "pop_request", "prepend_request", "prepend_requests",
         "remove_request", "remove_requests"]
RequestQueue.__abstractmethods__ = frozenset(names)


class Fcfs(collections.deque, RequestQueue):
    add_request, pop_request, prepend_request = collections.deque.append, collections.deque.popleft, collections.deque.appendleft

    def peek_request(self):
        return self[0]

    def remove_request(self, request):
        self.remove(request)


Fcfs.__abstractmethods__ = frozenset()
Order = enum.Enum("Order", {"FCFS": "fcfs", "PRIORITY": "priority"})


class Pool:
    """Blocks by their number, of which references are counted."""
    num_gpu_blocks = 101

    def __init__(self):
        self.held, self.free = collections.Counter(), 100

    def touch(self, blocks):
        self.held.update(blocks)

    def free_blocks(self, blocks):
        self.held.subtract(blocks)

    def get_num_free_blocks(self):
        return self.free

    def get_cached_block(self, content, groups):
        return None


class Scheduler:
    """What the stock one does to its queue, without blocks."""

    def __init__(self):
        self.waiting, self.running, self.policy, self.block_size, self.max_num_scheduled_tokens = Fcfs(), [], Order.FCFS, 16, 512
        self.blocks = {}
        pool = Pool()
        self.kv_cache_manager = types.SimpleNamespace(
            block_pool=pool, get_blocks=lambda id: types.SimpleNamespace(blocks=[self.blocks.get(id, [])]))

    def schedule(self):
        return None

    def _free_request(self, request):
        return None

    def reset_prefix_cache(self):
        return not +self.kv_cache_manager.block_pool.held


class Steered(ours.Steered, Scheduler):
    """A scheduler with a policy, and verbs for what happens in it."""

    def add(self, id, tokens=32, now_s=0.0, **xargs):
        self.at(now_s)
        request = types.SimpleNamespace(
            request_id=id, sampling_params=types.SimpleNamespace(extra_args=xargs), priority=0, num_prompt_tokens=tokens, max_tokens=8,
            num_output_tokens=0, num_computed_tokens=0, num_preemptions=0, num_tokens=tokens, block_hashes=[],
            status=types.SimpleNamespace(name="FINISHED_LENGTH_CAPPED"))
        self.waiting.add_request(request)
        return request

    def at(self, now_s):
        if self.kvsweep_policy is not None:
            self.kvsweep_policy.clock, self.kvsweep_policy.began = lambda: int(now_s * 1e9), 0

    def step(self, now_s=0.0):
        self.at(now_s)
        self.schedule()

    def serve(self):
        """Takes all requests that may be served."""
        while self.waiting:
            self.running.append(self.waiting.pop_request())
        return [request.request_id for request in self.running]

    def end(self, request, blocks=(), now_s=0.0):
        self.at(now_s)
        self.blocks[request.request_id] = list(blocks)
        self.running.remove(request)
        self._free_request(request)

    @property
    def held(self):
        return sorted(+self.kv_cache_manager.block_pool.held)


@contextlib.contextmanager
def environment(**given):
    os.environ.update(given)
    yield
    for name in given:
        del os.environ[name]


def steered(policy, changes="", limit_s="1e6", cls=Steered, **more):
    with environment(KVSWEEP_POLICY=policy, KVSWEEP_POLICY_SET=changes, KVSWEEP_POLICIES=LIBRARY, KVSWEEP_POLICY_S=limit_s, **more):
        return cls()


def refusal(*arguments, **options):
    try:
        steered(*arguments, **options)
    except RuntimeError as error:
        return str(error)
    return "accepted"
