"""Chats of every dialect, with the plain template: everything in a message counts, or is listed as left out."""
import json

from world import Trace, case, converted, expect, expect_equal, expect_in, main, package, refusal, shared, traces, written

ASK, ANSWER = "ask " * 100, "answer " * 50   # 100 and 88 tokens
MARKS = {"system": 6, "user": 5, "assistant": 6, "tool": 5}   # header and end mark: 3 tokens and those of the role
LONG = "word " * 400                         # 500 tokens


def chat(*messages, **more):
    return {"id": "c", "messages": [message if isinstance(message, dict) else {"role": "user" if number % 2 == 0 else "assistant", "content": message}
                                    for number, message in enumerate(messages)], **more}


def answer(**parts):
    return {"role": "assistant", "content": None, **parts}


@case("a chat is a job with a turn for each answer, and prompts begin with the turn before them")
def plain():
    trace = converted([chat(ASK, ANSWER, "more", "yes")])
    first = 1 + 100 + MARKS["user"] + 6
    expect_equal(trace.prompts, [[first, first + 89 + 1 + MARKS["user"] + 6]], "prompts: the mark of the begin, the messages, the header of the answer")
    expect_equal(trace.answers, [[89, 2]], "answers with their end marks")
    expect_equal(trace.hits, [[0, first + 89]], "hits")
    expect_equal(trace.first["converter"], "openai", "converter")
    expect_in("4 bytes a token", trace.first["tokenizer"], "tokenizer")


@case("the labels of segments give a turn's token budget")
def labels():
    call = {"function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    trace = converted([chat({"role": "system", "content": "be brief"}, {"role": "user", "content": ASK}, answer(content="look", tool_calls=[call]),
                            {"role": "tool", "content": "x" * 40}, answer(content="done"))])
    expect_equal(trace.labels(0, "prompt"), {"system": 1 + MARKS["system"] + 2, "user": MARKS["user"] + 100, "role": 6}, "first prompt")
    found = trace.labels(0, "answer")
    expect_equal(sorted(found), ["assistant", "role", "synthesized", "tool_call"], "labels of an answer that calls")
    expect_equal(trace.labels(1, "prompt"), {"tool_result": MARKS["tool"] + 10, "role": 6}, "second prompt")
    expect_equal(trace.of("tool"), ["bash", None], "tools")
    expect(trace.assumes("a synthesized"), "said")


@case("reasoning counts wherever a dialect has it, once")
def reasoning():
    for extra in ({"reasoning_content": LONG}, {"reasoning": LONG}, {"reasoning_details": [{"type": "reasoning.text", "text": LONG}]}, {"thinking": LONG},
                  {"thinking_blocks": [{"type": "thinking", "thinking": LONG}]}, {"reasoning": LONG, "reasoning_details": [{"text": LONG}]},
                  {"content": [{"type": "thinking", "thinking": LONG}, {"type": "text", "text": "short"}]}):
        trace = converted([chat(ASK, answer(**{"content": "short", **extra}), "x", "y")])
        expect_equal(trace.answers[0][0], 503, str(list(extra)))
        expect_equal(trace.hits[0][1], sum((trace.prompts[0][0], 503)), "and stays in the next prompt")
        expect(trace.assumes("reasoning stays"), "said")
    expect_equal(converted([chat(ASK, answer(content=LONG + "ls", thought=LONG))]).answers, [[502]], "what SWE-agent repeats")
    expect_equal(converted([chat(ASK, answer(refusal=LONG))]).answers, [[501]], "a refusal")


