"""Prompts with their answers: completions, instructions, preferences, requests as plain texts."""
from world import Trace, case, converted, expect, expect_equal, expect_in, main, package, refusal, shared

ASK, ANSWER = "ask " * 100, "answer " * 50   # 100 and 88 tokens
FIRST, ANSWERED = 1 + 5 + 100 + 6, 89        # with the marks of the plain template
CHAT = [{"role": "user", "content": ASK}, {"role": "assistant", "content": ANSWER}]
DRESSES = {   # one request each, whatever holds it
    "completion": {"prompt": ASK, "completion": ANSWER},
    "messages": {"prompt": CHAT[:1], "completion": CHAT[1:], "label": True},
    "instruction": {"instruction": ASK[:200], "input": ASK[202:], "output": ANSWER},
    "question": {"question": ASK, "answer": ANSWER},
    "texts": {"input": ASK, "output": ANSWER},
    "preference": {"prompt": ASK, "chosen": ANSWER, "rejected": "no"},
    "whole chats": {"chosen": CHAT, "rejected": [CHAT[0], {"role": "assistant", "content": "no"}]},
    "whole chats and the prompt": {"prompt": ASK, "chosen": CHAT, "rejected": CHAT, "messages": CHAT},
    "beside a chat": {"conversations": [{"from": "human", "value": ASK}], "chosen": {"from": "gpt", "value": ANSWER}, "rejected": {"from": "gpt", "value": "no"}},
    "transcript": {"chosen": f"\n\nHuman: {ASK}\n\nAssistant: {ANSWER}", "rejected": f"\n\nHuman: {ASK}\n\nAssistant: no"},
    "open transcript": {"prompt": f"\n\nHuman: {ASK}\n\nAssistant:", "completion": ANSWER},
    "several": {"instruction": ASK, "completions": [{"model": "a", "response": ANSWER}, {"model": "b", "response": "no"}]},
    "rated": {"prompt": ASK, "response_0": ANSWER, "response_1": "no", "better_response_id": 0},
    "completions": {"custom_id": "r", "body": {"prompt": ASK}, "response": {"body": {"choices": [{"text": ANSWER}]}}},
}


@case("a prompt and its answer are a job, whatever they are called")
def dresses():
    for name, row in DRESSES.items():
        trace = converted([row])
        expect_equal((trace.first["converter"], trace.prompts, trace.answers), ("pairs", [[FIRST]], [[ANSWERED]]), name)
        expect_equal(trace.left_out("rejected answers"), int("rejected" in row), f"{name}: the other answer")


@case("rows of other formats with the same words stay theirs")
def others():
    output = [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}]
    for row in {"input": ASK, "output": output}, {"custom_id": "r", "body": {"input": ASK}, "response": {"body": {"output": output}}}, {"input": CHAT[:1], "output": ANSWER}, {"input": CHAT[:1], "output": CHAT[1]}:
        trace = converted([row])
        expect_equal((trace.first["converter"], trace.prompts, trace.answers), ("openai", [[FIRST]], [[ANSWERED]]), str(row)[:60])
    expect_in("is of no known format", refusal("input,output\n100,20\n", "t.csv"), "lengths without --columns")


@case("what stands beside a prompt counts in it, or is listed")
def beside():
    bare = converted([DRESSES["completion"]])
    row = {**DRESSES["completion"], "system": "x" * 400, "tools": [{"name": "t" * 400}], "reasoning": "r" * 400, "category": "c" * 400}
    trace = converted([row])
    expect(trace.prompts[0][0] > bare.prompts[0][0] + 200, "system and tools")
    expect_equal(trace.answers[0][0] > bare.answers[0][0] + 99, True, "reasoning")
    expect_equal(trace.left_out("key category of rows"), 1, "others")
    expect_equal([len(job) for job in converted([{**DRESSES["instruction"], "history": [["a", "b"]]}]).prompts], [2], "earlier pairs are turns")
    expect_equal(converted([{"prompt": ASK, "output_tokens": 7}]).answers, [[7]], "an answer without its text")
    both = converted([{"prompt": "", "completion": "x"}, {"prompt": "x", "completion": ""}, DRESSES["completion"]])
    expect(len(both.jobs) >= 1 and both.left_out("rows that cannot be read") >= 1, "rows without a prompt")


@case("requests of a session with their whole prompts are the turns of one job, by their times")
def sessions():
    row = {"session_id": "s", "timestamp": 1760428436_000000, "input": ASK, "output": ANSWER}
    trace = converted([{**row, "timestamp": row["timestamp"] + 7_500000, "input": ASK + "more"}, row, {**row, "session_id": "t"}])
    expect_equal([job["job"] for job in trace.jobs], ["s", "t"], "jobs")
    expect_equal(trace.of("start_s"), [0, 7.5], "starts")
    expect_equal(trace.prompts[0], [FIRST, FIRST + 1], "prompts")
    expect(100 <= trace.hits[0][1] < FIRST and trace.hits[1][0] == FIRST, f"what they share: {trace.hits}")


@case("LMCache's agent trace has the sessions that its description says")
def lmcache():
    package("tiktoken")
    trace = Trace(shared("data/trajectories/lmcache_agent_trace_miniswe.jsonl.xz"), tokenizer=str(shared("data/tokenizers/cl100k_base.tiktoken")))
    expect_equal((trace.first["converter"], trace.first["counts"]["jobs"], trace.first["counts"]["turns"]), ("pairs", 20, 402), "sessions and requests")
    new = [prompt - hit for prompts, hits in zip(trace.prompts, trace.hits) for prompt, hit in zip(prompts[1:], hits[1:])]
    whole = [after - before for prompts in trace.prompts for before, after in zip(prompts, prompts[1:])]
    expect(all(0 <= fresh <= grown + 10 for fresh, grown in zip(new, whole)), "each prompt begins with the one before it, but for the end mark and header")


if __name__ == "__main__":
    main()
