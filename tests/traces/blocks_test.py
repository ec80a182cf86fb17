"""Formats that name prompts block by block: Weka, Mooncake, Qwen-Bailian."""
import json

from world import case, converted, expect, expect_equal, expect_in, main, refusal, shared, Trace


def request(t, tokens, ids, think=None, out=10, **more):
    return {"type": "n", "t": t, "in": tokens, "out": out, "hash_ids": ids, "api_time": 2.0, **({} if think is None else {"think_time": think}), **more}


def session(*requests, **more):
    return {"id": "s", "block_size": 64, "hash_id_scope": "local", "requests": list(requests), **more}


def row(ids, tokens=None, out=5, **more):
    return {"input_length": 512 * len(ids) if tokens is None else tokens, "output_length": out, "hash_ids": ids, **more}


@case("a session of Weka shares the blocks of its prompts, and has its recorded times")
def weka():
    trace = converted([session(request(0, 200, [1, 2, 3]), request(9.5, 330, [1, 2, 3, 4, 5], think=7.5), request(20, 200, [1, 2, 9], think=1))])
    expect_equal(trace.first["converter"], "weka", "converter")
    expect_equal(trace.prompts, [[200, 330, 200]], "prompts")
    expect_equal(trace.hits, [[0, 192, 128]], "hits: whole blocks, and no tails")
    expect_equal((trace.of("gap_s"), trace.of("start_s"), trace.of("api_s")), ([None, 7.5, 1], [0, 9.5, 20], [2, 2, 2]), "times")


@case("ids of a local scope mean nothing in other sessions, those of a global scope do")
def scopes():
    for scope, hits in ("local", [[0], [0]]), ("global", [[0], [128]]):
        trace = converted([session(request(0, 128, [1, 2]), id=name, hash_id_scope=scope) for name in "ab"])
        expect_equal(trace.hits, hits, scope)


@case("prompts share exactly the blocks that their ids say, in all jobs and turns")
def any_ids():
    import random
    dice = random.Random(5)
    rows, earlier = [], []
    for _ in range(400):
        ids = [dice.randint(0, 2) for _ in range(dice.randint(1, 8))]
        rows.append(row(ids, 512 * len(ids) - dice.choice((0, 1, 511)), session_id=dice.choice("abcdefgh"), timestamp=0))
    trace = converted(rows, rows="whole")
    order = [each for name in dict.fromkeys(each["session_id"] for each in rows) for each in rows if each["session_id"] == name]
    for each, hit in zip(order, [hit for job in trace.hits for hit in job]):
        expect_equal(hit, max((min(512 * same_blocks(each, other), each["input_length"], other["input_length"]) for other in earlier), default=0), str(each))
        earlier.append(each)


def same_blocks(a, b):
    pairs = list(zip(a["hash_ids"], b["hash_ids"]))
    return next((at for at, (x, y) in enumerate(pairs) if x != y), len(pairs))


@case("subagents run beside their parent, which waits for them")
def subagents():
    inner = [request(0, 64, [7]), request(3, 128, [7, 8], think=1)]
    markers = [{"type": "subagent", "agent_id": name, "t": 2.5, "duration_ms": 6000, "requests": inner} for name in ("x", "y")]
    trace = converted([session(request(0, 128, [1, 2]), *markers, request(12, 192, [1, 2, 3], think=99))])
    expect_equal(trace.of("agent"), [None, "x", "x", "y", "y", None], "agents")
    expect_equal(trace.of("after"), [None, None, None, [0], None, [0, 2, 4]], "what turns wait for")
    expect_equal(trace.of("gap_s")[1], 0.5, "from the end of the parent's request to the subagent's first")
    expect_equal(trace.of("gap_s")[5], 3.5, "from the end of the last subagent")
    expect_equal(trace.hits, [[0, 0, 64, 64, 128, 128]], "hits")


@case("the times of subagents count from the session's start where a file says so")
def absolute_times():
    marker = {"type": "subagent", "agent_id": "x", "t": 2.5, "requests": [request(4, 64, [7])]}
    trace = converted([session(request(0, 128, [1, 2]), marker, request(12, 192, [1, 2, 3]))])
    expect_equal(trace.of("start_s"), [0, 4, 12], "starts")
    expect(trace.assumes("count from the session's start"), "what was taken")


@case("a session that cannot be right is counted, named and left out, and --strict refuses it")
def bad_sessions():
    for wrong, why in ((request(0, 200, [1]), "has 1 block ids for a prompt of 200 tokens; allowed: 3 or 4"), ({"t": 1}, "has no in"),
                       (request(0, -3, []), "in is -3"), ({**request(1, 64, [1]), "t": None}, "has no t")):
        good = session(request(0, 64, [1]))
        trace = converted([session(wrong, id="wrong"), good])
        expect_equal(trace.left_out("rows that cannot be read"), 1, "bad rows")
        expect_in(why, trace.first["left_out"][0]["why"], "reason")
        expect_equal(trace.first["left_out"][0]["first"], ["rows.jsonl:1"], "place")
        expect_in("rows.jsonl:1: " + why, refusal([session(wrong), good], strict=True), "strict")