@case("calls count in every dialect, with their names and arguments")
def calls():
    words = {"q": "word " * 100}
    for parts in ({"tool_calls": [{"id": "1", "type": "function", "function": {"name": "search", "arguments": json.dumps(words)}}]},
                  {"function_call": {"name": "search", "arguments": json.dumps(words)}}, {"tool_calls": json.dumps([{"function": {"name": "search", "arguments": words}}])},
                  {"tool_calls": [{"name": "search", "arguments": words}]}, {"tool_calls": [{"type": "custom", "custom": {"name": "search", "input": json.dumps(words)}}]},
                  {"content": [{"type": "tool_use", "id": "x", "name": "search", "input": words}]}):
        trace = converted([chat(ASK, answer(**parts), {"role": "function" if "function_call" in parts else "tool", "content": "r"}, answer(content="ok"))])
        expect_equal((trace.labels(0, "answer")["tool_call"], trace.of("tool")), (135, ["search", None]), str(parts)[:60])
    asks = {"role": "user", "content": ASK, "tool_calls": [{"name": "search", "arguments": words}]}
    expect_equal(converted([chat(asks, ANSWER)]).prompts, [[112 + 135]], "calls of others than the model")
    both = converted([chat(ASK, answer(tool_calls=[{"function": {"name": "a", "arguments": {}}}, {"function": {"name": "b", "arguments": {}}}]))])
    expect_equal(both.labels(0, "answer")["tool_call"], -(-2 * len('{"name":"a","arguments":{}}') // 4), "two calls, a line each")


@case("schemas of tools and system prompts beside the messages are part of the first prompt")
def beside():
    bare = converted([chat(ASK, ANSWER)]).prompts[0][0]
    tools = [{"type": "function", "function": {"name": f"t{n}", "description": LONG}} for n in range(10)]
    for key in "tools", "functions":
        expect(converted([chat(ASK, ANSWER, **{key: tools})]).prompts[0][0] > bare + 5000, key)
    expect_equal(converted([chat(ASK, ANSWER, system=LONG)]).prompts[0][0], bare + MARKS["system"] + 500, "system")
    expect_equal(converted([chat(ASK, ANSWER, system=[{"type": "text", "text": LONG, "cache_control": {}}])]).prompts[0][0], bare + MARKS["system"] + 500, "in parts")


@case("results of tools inside of a user's message are messages of their own")
def anthropic_results():
    use = {"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": "x" * 80}]}
    trace = converted([chat(ASK, answer(content=[use]), {"role": "user", "content": [result, {"type": "text", "text": "y" * 40}]}, answer(content="ok"))])
    expect_equal(trace.labels(1, "prompt"), {"tool_result": 20 + MARKS["tool"] + 10 + MARKS["user"], "role": 6}, "what follows a call answers it")


@case("what has no tokens that are known, or no place in a prompt, is listed with its number")
def listed():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    trace = converted([chat({"role": "user", "content": [{"type": "text", "text": "see"}, image, {"type": "hologram", "x": "y" * 40}], "name": "Jo"}, ANSWER, "later")])
    expect_equal([trace.left_out(what) for what in ("image_url parts", "content parts of type hologram", "key name of messages", "messages behind the last answer")], [1] * 4, "counts")
    expect_equal([line["tokens"] for line in trace.first["left_out"] if "tokens" in line], [17, 1, 2], "their tokens")


@case("however many kinds of things are left out, the first line names some and counts all")
def many_kinds():
    rows = [chat({"role": "user", "content": "x", f"key{n}": "y"}, ANSWER) for n in range(300)] + [f"row {n}" for n in range(50)]
    trace = converted(rows)
    expect_equal((sum(line["count"] for line in trace.first["left_out"]), len(trace.first["left_out"]) < 230), (350, True), "counts")


@case("chats come as lines, as lists, as one chat, with any id or none, and in JSON text")
def shapes():
    one = chat(ASK, ANSWER)
    for content, name in ((json.dumps([one, one], indent=1), "a.json"), (json.dumps(one, indent=1), "a.json"), (json.dumps(one["messages"], indent=1), "a.json"), ([one["messages"]], "a.jsonl"),
                          ([{**one, "id": 7}], "a.jsonl"), ([{"messages": one["messages"]}], "a.jsonl"), ([{**one, "messages": json.dumps(one["messages"])}], "a.jsonl"),
                          ("\ufeff" + json.dumps(one), "a.jsonl.gz"), ([{"custom_id": "r", "body": one, "response": None}], "a.jsonl")):
        trace = converted(content, name)
        expect_equal({prompt for job in trace.prompts for prompt in job}, {112}, f"{name} {str(content)[:40]}")
    trace = converted([one, one])
    expect_equal(([job["job"] for job in trace.jobs], trace.hits[1]), (["c", "c#2"], [112]), "the same id twice")


