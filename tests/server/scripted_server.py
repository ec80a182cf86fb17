#!/usr/bin/env python3
"""A scripted stand-in for inference servers: it replays the wire formats of vLLM, SGLang, llama-server and the OpenAI API as
their projects document them, and fails as it is told. It computes nothing. It is not any of these servers.

  scripted_server.py --port P --kind vllm|sglang|llamacpp|openai [--fault NAME --after TURNS] [--once FILE]

With --once the fault happens only while FILE does not exist, and creates it.
"""
import argparse, json, os, socket, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ap = argparse.ArgumentParser()
ap.add_argument("--port", type=int, required=True)
ap.add_argument("--kind", default="openai")
ap.add_argument("--fault", default="")
ap.add_argument("--after", type=int, default=0)
ap.add_argument("--once")
ap.add_argument("--version", default="0.30.0")
ap.add_argument("--version-file")                 # the version stands there
ap.add_argument("--model", default="m")
ap.add_argument("--yield-port")                   # FIFO, while it is there: tell it the port, and never listen
ap.add_argument("--tell-hang")                    # FIFO: opened by a request that hangs
ap.add_argument("--logits-processors", default="")
ap.add_argument("--scheduling-policy", default="fcfs")
ap.add_argument("--scheduler-cls", default="")     # a class that writes steps to the file KVSWEEP_STEPS
ap.add_argument("--no-async-scheduling", action="store_true")
ap.add_argument("--num-gpu-blocks-override", "--max-total-tokens", dest="pool", type=int, default=4096)
ap.add_argument("--block-size", "--page-size", dest="block_size", type=int, default=16)
ap.add_argument("--max-num-seqs", "--max-running-requests", dest="max_seqs", type=int, default=256)
ap.add_argument("--max-num-batched-tokens", "--chunked-prefill-size", dest="budget", type=int, default=2048)
ap.add_argument("--max-model-len", "--context-length", dest="max_len", type=int, default=16384)
ap.add_argument("--wanted")                       # the header Authorization that turns must have, "+" for a space
ap.add_argument("--requests")                     # file for the bodies of turns, one a line
a = ap.parse_args()
if a.version_file:
    with open(a.version_file) as file:
        a.version = file.read().strip()
if a.fault == "pool":                             # less memory than it was told to take
    a.pool -= a.block_size
