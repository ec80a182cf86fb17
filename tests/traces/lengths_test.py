"""Formats of times and lengths: Azure, BurstGPT, TraceLab."""
from world import case, converted, expect, expect_equal, expect_in, main, refusal, shared, Trace

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
DAY = "2024-05-10 08:00:0"


@case("rows of Azure are jobs of one request that share nothing")
def azure():
    trace = converted(HEADER + f"{DAY}0.0099301,472,18\n{DAY}1.0099302,47,18\n", "a.csv")
    expect_equal((trace.prompts, trace.answers, trace.hits), ([[472], [47]], [[18], [18]], [[0], [0]]), "lengths")
    expect_equal([job["arrival_s"] for job in trace.jobs], [0, 1.0000001], "arrivals, to the digit")


@case("tables of times and lengths are read in every dress that spreadsheets give them")
def dresses():
    line = f"{DAY}0.5,472,18\n"
    for text in ("\ufeff" + HEADER + line, (HEADER + line).replace("\n", "\r\n"), (HEADER + line).replace("\n", "\r"), (HEADER + line).replace(",", ";"),
                 (HEADER + line).replace(",", "\t"), "," + HEADER + "0," + line, HEADER.lower() + line, "timestamp,context_tokens,generated_tokens\n" + line,
                 HEADER + f'{DAY}0.5,"472","18"\n', "request," + HEADER + f'"a,b",{line}', HEADER + "2024-05-10T08:00:00+0000,472,18\n", HEADER + f"{DAY}0.5+08:00,472,18.0\n"):
        for encoding in "utf-8", "utf-16":
            expect_equal(converted(text.encode(encoding), "a.csv").prompts, [[472]], repr(text))
    expect_equal(converted(HEADER + f'{DAY}0,"1,472",18\n', "a.csv").prompts, [[1472]], "thousands")


@case("zones of times count, and times may cross midnight and come in any order")
def zones():
    trace = converted(HEADER + "2024-05-11 00:00:00+08:00,1,1\n2024-05-10 16:00:01Z,1,1\n2024-05-10 16:59:59.5+0100,1,1\n", "a.csv")
    expect_equal([job["arrival_s"] for job in trace.jobs], [0.5, 1.5, 0], "arrivals")


@case("rows that no request has are counted with their place, and do not end the reading")
def bad_rows():
    trace = converted(HEADER + f"{DAY}0,1,1\n{DAY}1,,\n{HEADER}{DAY}2,-1,3\nnever,5,5\n{DAY}3,1.5,2\n{DAY}4,2,2\n{DAY}5,1\n", "a.csv")
    expect_equal((len(trace.jobs), trace.left_out("rows that cannot be read")), (2, 6), "rows")
    for why in ("has no prompt", "repeats the header", "prompt is '-1'; allowed: a whole number", "the time is 'never'; allowed: a date and time such as", "prompt is '1.5'", "has 2 cells for 3 columns"):
        expect(any(why in line["why"] for line in trace.first["left_out"]), why)
    expect_in("a.csv:3", str(trace.first["left_out"]), "place")
    expect_in("holds no job. Left out: rows that cannot be read: 1", refusal(HEADER + f"{DAY}0,x,1\n", "a.csv"), "nothing left")


@case("failed requests of BurstGPT are left out")
def burst():
    header = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    trace = converted(header + "5,a,1,M,472,18,490,C\n45,a,1,M,1087,0,1087,C\n118,b,1,M,417,276,693,C\n118,b,1,M,0,0,0,A\n", "burst.csv")
    expect_equal(([job["arrival_s"] for job in trace.jobs], trace.prompts), ([0, 113], [[472], [417]]), "requests")
    expect_equal(trace.left_out("failed requests"), 2, "failures")
    expect(trace.assumes("requests of a session are jobs of their own"), "sessions")


def tracelab_round(number, cached, tokens, sent, answered, session="s", tools=()):
    events = [("user_message", sent), ("text", answered), ("usage_report", "2026-06-02T00:00:00Z")]
    return {"session_id": session, "round_index": number, "input_tokens_total": tokens, "prefix_tokens": cached, "output_tokens": 7, "tools": list(tools),
            "timing_events": [{"event_type": kind, "timestamp": f"2026-06-01T05:40:{at:06.3f}Z" if isinstance(at, (int, float)) else at} for kind, at in events]}


@case("rounds of TraceLab share what the provider's cache had, and have their times")
def tracelab():
    tools = [{"tool_name": "Bash", "tool_wall_latency_ms": 5}, {"tool_name": "Search", "tool_wall_latency_ms": 50}]
    trace = converted([tracelab_round(0, 900, 1000, 1, 3.5, tools=tools), tracelab_round(1, 1200, 1500, 10, 12), tracelab_round(0, 0, 50, 0, 1, "t")])
    expect_equal([job["job"] for job in trace.jobs], ["t", "s"], "in order of arrival")
    expect_equal(trace.hits, [[0], [0, 1000]], "hits: at most all of the prompt before")
    expect_equal((trace.of("gap_s", 1), trace.of("api_s", 1), trace.of("tool", 1)), ([None, 6.5], [2.5, 2], ["Search", None]), "times and tools")
    expect_equal([job["arrival_s"] for job in trace.jobs], [0, 1], "arrivals")
    expect_in("has more prefix_tokens than", refusal([tracelab_round(0, 20, 10, 1, 2)]), "impossible")


@case("TraceLab's own example and Azure's code trace have the values that are known of them")
def published():
    trace = Trace(shared("data/traces/tracelab_example_rounds.jsonl.xz"))
    job = next(number for number, each in enumerate(trace.jobs) if each["job"].startswith("claude:"))
    expect_equal((trace.hits[job][1], trace.of("tool", job)[0], round(trace.of("gap_s", job)[1], 3)), (29380, "WebSearch", 19.291), "second round")
    trace = Trace(shared("data/traces/AzureLLMInferenceTrace_code_2023.csv.xz"))
    expect_equal((len(trace.jobs), trace.jobs[1]["arrival_s"], trace.prompts[0], trace.answers[0], trace.share()), (8819, 0.052, [4808], [10], 0.0), "Azure")


if __name__ == "__main__":
    main()