@case("an answer that stands beside its request is the chat's last")
def request_and_answer():
    message = {"role": "assistant", "content": ANSWER}
    for more in ({"response": {"choices": [{"message": message}]}}, {"response": {"body": {"choices": [{"message": message}]}}}, {"choices": [{"message": message}]}):
        expect_equal(converted([chat(ASK, **more)]).answers, [[89]], str(more)[:40])
    expect_equal(converted([chat(ASK, output_length=20)]).answers, [[20]], "its length alone")
    expect_equal(converted([{"text_input": ASK, "output_length": 20, "timestamp": 100}]).prompts, [[112]], "a text and a length")
    expect_in("has no answer: nothing says how long it was", refusal([chat(ASK, max_tokens=9)]), "no answer")


@case("items of the Responses API are one answer until an input comes")
def responses():
    items = [{"role": "user", "content": [{"type": "input_text", "text": ASK}]}, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm, "}]},
             {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "1"}, {"type": "function_call_output", "call_id": "1", "output": "x" * 40}]
    last = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    trace = converted([{"id": "r", "instructions": LONG, "input": [*items, last], "output": []}])
    expect_equal((trace.of("tool"), trace.answers[0][1]), (["ls", None], 89), "turns of a whole conversation")
    expect_equal(trace.labels(0, "answer")["assistant"], 1, "reasoning")
    expect_equal(trace.labels(0, "prompt")["system"], 501 + MARKS["system"], "instructions")
    request = converted([{"instructions": LONG, "input": items, "output": [last]}])
    expect_equal((request.prompts, request.answers), ([[trace.prompts[0][1]]], [[89]]), "a request with its answer is one turn, with all before it in its prompt")
    expect(request.assumes("answers before it are part of its prompt"), "said")


@case("tool times of SWE-smith's turns are the gaps behind them")
def gaps():
    trace = converted([chat(ASK, "```bash\nls -l\n```", "out", "<function=submit>", turns=[{"exec_s": 1.5, "tool": "ls"}])])
    expect_equal((trace.of("gap_s"), trace.of("tool")), ([None, 1.5], ["ls", "submit"]), "gaps and tools")
    expect_in("turns has 2 entries for 1 answers", refusal([chat(ASK, ANSWER, turns=[{}, {}])]), "too many")


@case("times of messages are times of turns")
def times():
    messages = [{"role": role, "content": "x", "timestamp": at} for role, at in (("user", 1700000000.0), ("assistant", 1700000002.5), ("user", 1700000010.0), ("assistant", 1700000011.0))]
    trace = converted([{"messages": messages}])
    expect_equal((trace.of("start_s"), trace.of("gap_s"), trace.of("api_s"), trace.jobs[0]["arrival_s"]), ([0, 10], [None, 7.5], [2.5, 1], 0), "times")


@case("a row that is no chat is counted and named, whatever is wrong with it")
def bad_chats():
    good = json.dumps(chat(ASK, ANSWER))
    wrong = ["[1]", "3", "{", '{"messages": 5}', '{"messages": [3]}', '{"messages": [{"role": "who"}]}', '{"messages": [{"role": "user", "content": "x"}]}', '{"messages": [{"role": "user", "content": "\\ud83d"}]}',
             '{"id": NaN}', '{"messages": "[}"}', "[" * 100000, '{"messages": [{"role": "user", "content": 4}]}', '{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [5]}]}']
    trace = converted("\n".join([good, *wrong, good]) + "\n", "rows.jsonl")
    expect_equal((len(trace.jobs), trace.left_out("rows that cannot be read")), (2, len(wrong)), "rows")
    trace = converted(good.encode() + b'\n{"messages": "caf\xe9"}\n', "rows.jsonl")
    expect_in("is not UTF-8 at byte 18", str(trace.first["left_out"]), "latin-1")