BLOCK, WARM_UP = 16, 6                            # turns that the client sends before a cell
ENDLESS = {name: (b"%x\r\n%s\r\n" % (len(data), data), pause) for name, data, pause in (
    ("pings", b": ping\n\n", 0.05), ("blanks", b'data: {"choices":[{"text":"","finish_reason":null}]}\n\n', 0.05),
    ("roles", b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n', 0.05),
    ("tokens", b'data: {"choices":[{"text":"x","token_ids":[7]}]}\n\n', 0), ("line", b"data: " + b"x" * 65536, 0))}
lock, turns, running, cached, hits, computed = threading.Lock(), 0, 0, set(), 0, 0


def faulty(name):
    if a.fault != name or turns <= WARM_UP + a.after:
        return False
    if a.once:
        if os.path.exists(a.once):
            return False
        open(a.once, "w").close()
    return True


def prefix_hit(ids):
    """Tokens of the prompt in whole cached blocks, never all of it."""
    global hits, computed
    with lock:
        n = 0
        while n + BLOCK < len(ids) and tuple(ids[:n + BLOCK]) in cached:
            n += BLOCK
        for end in range(BLOCK, len(ids) + 1, BLOCK):
            cached.add(tuple(ids[:end]))
        hits, computed = hits + n, computed + len(ids) - n
        return n


class Steps:
    """A log of steps as kvsweep.vllm writes it, of a server that computes one request at a time."""

    def __init__(self):
        path = os.environ.get("KVSWEEP_STEPS")
        self.file = open(path, "a") if path and a.scheduler_cls and a.fault != "no-steps" else None
        self.requests, self.cut = 0, False
        self.write({"kvsweep_steps": 2 if a.fault == "old-steps" else 3, "vllm": a.version, "async": not a.no_async_scheduling, "block_size": BLOCK})

    def write(self, line):
        if self.file is None or self.cut:
            return
        deep = self.requests > 0 and faulty("deep-steps")
        self.cut = self.requests > 0 and faulty("cut-steps")
        text = json.dumps({**line, "t": time.monotonic()}, separators=(",", ":")) + "\n"
        self.file.write('{"run":' + "[" * 100000 + "]" * 100000 + "}\n" if deep else text[:len(text) // 2] if self.cut else text)
        self.file.flush()

    def begin(self, id, prompt, hit):
        with lock:
            number, self.requests = self.requests, self.requests + 1
            computed = prompt - hit
            self.write({"ids": {number: f"cmpl-{id}-0-{number:08x}"}, "batch": [number if computed == 1 else [number, computed]],
                        "tokens": computed, "new": [[number, hit, 0]], "run": running, "wait": 0, "plan_us": 7})
        return number

    def decode(self, number):
        with lock:
            self.write({"batch": [number], "tokens": 1, "run": running, "wait": 0, "plan_us": 7})

    def end(self, number):
        with lock:
            if running == 1 and not a.no_async_scheduling:
                self.write({"run": 1, "wait": 0})
            self.write({"finished": [number], "run": running - 1, "wait": 0})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/health":
            return self.answer(200, "")
        if path == "/v1/models":
            return self.answer(200, {"object": "list", "data": [{"id": a.model, "object": "model", "max_model_len": a.max_len}]})
        if path == "/version" and a.kind == "vllm":
            return self.answer(200, {"version": a.version})
        if path == "/get_server_info" and a.kind == "sglang":
            return self.answer(200, {"version": a.version, "max_total_num_tokens": a.pool, "page_size": a.block_size,
                                     "max_running_requests": a.max_seqs, "chunked_prefill_size": a.budget, "context_length": a.max_len})
        if path == "/get_model_info" and a.kind == "sglang":
            return self.answer(200, {"model_path": a.model})
        if path == "/metrics":
            return self.metrics()
        self.answer(404, {"error": {"message": "not found"}})

    def metrics(self):
        if a.kind == "vllm":
            name = "vllm:kv_cache_usage" if a.fault == "metrics" else "vllm:kv_cache_usage_perc"
            return self.answer(200, f"""# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="m"}} {running}
vllm:num_requests_waiting{{engine="0",model_name="m"}} 0.0
vllm:cache_config_info{{block_size="{a.block_size}",cache_dtype="auto",num_gpu_blocks_override="None",num_gpu_blocks="{a.pool}",engine="0"}} 1.0
{name}{{engine="0",model_name="m"}} 0.25
vllm:num_preemptions_total{{engine="0",model_name="m"}} {3.0 if turns <= WARM_UP or a.fault != "counters" else 1.0}
vllm:prompt_tokens_by_source_total{{engine="0",model_name="m",source="local_compute"}} {computed}
vllm:prompt_tokens_by_source_total{{engine="0",model_name="m",source="local_cache_hit"}} {hits}
vllm:iteration_tokens_total_count{{engine="0",model_name="m"}} {turns if turns <= WARM_UP or a.fault != "counters" else 1e30}
""", "text/plain")
        if a.kind == "sglang":
            return self.answer(200, f"""sglang:num_running_reqs{{model_name="m"}} {running}
sglang:num_queue_reqs{{model_name="m"}} 0.0
sglang:token_usage{{model_name="m"}} 0.5
sglang:cached_tokens_total{{cache_source="device",model_name="m"}} {hits}
""", "text/plain")
        self.answer(404, {"error": {"message": "not found"}})

    def do_POST(self):
        global turns, running
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        if path in ("/reset_prefix_cache", "/flush_cache"):
            if a.fault != "reset":
                cached.clear()
            return self.answer(200, "")
        routes = {"sglang": "/generate"}
        if path != routes.get(a.kind, "/v1/completions"):
            return self.answer(404, {"error": {"message": "not found"}})
        with lock:
            turns += 1
            running += 1
        try:
            if a.requests:
                with lock, open(a.requests, "a") as file:
                    file.write(body.decode() + "\n")
            self.turn(json.loads(body))
        finally:
            with lock:
                running -= 1

    def turn(self, body):
        if a.wanted and self.headers.get("Authorization") != a.wanted.replace("+", " "):
            return self.answer(401, {"error": {"message": "wrong key " + str(self.headers.get("Authorization"))}})
        if a.fault == "no-options" and "stream_options" in body:
            return self.answer(400, {"error": {"message": "stream_options is not permitted"}})
        if faulty("endless-headers"):
            return self.forever(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"a" * 4096 + b"\r\n")
        if faulty("endless-error"):
            return self.forever(b"HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n", b"E" * 4096)
        if faulty("400"):
            return self.answer(400, {"error": {"message": "maximum context length exceeded", "code": 400}})
        if faulty("503"):
            return self.answer(503, {"error": {"message": "queue is full", "code": 503}})
        if faulty("die"):
            print("CUDA error: out of memory", flush=True)
            os._exit(9)
        if faulty("hang"):
            if a.tell_hang:
                open(a.tell_hang, "w").close()
            return time.sleep(1000)
        if faulty("json"):
            return self.answer(200, {"error": {"message": "model is not loaded"}})
        if faulty("html"):
            return self.answer(200, "<html>proxy\x1b login</html>", "text/html")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        if faulty("gzip"):
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        events = self.sglang(body) if a.kind == "sglang" else self.completions(body)
        for number, event in enumerate(events):
            if number == 3 and faulty("stop"):
                break
            if number == 3 and faulty("cut"):
                return self.connection.shutdown(socket.SHUT_RDWR)
            if number == 3 and faulty("stall"):
                time.sleep(1000)
            if number == 3 and a.fault in ENDLESS and faulty(a.fault):
                return self.forever(b"", *ENDLESS[a.fault])
            if number == 3 and faulty("deep"):
                event = '{"choices":' + "[" * 300 + "]" * 300 + "}"
            if event == "[DONE]" and faulty("open"):
                break
            if number == 3 and faulty("error"):
                self.chunk('data: {"error":{"code":500,"message":"engine is dead","type":"server_error"}}\n\n')
                break
            if number == 3 and faulty("garbage"):
                event = "<html>"
            if number == 3 and faulty("error-event"):
                return self.chunk('event: error\ndata: {"message":"boom"}\n\n')
            if event == "[DONE]" and a.fault == "endless":
                self.chunk("data: [DONE]\n\n")
                return self.forever(b"", *ENDLESS["pings"])
            self.chunk("data: " + (event if isinstance(event, str) else json.dumps(event)) + "\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def forever(self, head, piece, pause=0):
        """Until the client goes away."""
        self.close_connection = True
        try:
            self.wfile.write(head)
            while True:
                self.wfile.write(piece)
                time.sleep(pause)
        except OSError:
            pass

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def completions(self, body):
        """vLLM's and OpenAI's /v1/completions: usage in a last event without choices, then [DONE]."""
        ids, n = body["prompt"], body["max_tokens"]
        hit = prefix_hit(ids)
        if faulty("short"):
            n -= 1
        forced = body.get("vllm_xargs", {}).get("kvsweep_forced", "").split() if a.logits_processors else []
        number = steps.begin(body.get("request_id", "r"), len(ids), hit)
        head = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": a.model}
        for i in range(n):
            if i > 0:
                steps.decode(number)
            choice = {"index": 0, "text": "x", "logprobs": None, "finish_reason": "length" if i + 1 == n else None}
            if a.kind == "vllm":
                choice.update(stop_reason=None, token_ids=[int(forced[i]) if i < len(forced) and a.fault != "unforced" else 100 + i % 50])
            yield {**head, "choices": [choice]}
        usage = {"prompt_tokens": min(len(ids), 64) if faulty("truncated") else len(ids), "completion_tokens": n}
        usage["total_tokens"] = sum(usage.values())
        if a.kind == "vllm":
            usage["prompt_tokens_details"] = {"cached_tokens": len(ids) + 1 if faulty("cached") else hit}
        if "stream_options" in body:
            yield {**head, "choices": [], "usage": usage}
        yield "[DONE]"
        steps.end(number)

    def sglang(self, body):
        """SGLang's /generate: texts, ids and counts of the answer so far."""
        ids, n = body["input_ids"], body["sampling_params"]["max_new_tokens"]
        hit = prefix_hit(ids)
        for i in range(1, n + 1):
            meta = {"id": body.get("rid"), "prompt_tokens": len(ids), "completion_tokens": i, "cached_tokens": hit,
                    "cached_tokens_details": {"device": hit, "host": 0}, "num_retractions": 0,
                    "finish_reason": {"type": "length", "length": n} if i == n else None}
            yield {"text": "x" * i, "output_ids": [100 + k % 50 for k in range(i)], "meta_info": meta}
        yield "[DONE]"


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 1024


steps = Steps()
print("scripted server, a replay of", a.kind, flush=True)
if a.fault == "late":
    print("weights not found", flush=True)
    sys.exit(4)
if a.yield_port and os.path.exists(a.yield_port):
    with open(a.yield_port, "w") as fifo:
        fifo.write(str(a.port))
    os.unlink(a.yield_port)
    time.sleep(1000)
Server(("127.0.0.1", a.port), Handler).serve_forever()
