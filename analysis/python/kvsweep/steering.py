"""Order, admission and pins of a kvsweep policy inside vLLM's own scheduler.

    KVSWEEP_POLICY=job_fcfs vllm serve MODEL --scheduler-cls kvsweep.vllm.AsyncScheduler

    KVSWEEP_POLICY      a policy: its name, its file (.toml), or a plugin (.so, .py: policies/plugin/kvsweep_policy.h)
    KVSWEEP_POLICY_SET  "KEY=VALUE KEY=VALUE": values in place of those of its file
    KVSWEEP_POLICIES    libkvsweep_policies.so; otherwise beside the `kvsweep` that PATH finds
    KVSWEEP_POLICY_S    most seconds that the policy may take in one step (0.1)

A request names its job by vllm_xargs: job_id, and is_last_step and tool where they are known; or by the id that kvsweep's client
gives it (JOB-tTURN). A job ROOT/NAME is a subagent of ROOT while that goes on: it has its place in the order, and no admission holds it
back. Where nothing runs and an admission holds back all that wait, the job that is silent for longest loses its place: at once if it
does not say is_last_step, otherwise after a minute. A request that names none is served in order of arrival, whatever the admission. What is decided goes through vLLM's own structures:
`waiting` is a queue in the policy's order that shows only requests that it admits, `priority` says which request is preempted, a pin is a
reference to the blocks of a finished request. A policy that fails or takes too long is left behind, once, with a warning: the scheduler
goes on as the stock one.
"""
import ctypes
import logging
import os
import re
import time

import vllm

from kvsweep.policy_library import PinChange, Setup, Turn, library, seconds_of, settings_of

STRAY = -1
PATIENCE_NS = 60 * 10**9  # for a job that keeps all others waiting
OUR_ID = re.compile(r"(?:cmpl-|chatcmpl-)?(.+)-t(\d+)(?:-\d+)?(?:-[0-9a-f]{8})?")
ENDED_ITSELF = ("FINISHED_STOPPED", "FINISHED_LENGTH_CAPPED", "FINISHED_REPETITION")


def label_of(request):
    """(job, turn or None, is last, tool) that the request names, or None. Is last is None where it does not say."""
    given = getattr(request.sampling_params, "extra_args", None) or {}
    ours = OUR_ID.fullmatch(request.request_id)
    job = given.get("job_id", ours and ours[1])
    if job is None:
        return None
    tool = given.get("tool")  # clients may send lists
    last = given.get("is_last_step")
    if last is not None:
        last = str(last).lower() in ("true", "1")
    return str(job), int(ours[2]) if ours else None, last, str(tool) if tool else None


class Job:
    def __init__(self, number, arrival, root=None):
        self.number, self.arrival, self.root, self.turns, self.tokens = number, arrival, number if root is None else root, 0, 0
        self.seen, self.says_last = arrival, False