@case("choices, requests of a session and times that have no place in a trace are listed")
def listed():
    ask, answer = {"role": "user", "content": ASK}, {"role": "assistant", "content": ANSWER}
    trace = converted([{"messages": [ask], "response": {"choices": [{"message": answer}] * 3}}])
    expect_equal((trace.answers, trace.left_out("further choices of an answer")), ([[89]], 2), "choices")
    trace = converted([{"messages": [ask], "response_format": {"type": "json_schema"}, "response": {"body": {"choices": [{"message": answer}], "usage": {"prompt_tokens": 7}}}}])
    expect_equal((trace.answers, trace.left_out("usage"), trace.left_out("response_format")), ([[89]], 1, 1), "what stands beside messages")
    expect_equal(converted([{"messages": [ask, answer], "conversations": [{"from": "human", "value": ASK}, {"from": "gpt", "value": "x"}]}]).left_out("key messages of rows"), 1, "two chats in a row")
    trace = converted([{"session_id": session, "text_input": ASK, "output_length": 5} for session in "aab"])
    expect(trace.assumes("1 further requests of a session"), "AIPerf's sessions")
    times = [{**message, "timestamp": time} for message, time in zip([ask, answer, ask, answer], (10, 12, 8, 20))]
    trace = converted([{"messages": times}])
    expect_equal((trace.of("gap_s"), trace.assumes("1 chats have times that run backwards")), ([None, 0], True), "times")
    expect(trace.assumes("a message's time is when it was complete"), "what times are taken for")
    expect_equal(len(converted([{"messages": [{"role": "user", "content": [{"type": None, "text": ASK}]}, answer]}]).jobs), 1, "a part with a type of null")


@case("conversations of ShareGPT are read with the roles and keys of its variants")
def sharegpt():
    def talk(*pairs, **more):
        return {"id": 0, "conversations": [{"from": who, "value": text} for who, text in pairs], **more}
    usual = talk(("human", ASK), ("gpt", ANSWER))
    trace = converted(json.dumps([usual, usual, talk(), talk(("human", ASK)), talk(("human", ASK), ("gpt", None))]), "sg.json")
    expect_equal((trace.prompts, trace.hits), ([[112], [112]], [[0], [112]]), "usual")
    expect_equal((trace.left_out("conversations without an answer"), trace.left_out("messages without a text")), (3, 1), "left out")
    for who in "assistant", "chatgpt", "bing", "bard":
        expect_equal(converted([talk(("user", ASK), (who, "x"))]).answers, [[2]], who)
    trace = converted([talk(("human", ASK), ("function_call", '{"name": "f", "arguments": {"a": 1}}'), ("observation", "r"), ("gpt", "x"))])
    expect_equal((trace.of("tool"), len(trace.prompts[0])), (["f", None], 2), "calls")
    expect_equal(converted([talk(("human", ASK), ("gpt", "x"), system=LONG, tools=LONG)]).prompts[0][0], 112 + MARKS["system"] + 1001, "system and tools beside")
    expect_equal(converted([{"items": usual["conversations"]}]).prompts, [[112]], "items")
    expect_equal(converted([{"conversations": [{"role": "user", "content": ASK}, {"role": "assistant", "content": "x"}]}]).prompts, [[112]], "role and content")
    expect(converted([talk(("gpt", "I am"), ("human", ASK), ("gpt", "x"))]).assumes("answers before the first question"), "a greeting")


@case("chats that begin alike share exactly the tokens that are equal")
def sharing():
    import random
    dice = random.Random(3)
    words = ["alpha", "beta", "gamma"]
    rows = [{"messages": [{"role": role, "content": " ".join(dice.choice(words) for _ in range(dice.randint(1, 6)))} for _ in range(dice.randint(1, 3)) for role in ("user", "assistant")]}
            for _ in range(200)]
    trace = converted(rows)
    chats = traces.chats.Chats(traces.Notes())
    chats.load()
    seen = []
    for number, row in enumerate(rows):
        messages = traces.messages.messages_of(row["messages"], traces.Notes())
        whole = []
        for turn, (_, prompt, answer) in enumerate(chats.template.turns(traces.Chat("c", messages), range(1, len(messages), 2), traces.Notes())):
            whole += [token for _, part in prompt for token in part]
            best = max((common(whole, other) for other in seen), default=0)
            expect_equal((trace.prompts[number][turn], trace.hits[number][turn]), (len(whole), best), f"chat {number}, turn {turn}")
            seen.append(list(whole))
            whole += [token for _, part in answer for token in part]
            seen.append(list(whole))