@case("requests of Mooncake share the blocks of equal ids in all jobs")
def mooncake():
    trace = converted([row([1, 2], timestamp=0), row([1, 2, 3], 1100, timestamp=1500), row([1, 9], timestamp=2000), row([1, 2, 3, 4], timestamp=2500)])
    expect_equal(trace.hits, [[0], [1024], [512], [1100]], "hits")
    expect_equal([job["arrival_s"] for job in trace.jobs], [0, 1.5, 2, 2.5], "arrivals")


@case("rows that wait for each other are one job with its subagents")
def graph():
    trace = converted([row([1], request_id="r", start_ms=0, api_ms=900), row([1, 2], request_id="s", wait_for=["r"], tool_wait_ms=2500, tool="bash"),
                       row([8], request_id="a", wait_for=["s"], agent="a"), row([1, 2, 3], request_id="t", wait_for=["s", "a"], start_ms=60000)])
    expect_equal(len(trace.jobs), 1, "jobs")
    expect_equal((trace.of("agent"), trace.of("after")), ([None, None, "a", None], [None, None, None, [1, 2]]), "the graph")
    expect_equal((trace.of("gap_s")[1], trace.of("tool")[1]), (2.5, "bash"), "gap and tool")
    expect_in("waits for z, which no line above names", refusal([row([1], request_id="r", wait_for=["z"])]), "unknown request")


@case("a gap is what lies between recorded starts, less the recorded time of the server")
def recorded_gap():
    trace = converted([row([1], session_id="a", start_ms=0, api_ms=900), row([1], session_id="a", start_ms=60000, api_ms=900)])
    expect_equal(trace.of("gap_s"), [None, 59.1], "gaps")


@case("rows of a session that are increments get their history, by a key, by an option and by what they share")
def increments():
    rows = [row([10 * n], 500, session_id="a", timestamp=1000 * n) for n in range(4)]
    for options in {}, {"rows": "increments"}:
        trace = converted(rows, **options)
        expect_equal(trace.prompts, [[500, 1005, 1510, 2015]], "prompts")
        expect_equal(trace.hits, [[0, 505, 1010, 1515]], "hits")
    expect(converted(rows).assumes("are what each turn adds: of 3 later rows 0 begin as the row before"), "what was detected")
    expect_equal(converted(rows, rows="whole").hits, [[0, 0, 0, 0]], "as whole prompts")
    whole = [row(list(range(n)), session_id="a", timestamp=n) for n in range(1, 5)]
    expect_equal(converted(whole).prompts, [[512, 1024, 1536, 2048]], "whole prompts")
    expect_equal(converted([{**each, "session_context_growth": "accumulate"} for each in whole]).prompts, [[512, 1541, 3082, 5135]], "by key")
    bare = [{"session_id": "a", "input_length": 100, "output_length": 10, "delay": 3000} for _ in range(3)]
    expect_equal(converted(bare).prompts, [[100, 210, 320]], "without ids")


@case("rows without block ids share nothing, and the size of blocks is what the lengths fit")
def without_ids():
    trace = converted([{"timestamp": n, "input_length": 1000, "output_length": 20} for n in range(3)])
    expect_equal(trace.hits, [[0], [0], [0]], "hits")
    expect(trace.assumes("rows without hash_ids share nothing"), "said")
    trace = converted([row(list(range(10)), 640), row(list(range(10)), 640)])
    expect_equal(trace.hits, [[0], [640]], "hits of blocks of 64")
    expect(trace.assumes("blocks of 64 tokens"), "said")


@case("times are taken in the unit that they can be in")
def units():
    for times, arrivals in (([1787000000000, 1787000000500], [0, 0.5]), ([1787000000000000000, 1787000000500000000], [0, 0.5]),
                            ([0.0, 0.2, 0.4], [0, 0.2, 0.4]), ([27482000, 27482100], [0, 0.1]), ([1787000000, 1787000060], [0, 60])):
        trace = converted([row([n], timestamp=time) for n, time in enumerate(times)])
        expect_equal([job["arrival_s"] for job in trace.jobs], arrivals, "arrivals")


@case("names may be numbers, of which 0 is one")
def numbers():
    trace = converted([row([1], session_id=session, timestamp=1000 * n) for n, session in enumerate((0, 1, 0, 1))])
    expect_equal([len(prompts) for prompts in trace.prompts], [2, 2], "turns of sessions 0 and 1")
    expect_equal(converted([{"job": 0, "prompt_tokens": tokens, "answer_tokens": 1} for tokens in (9, 20)]).hits, [[0, 10]], "turns of job 0")