class Policy:
    """A policy, told of what happens in a scheduler."""

    def __init__(self, scheduler, name):
        self.functions, folder = library()
        self.scheduler, self.pool, self.name = scheduler, scheduler.kv_cache_manager.block_pool, name
        self.clock, self.began = time.monotonic_ns, time.monotonic_ns()
        self.limit_ns, self.spent_ns = seconds_of(os.environ.get("KVSWEEP_POLICY_S", "0.1")) * 1e9, 0
        self.jobs, self.tools, self.turns, self.requests, self.pins = {}, {}, {}, {}, {}
        self.next_turn = self.next_job = 0
        self.blocked_since = None  # when all that wait were held back with nothing running
        self.free_jobs = []  # numbers of requests that were jobs of their own, and have ended
        self.changes, self.kept = (PinChange * 64)(), []
        setup = Setup(self.pool.num_gpu_blocks - 1, scheduler.block_size)
        error = ctypes.create_string_buffer(1000)
        settings = settings_of(name, os.environ.get("KVSWEEP_POLICY_SET", ""), folder)
        self.handle = self.functions.kvsweep_open(ctypes.byref(setup), settings.encode(), error, len(error))
        if not self.handle:
            raise RuntimeError(f"KVSWEEP_POLICY {name}: {error.value.decode()}")
        self.handle = ctypes.c_void_p(self.handle)
        self.stock, self.queue = scheduler.waiting, Queue(self)
        self.stock_policy = scheduler.policy
        self.preempts_last = bool(self.functions.kvsweep_preempts_last(self.handle))
        scheduler.waiting = self.queue
        scheduler.policy = type(scheduler.policy)("fcfs" if self.preempts_last else "priority")

    def now(self):
        return self.clock() - self.began

    def call(self, function, *arguments):
        """What the function returns, or None where the policy has failed, by this call or before."""
        if self.handle is None:
            return None
        began = time.monotonic_ns()
        result = getattr(self.functions, "kvsweep_" + function)(self.handle, *arguments)
        self.spent_ns += time.monotonic_ns() - began
        if result >= 0 or (function == "front" and result == -1):
            return result
        self.leave(self.functions.kvsweep_message(self.handle).decode(errors="replace"))
        return None

    def leave(self, why):
        """Goes on without the policy."""
        logging.getLogger("vllm.kvsweep").warning("KVSWEEP_POLICY %s is left for vLLM's own order: %s", self.name, why)
        self.functions.kvsweep_close(self.handle)
        self.handle = None
        for job in list(self.pins):
            self.unpin(job)
        for request, turn in ((self.requests[id], turn) for id, turn in self.turns.items()):
            request.priority = turn.priority
        for turn in sorted(self.queue.waiting):
            self.stock.add_request(self.queue.waiting[turn])
        self.scheduler.policy = self.stock_policy

    # What happens to requests.
    def arrive(self, request):
        label, now = label_of(request), self.now()
        number, job = STRAY, None if label is None else self.jobs.get(label[0])
        beside = job is not None and job.number in self.busy()  # a further request of a job at the same time: as a subagent of one turn
        if beside or job is None:
            root = job if beside else self.jobs.get(label[0].rpartition("/")[0]) if label and "/" in label[0] else None
            if self.free_jobs and (beside or label is None):
                id = self.free_jobs.pop()
            else:
                id, self.next_job = self.next_job, self.next_job + 1
            job = Job(id, root.arrival if root else now, root and root.root)
        tool = -1
        if label is not None:
            if not beside:
                self.jobs[label[0]] = job
            job.says_last = label[2] is not None
            number = job.turns if label[1] is None else label[1]
            tool = -1 if label[3] is None else self.tools.setdefault(label[3], len(self.tools))
        turn = Turn(id=self.next_turn, arrival_ns=now, job_arrival_ns=job.arrival, job=job.number, number=number,
                    last=label is None or beside or bool(label[2]), tool=tool, priority=request.priority, prompt_tokens=request.num_prompt_tokens,
                    earlier_tokens=min(job.tokens, request.num_prompt_tokens), max_output_tokens=request.max_tokens)
        self.next_turn += 1
        job.turns += 1
        self.turns[request.request_id] = turn
        self.requests[request.request_id] = request
        self.call("arrive", ctypes.byref(turn), ctypes.c_uint32(job.root))
        return turn.id

    def updated(self, request):
        turn = self.turns[request.request_id]
        turn.output_tokens, turn.computed_tokens = request.num_output_tokens, request.num_computed_tokens
        turn.preemptions = request.num_preemptions
        return turn

    def end(self, request):
        """The request has finished, and is about to release its blocks."""
        if request.request_id not in self.turns:
            return
        turn = self.updated(request)
        aborted = request.status.name not in ENDED_ITSELF
        blocks = self.scheduler.kv_cache_manager.get_blocks(request.request_id).blocks[0]
        self.call("end", ctypes.byref(turn), len(blocks), aborted, ctypes.c_int64(self.now()))
        self.apply_changes(blocks)
        self.queue.waiting.pop(turn.id, None)
        del self.turns[request.request_id], self.requests[request.request_id]
        label = label_of(request)
        job = None if label is None else self.jobs.get(label[0])
        if job is None or job.number != turn.job:
            self.free_jobs.append(turn.job)
        elif aborted or turn.last:
            del self.jobs[label[0]]
        else:
            job.tokens, job.seen = request.num_tokens, self.now()

    def busy(self):
        """Numbers of the jobs with a request that has not ended."""
        return {turn.job for turn in self.turns.values()}

    def free_a_place(self):
        """Ends the job that is silent for longest, where an admission holds back all that wait for those that are silent."""
        now = self.now()
        if self.scheduler.running or not self.queue.waiting or self.queue.front() is not None:
            self.blocked_since = None
            return
        self.blocked_since = now if self.blocked_since is None else self.blocked_since
        late, busy = now - self.blocked_since >= PATIENCE_NS, self.busy()
        silent = [(job.seen, name) for name, job in self.jobs.items()
                  if job.number == job.root and job.number not in busy and (late or not job.says_last)]
        if not silent:
            return
        job = self.jobs.pop(min(silent)[1])
        last = Turn(id=self.next_turn, arrival_ns=now, job_arrival_ns=job.arrival, job=job.number, number=job.turns, last=1, tool=-1)
        self.next_turn, self.blocked_since = self.next_turn + 1, None
        self.call("arrive", ctypes.byref(last), ctypes.c_uint32(job.root))
        self.call("end", ctypes.byref(last), 0, True, ctypes.c_int64(now))

    # Pins.
    def apply_changes(self, ended=()):
        """Makes and ends pins as the policy says; `ended` are the blocks of the request that has just ended."""
        while True:
            count = self.call("pin_changes", self.changes, len(self.changes)) or 0
            for change in self.changes[:count]:
                if change.blocks:
                    self.pins[change.job] = list(ended[:change.blocks])
                    self.pool.touch(self.pins[change.job])
                else:
                    self.unpin(change.job)
            if count < len(self.changes):
                return

    def unpin(self, job):
        self.pool.free_blocks(reversed(self.pins.pop(job)))

    def release_pin(self):
        self.call("release_pin")
        self.apply_changes()

    def make_room_for_one(self):
        """Ends pins that are in the way of the only request that runs."""
        request, size = self.scheduler.running[0], self.scheduler.block_size
        wanted = request.num_tokens_with_spec + request.num_output_placeholders - request.num_computed_tokens
        tokens = request.num_computed_tokens + min(wanted, self.scheduler.max_num_scheduled_tokens)
        held = len(self.scheduler.kv_cache_manager.get_blocks(request.request_id).blocks[0])
        while self.pins and -(-tokens // size) - held > self.pool.get_num_free_blocks():
            self.release_pin()

    def make_room_for_next(self):
        """Ends pins that are in the way of the request to be served next, where none runs."""
        while self.pins and (front := self.queue.front()) is not None:
            request, size = self.queue.waiting[front], self.scheduler.block_size
            hits = []
            for content in request.block_hashes[:(request.num_tokens - 1) // size]:
                found = self.pool.get_cached_block(content, [0])
                if not found:
                    break
                hits += found
            wanted = -(-request.num_tokens // size) - sum(block.ref_cnt > 0 for block in hits)
            if wanted <= self.pool.get_num_free_blocks():
                return
            self.release_pin()

    # Steps.
    def begin_step(self):
        if self.spent_ns > self.limit_ns and self.handle is not None:
            self.leave(f"it took {self.spent_ns / 1e6:.1f} ms of a step, KVSWEEP_POLICY_S allows {self.limit_ns / 1e6:.1f}")
        self.spent_ns, self.queue.shown = 0, None
        self.call("begin_step", ctypes.c_int64(self.now()))
        self.free_a_place()
        self.apply_changes()
        running = self.scheduler.running
        if self.pins and not running:
            self.make_room_for_next()
        elif self.pins and len(running) == 1:
            self.make_room_for_one()
        most_blocks = len(running) + self.scheduler.max_num_scheduled_tokens // self.scheduler.block_size
        if running and not self.preempts_last and self.pool.get_num_free_blocks() < most_blocks:
            self.rank_victims(running)

    def rank_victims(self, running):
        """Gives the request that is to be preempted first the greatest `priority`."""
        known = [request for request in running if request.request_id in self.turns]
        turns, ids = (Turn * len(known))(*(self.updated(request) for request in known)), (ctypes.c_uint64 * len(known))()
        if self.call("victims", turns, len(known), ids) is None:
            return
        by_turn = {turn.id: request for turn, request in zip(turns, known)}
        for place, id in enumerate(ids):
            by_turn[id].priority = len(known) - place


class Queue:
    """vLLM's queue of waiting requests, in a policy's order: a RequestQueue. It is empty, but has a length, where none may be served."""

    def __init__(self, policy):
        self.policy, self.waiting = policy, {}  # by turn
        self.shown = None  # by peek_request(), and not taken yet

    @property
    def stock(self):
        """vLLM's own queue, once the policy has failed."""
        return self.policy.stock if self.policy.handle is None else None

    def front(self):
        id = self.policy.call("front")
        return None if id is None or id < 0 else id

    def add_request(self, request):
        if self.stock is not None:
            return self.stock.add_request(request)
        turn = self.policy.arrive(request)
        self.hold(turn, request)

    def hold(self, turn, request):
        if self.stock is None:
            self.waiting[turn] = request
        else:  # the policy failed just now
            self.stock.add_request(request)

    def peek_request(self):
        front = self.front()
        self.shown = None if self.stock is not None else self.waiting[front]
        return self.stock.peek_request() if self.shown is None else self.shown

    def pop_request(self):
        """The request that peek_request() has shown and that has its blocks by now, also where the policy fails in between."""
        front, shown, self.shown = self.front(), self.shown, None
        if front is not None:
            request = self.waiting.pop(front)
            self.policy.call("take", ctypes.c_uint64(front))
            self.policy.apply_changes()
            return request
        if self.stock is None:
            raise IndexError("pop from an empty queue")
        if shown is None:
            return self.stock.pop_request()
        self.stock.remove_request(shown)
        return shown

    def give_back(self, request, preempted):
        if self.stock is not None:
            return self.stock.prepend_request(request)
        turn = self.policy.updated(request)
        self.policy.call("return", ctypes.byref(turn), preempted)
        self.hold(turn.id, request)

    def prepend_request(self, request):
        self.give_back(request, True)

    def prepend_requests(self, requests):
        for request in requests:
            self.give_back(request, False)

    def remove_request(self, request):
        self.remove_requests([request])

    def remove_requests(self, requests):
        """Those that are about to end: the policy hears of that."""
        if self.stock is not None:
            return self.stock.remove_requests(requests)
        for request in requests:
            turn = self.policy.turns.get(request.request_id)
            self.waiting.pop(turn and turn.id, None)

    def __bool__(self):
        return self.front() is not None if self.stock is None else bool(self.stock)

    def __len__(self):
        """All that wait. Like the engine's, an admission decides about those that it holds back when it is asked after a turn has ended."""
        self.front()
        return len(self.waiting) if self.stock is None else len(self.stock)

    def __iter__(self):
        return iter([self.waiting[turn] for turn in sorted(self.waiting)] if self.stock is None else self.stock)


def require_shape(scheduler):
    """Ends the start of a server with a scheduler that a policy cannot steer."""
    def has(names):
        found = scheduler
        for name in names.split("."):
            found = getattr(found, name, None)
        return found is not None
    lacks = [names for names in ("waiting", "running", "policy", "_free_request", "max_num_scheduled_tokens", "kv_cache_manager.get_blocks",
                                 "kv_cache_manager.block_pool.touch", "kv_cache_manager.block_pool.get_cached_block",
                                 "kv_cache_manager.block_pool.free_blocks",
                                 "kv_cache_manager.block_pool.get_num_free_blocks") if not has(names)]
    queue = next((base for base in type(scheduler.waiting).__mro__ if base.__name__ == "RequestQueue"), None) if has("waiting") else None
    unknown = sorted(getattr(queue, "__abstractmethods__", {"RequestQueue"}) - set(dir(Queue)))
    if lacks or unknown:
        raise RuntimeError(f"kvsweep's policies do not know the scheduler of vLLM {vllm.__version__}: "
                           + "; ".join([f"it lacks {', '.join(lacks)}"] * bool(lacks) + [f"its queue has {', '.join(unknown)}"] * bool(unknown)))
    groups = len(getattr(getattr(scheduler, "kv_cache_config", None), "kv_cache_groups", [None]))
    if groups != 1:
        raise RuntimeError(f"kvsweep's policies know models with one group of KV caches, and this one has {groups}")


class Steered:
    """Follows a policy of kvsweep where KVSWEEP_POLICY names one."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        name = os.environ.get("KVSWEEP_POLICY")
        self.kvsweep_policy = None
        if name:
            require_shape(self)
            self.kvsweep_policy = Policy(self, name)

    def schedule(self, *args, **kwargs):
        if self.kvsweep_policy is not None:
            self.kvsweep_policy.begin_step()
        return super().schedule(*args, **kwargs)

    def _free_request(self, request, *args, **kwargs):
        if self.kvsweep_policy is not None:
            self.kvsweep_policy.end(request)
        return super()._free_request(request, *args, **kwargs)

    def reset_prefix_cache(self, *args, **kwargs):
        while self.kvsweep_policy is not None and self.kvsweep_policy.pins:
            self.kvsweep_policy.release_pin()
        return super().reset_prefix_cache(*args, **kwargs)