def common(a, b):
    return next((at for at, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


@case("a tokenizer file counts tokens as its vendor does")
def vendor():
    package("tiktoken")
    from kvsweep.traces.tokens import load, pieces
    text = shared("data/tokenizers/gpt-tokenizer.TestPlans.txt").read_text()
    for plan, name in ("r50k_base", "r50k_base.tiktoken"), ("cl100k_base", "cl100k_base.tiktoken"):
        tokenizer, checked = load(shared(f"data/tokenizers/{name}")), 0
        for part in text.split("EncodingName: ")[1:]:
            if part.startswith(plan + "\n"):
                sample, _, encoded = part.partition("Sample: ")[2].rpartition("\nEncoded: ")
                expect_equal(list(tokenizer.encode(sample)), json.loads(encoded), repr(sample))
                parts = pieces(tokenizer, [("a", sample[:3]), ("b", sample[3:])])
                expect_equal([token for _, tokens in parts for token in tokens], json.loads(encoded), "in pieces")
                checked += 1
        expect_equal(checked, 64, f"vectors of {plan}")


@case("a tokenizer.json counts as its package does, and the template's marks are one token each")
def hugging_face():
    package("jinja2")
    made = package("tokenizers")
    from tokenizers import models, pre_tokenizers, trainers
    tokenizer = made.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator([ASK + ANSWER] * 9, trainers.BpeTrainer(special_tokens=["<|im_start|>", "<|im_end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    path = str(written(tokenizer.to_str(), "tokenizer.json"))
    template = str(written("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}", "t.jinja"))
    trace = converted([chat(ASK + "caf\u00e9 \U0001f600", ANSWER, "x", "y")], tokenizer=path, template=template)
    whole = f"<|im_start|>user\n{ASK}caf\u00e9 \U0001f600<|im_end|>\n<|im_start|>assistant\n"
    expect_equal(trace.prompts[0][0], len(tokenizer.encode(whole).ids), "the prompt as a whole")
    expect_equal(trace.answers[0][0], len(tokenizer.encode(ANSWER).ids) + 1, "an answer and its end mark")
    expect_equal(trace.of("extends"), [None, 0], "the next prompt goes on")


@case("SWE-smith's and mini-SWE-agent's trajectories have their known statistics")
def published():
    package("tiktoken")
    tokenizer = str(shared("data/tokenizers/cl100k_base.tiktoken"))
    for name, jobs, turns, prompt, output in ("swesmith_real", 9, 236, 11697, 60), ("matched100", 100, 1790, 6944, 78):
        trace = Trace(shared(f"data/trajectories/{name}.jsonl.xz"), tokenizer=tokenizer)
        prompts, answers = sorted(each for job in trace.prompts for each in job), sorted(each for job in trace.answers for each in job)
        expect_equal((len(trace.jobs), len(prompts)), (jobs, turns), "jobs and turns")
        expect(abs(prompts[turns // 2] / prompt - 1) < 0.03 and abs(answers[turns // 2] / output - 1) < 0.05, f"{name}: {prompts[turns // 2]}, {answers[turns // 2]}")
    trace = Trace(shared("data/trajectories/swesmith_real.jsonl.xz"), tokenizer=tokenizer)
    job = next(number for number, each in enumerate(trace.jobs) if each["job"].startswith("arrow-py"))
    expect_equal((trace.prompts[job][4], trace.answers[job][4]), (7582, 58), "turn 5 of the first job")
    expect_equal(trace.labels(0, "prompt", job)["system"], 912, "its system prompt")


if __name__ == "__main__":
    main()