@case("jobs without a time of arrival are said with their number")
def partly():
    rows = [row([1], session_id="a", timestamp=0), row([1], session_id="b", timestamp=300000)]
    expect(not converted(rows).assumes("time of arrival"), "all jobs arrive")
    expect(converted([*rows, {**row([1]), "timestamp": None}]).assumes("1 jobs have no time of arrival"), "a job without a time")


@case("numbers that are no number of anything cost their row alone")
def impossible():
    good = json.dumps(row([1]))
    wrong = ['{"timestamp": 1e999, "input_length": 5, "output_length": 5}', f'{{"timestamp": 0, "input_length": 1{"0" * 400}, "output_length": 5}}', '{"timestamp": 0, "input_length": 5, "output_length": 5, "block_size": "big"}',
             '{"timestamp": 0, "input_length": 5, "output_length": 5, "block_size": -5}']
    trace = converted("\n".join([*wrong, good]) + "\n")
    expect_equal((len(trace.jobs), trace.left_out("rows that cannot be read")), (1, len(wrong)), "rows")
    expect_equal(converted("time,prompt_tokens,answer_tokens\n0,5,5\ninf,5,5\n1e400,5,5\n", "t.csv").left_out("rows that cannot be read"), 2, "times")


@case("a row with a time of another clock than the first is left out")
def clocks():
    trace = converted([row([n], timestamp=time) for n, time in enumerate((1787000000000, 1787000000500, 0))])
    expect_equal(([job["arrival_s"] for job in trace.jobs], trace.left_out("rows that cannot be read")), ([0, 0.5], 1), "arrivals")


@case("answers of 0 tokens are counted, and a row that runs backwards is left out")
def odd_rows():
    trace = converted([row([n], out=0) for n in range(3)])
    expect(trace.assumes("3 answers of 0 tokens"), "said with their number")
    expect_equal(trace.answers, [[1], [1], [1]], "answers")
    back = [row([1], session_id="a", timestamp=time) for time in (100000, 40000, 160000)]
    trace = converted(back)
    expect_equal((trace.of("start_s"), trace.left_out("rows that cannot be read")), ([0, 60], 1), "starts")
    expect_in("rows.jsonl:2: begins before", refusal(back, strict=True), "strict")


@case("conversations of Qwen have the recorded time between their turns")
def qwen():
    def chat(name, parent, t, ids):
        return {"chat_id": name, "parent_chat_id": parent, "timestamp": t, "input_length": 16 * len(ids), "output_length": 8, "type": "text", "turn": 1, "hash_ids": ids}
    trace = converted([chat(10, -1, 0.0, [1, 2]), chat(11, 10, 300.0, [1, 2, 3]), chat(12, None, 301, [1]), chat(20, 19, 302, [4])])
    expect_equal([len(job["turns"]) for job in trace.jobs], [2, 1, 1], "turns")
    expect_equal((trace.of("start_s"), trace.of("gap_s")), ([0, 300], [None, None]), "from start to start")
    expect_equal(trace.hits, [[0, 32], [16], [0]], "hits")
    expect_equal(trace.left_out("requests that others continue"), 1, "what a sample lacks")


@case("the coding sessions share what their description says")
def published_weka():
    trace = Trace(shared("data/traces/weka_claude_code_473.jsonl.xz"))
    expect_equal((trace.first["counts"]["jobs"], trace.first["counts"]["turns"]), (473, 31493 + 567), "sessions, and requests of roots and of 51 subagents")
    expect_equal(round(100 * trace.share(), 1), 96.3, "prefix hit")
    quartiles = sorted(sum(hits) / sum(prompts) for hits, prompts in zip(trace.hits, trace.prompts))
    expect_equal([round(100 * quartiles[473 * part // 4], 1) for part in (1, 2, 3)], [91.9, 95.4, 97.1], "quartiles of sessions")


@case("Mooncake's requests share what their authors publish")
def published_mooncake():
    for name, jobs, blocks, tokens in ("conversation", 12031, 36.6, 37.4), ("synthetic", 3993, 64.0, 65.1):
        trace = Trace(shared(f"data/traces/mooncake_{name}_trace.jsonl.xz"))
        hits, prompts = [hit for job in trace.hits for hit in job], [prompt for job in trace.prompts for prompt in job]
        expect_equal(len(trace.jobs), jobs, "requests")
        expect_equal(round(100 * sum(hits) / sum(prompts), 1), tokens, "by token")
        expect_equal(round(100 * sum(-(-hit // 512) for hit in hits) / sum(-(-prompt // 512) for prompt in prompts), 1), blocks, "by block")


if __name__ == "__main__":
    main()
