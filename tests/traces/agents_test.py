"""Formats of agents' harnesses and of collections of chats, a file each, and tables of turns."""
import json

from world import case, converted, expect, expect_equal, expect_in, main, package, refusal, written

ASK, ANSWER = "ask " * 100, "answer " * 50   # a first prompt of 112 tokens, an answer of 89
CHAT = [{"role": "user", "content": ASK}, {"role": "assistant", "content": ANSWER}]


@case("Anthropic's requests, alone, with their answer and of batches, count with system and tools")
def anthropic():
    use = {"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": "ls"}}
    body = {"model": "m", "system": [{"type": "text", "text": "word " * 400}], "tools": [{"name": "Bash", "description": "d" * 400, "input_schema": {}}],
            "messages": [CHAT[0], {"role": "assistant", "content": [{"type": "thinking", "thinking": "t" * 40}, use]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "out"}]}]}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": ANSWER}]}
    for row in ({**body, "response": answer}, {"custom_id": "r", "params": body, "result": {"type": "succeeded", "message": answer}}):
        trace = converted([row])
        expect_equal((trace.first["converter"], trace.answers), ("anthropic", [[89]]), "one request")
        expect(trace.labels(0, "prompt")["system"] > 600, "system and schemas")
    redacted = {**body, "messages": [CHAT[0], {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x" * 400}, {"type": "text", "text": ANSWER}]}]}
    expect_equal(converted([redacted]).left_out("content parts of type redacted_thinking"), 1, "what cannot be read")


@case("SWE-agent's files have the history once, its demonstration in the prompt, and the times of actions")
def sweagent():
    history = [{"role": "system", "content": "s", "agent": "main", "message_type": "system_prompt"}, {"role": "assistant", "content": "demo", "is_demo": True},
               {"role": "user", "content": ASK, "message_type": "observation"}, {"role": "assistant", "content": ANSWER, "thought": ANSWER, "action": "ls", "message_type": "action"},
               {"role": "user", "content": "out"}, {"role": "assistant", "content": "submit", "thought": "submit"}]
    steps = [{"action": "ls", "observation": "out", "response": ANSWER, "execution_time": 1.25, "query": history[:3]}, {"action": "submit", "query": history[:5]}]
    trace = converted(json.dumps({"environment": "e", "trajectory": steps, "history": history, "info": {}}, indent=1), "task.traj")
    expect_equal((trace.first["converter"], trace.answers, trace.of("gap_s")), ("sweagent", [[89, 3]], [None, 1.25]), "the trace")
    expect_equal(trace.jobs[0]["job"], "task.traj", "the name of a row without one")


@case("mini-swe-agent's files have the times of messages, and end before role exit")
def miniswe():
    def at(t, **record):
        return {**record, "extra": {"timestamp": 1.7e9 + t, "cost": 0.1}}
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    chat = [at(0, role="system", content="s"), at(1, role="user", content=ASK), at(4, role="assistant", content="look", tool_calls=[call]), at(6, role="tool", content="out", tool_call_id="c"),
            at(9, role="assistant", content="done"), at(9, role="exit", content="diff")]
    trace = converted(json.dumps({"info": {"mini_version": "2"}, "messages": chat, "trajectory_format": "mini-swe-agent-1.1", "instance_id": "i"}, indent=1), "i.traj.json")
    expect_equal((trace.first["converter"], trace.of("gap_s"), trace.of("api_s"), trace.of("tool")), ("miniswe", [None, 2], [3, 3], ["bash", None]), "times")
    items = [*chat[:2], at(4, object="response", output=[{"type": "reasoning", "summary": []}, {"type": "function_call", "name": "bash", "arguments": "{}", "call_id": "c"}]),
             at(6, type="function_call_output", call_id="c", output="out"), at(9, object="response", output=[{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}])]
    trace = converted([{"info": {}, "messages": items}])
    expect_equal((trace.of("gap_s"), trace.of("tool"), trace.answers[0][1]), ([None, 2], ["bash", None], 2), "the Responses API")


@case("OpenHands' events are the messages that the model saw, answers as it gave them")
def openhands():
    def event(second, source, **more):
        return {"timestamp": f"2026-01-01T00:00:{second:02}.500000", "source": source, **more}
    message = {"role": "assistant", "content": "look", "tool_calls": [{"id": "c", "function": {"name": "execute_bash", "arguments": '{"command": "ls"}'}}]}
    history = [event(0, "agent", action="system", args={"content": "sys", "tools": [{"type": "function", "function": {"name": "execute_bash"}}]}), event(1, "user", action="message", args={"content": ASK}),
               event(2, "environment", observation="agent_state_changed", content=""),
               event(4, "agent", action="run", args={"command": "ls", "thought": "look"}, tool_call_metadata={"model_response": {"id": "r", "choices": [{"message": message}]}}),
               event(6, "agent", observation="run", content="out"), event(9, "agent", action="finish", args={"thought": "done"}, message="All done!")]
    for shape in history, [[history[0], history[1]], [history[2], history[3]], [history[4], history[5]]]:
        trace = converted([{"instance_id": "x", "history": shape, "test_result": {}}])
        expect_equal((trace.first["converter"], trace.of("tool"), trace.of("gap_s"), trace.of("api_s")), ("openhands", ["execute_bash", "finish"], [None, 2], [3, 3]), "turns")
        expect_equal(trace.left_out("events of the harness"), 1, "changes of state")
        expect(trace.labels(0, "prompt")["system"] > 12, "schemas")


@case("events of OpenHands' SDK are read as well")
def openhands_sdk():
    def says(role, text):
        return {"kind": "MessageEvent", "source": role, "llm_message": {"role": role, "content": [{"type": "text", "text": text}]}}
    calls = [{"kind": "ActionEvent", "source": "agent", "llm_response_id": "r", "thought": [{"type": "text", "text": "look"}], "tool_call": {"name": name, "arguments": "{}"}} for name in ("ls", "cat")]
    history = [{"kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"type": "text", "text": "word " * 400}, "tools": []}, says("user", ASK), *calls,
               {"kind": "ObservationEvent", "source": "environment", "observation": {"content": [{"type": "text", "text": "x" * 40}]}}, {"kind": "PauseEvent", "source": "user"}, says("assistant", ANSWER)]
    trace = converted([{"instance_id": "x", "history": history}])
    expect_equal((trace.of("tool"), trace.answers[0][1], trace.labels(0, "prompt")["system"]), (["ls", None], 89, 507), "turns")
    expect_equal(trace.labels(0, "answer")["tool_call"], -(-len('\n{"name":"ls","arguments":{}}\n{"name":"cat","arguments":{}}') // 4), "both calls of one answer")


@case("results of tau-bench and tau2-bench are chats of the agent")
def taubench():
    trace = converted(json.dumps([{"task_id": task, "trial": 0, "reward": 1.0, "traj": CHAT} for task in (0, 1)]), "tau.json")
    expect_equal((trace.first["converter"], [job["job"] for job in trace.jobs], trace.prompts), ("taubench", ["0/0", "1/0"], [[112], [112]]), "tau")
    messages = [{"role": "assistant", "content": "Hi!", "timestamp": "2026-01-01T00:00:00"}, {"role": "user", "content": ASK, "timestamp": "2026-01-01T00:00:03"},
                {"role": "user", "tool_calls": [{"name": "reboot", "arguments": {}}]}, {"role": "tool", "requestor": "user", "content": "ok"},
                {"role": "assistant", "content": ANSWER, "timestamp": "2026-01-01T00:00:05"}]
    policy = {"environment_info": {"policy": "word " * 400}}
    trace = converted(json.dumps({"info": policy, "tasks": [], "simulations": [{"id": "u", "task_id": "t", "trial": 1, "messages": messages}]}, indent=1), "tau2.json")
    expect_equal((trace.answers, trace.of("api_s"), trace.left_out("tool messages of the simulated user")), ([[89]], [2], 2), "tau2")
    expect(trace.prompts[0][0] > 612, "the policy")


@case("WildChat and LMSYS are chats, with the times that they have")
def collections():
    wild = [{"conversation_hash": name, "timestamp": f"2023-04-09T00:0{minute}:00+00:00", "conversation": [{**each, "language": "English", "hashed_ip": "h", "toxic": False} for each in CHAT]} for name, minute in (("a", 3), ("b", 2))]
    trace = converted(wild)
    expect_equal((trace.first["converter"], trace.prompts, [job["arrival_s"] for job in trace.jobs]), ("wildchat", [[112], [112]], [60, 0]), "WildChat")
    expect_equal(trace.first["left_out"], [], "what is no part of a prompt")
    expect_equal(converted([{"conversation_id": "h", "model": "m", "conversation": CHAT}]).first["converter"], "lmsys", "LMSYS")
    trace = converted([{"question_id": "q", "conversation_a": CHAT, "conversation_b": CHAT, "tstamp": 1.7e9}])
    expect_equal(([job["job"] for job in trace.jobs], trace.hits), (["q_a", "q_b"], [[0], [112]]), "both sides of the arena")


def log(kind, name, parent, second, usage=None, session="S", **more):
    message = {"role": kind, "content": "x"} if usage is None else {"id": f"m{name}", "role": kind, "content": more.pop("content", []), "usage": dict(zip(("input_tokens", "cache_read_input_tokens", "output_tokens"), usage))}
    return {"type": kind, "uuid": name, "parentUuid": parent, "sessionId": session, "timestamp": f"2026-01-01T00:00:{second:02}.000Z", "message": message, **more}


@case("Claude Code's logs have the vendor's counts, one turn for the lines of one answer, and recorded times")
def claude_code():
    second = log("assistant", "2", "1", 5, (3, 100, 20), content=[{"type": "tool_use", "name": "Bash"}])
    rows = [{"type": "summary", "summary": "s", "leafUuid": "u"}, log("user", "1", None, 0), {**log("assistant", "1b", "1", 4, (3, 100, 1)), "message": {**second["message"], "content": []}}, second,
            log("user", "3", "2", 8), log("assistant", "4", "3", 10, (10, 200, 30)), log("user", "5", "4", 40), log("assistant", "6", "5", 41, (20, 60, 5)),
            {**log("assistant", "7", "6", 42), "message": {"model": "<synthetic>", "content": []}}]
    trace = converted([{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}, *rows])
    expect_equal(trace.left_out("events of type file-history-snapshot"), 1, "the first line of most files")
    expect_equal((trace.first["converter"], trace.prompts, trace.answers), ("claudecode", [[103, 210, 80]], [[20, 30, 5]]), "lengths")
    expect_equal(trace.hits, [[0, 123, 60]], "hits: all of the turn before, and after an edit what the cache had")
    expect_equal((trace.of("gap_s"), trace.of("api_s"), trace.of("tool")), ([None, 3, 30], [5, 2, 1], ["Bash", None, None]), "times")
    expect_equal((trace.left_out("failed requests"), trace.left_out("events of type summary")), (1, 1), "left out")


@case("what a session of Claude Code repeats of another one is left out")
def claude_code_resumed():
    first = [log("user", "1", None, 0), log("assistant", "2", "1", 2, (100, 0, 10))]
    again = [{**row, "sessionId": "T"} for row in first] + [log("user", "3", "2", 7, session="T"), log("assistant", "4", "3", 9, (120, 0, 10), session="T")]
    trace = converted(first + again)
    expect_equal((trace.prompts, trace.left_out("answers of another session")), ([[100], [120]], 1), "prompts")


@case("subagents of Claude Code run beside the session that spawned them")
def claude_code_subagents():
    rows = [log("user", "1", None, 0), log("assistant", "2", "1", 2, (100, 0, 10)), log("user", "a", None, 3, isSidechain=True, agentId="x"),
            log("assistant", "b", "a", 5, (50, 0, 5), isSidechain=True, agentId="x"), log("user", "3", "2", 7), log("assistant", "4", "3", 9, (120, 0, 10))]
    trace = converted(rows)
    expect_equal((trace.of("agent"), trace.of("after"), trace.of("gap_s")), ([None, "x", None], [None, [0], [0, 1]], [None, 1, 2]), "the graph")


@case("a table of turns needs names for its columns, and nothing else")
def tables():
    text = "job,prompt_tokens,answer_tokens,gap_s,tool\na,100,10,,bash\na,150,5,2.5,\nb,7,1,,\na,50,5,1,\nb,9,0,,\n"
    trace = converted(text, "t.csv")
    expect_equal((trace.first["converter"], trace.prompts, trace.hits), ("table", [[100, 150, 50], [7]], [[0, 110, 0], [0]]), "prompts")
    expect_equal((trace.of("gap_s"), trace.of("tool"), trace.left_out("failed requests")), ([None, 2.5, 1], ["bash", None, None], 1), "the rest")
    expect_equal(converted("job,new_tokens,answer_tokens\na,100,10\na,5,5\n", "t.csv").prompts, [[100, 115]], "increments")
    expect_equal(converted("job,prompt_tokens,shared_tokens,answer_tokens\na,100,0,10\na,100,64,5\n", "t.csv").hits, [[0, 64]], "sharing as said")
    for header, line in (("arrived_at,num_prefill_tokens,num_decode_tokens", "0.5,472,18"), ("request_id,arrival_timestamp,prompt_size,token_size", "0,0.5,472,18")):
        trace = converted(f"{header}\n{line}\n", "v.csv")
        expect_equal((trace.prompts, trace.jobs[0]["arrival_s"]), ([[472]], 0), header)
    trace = converted("when;ins;outs\n2026-01-01 00:00:00;472;18\n2026-01-01 00:00:01;472;18\n", "c.csv", columns={"prompt_tokens": "ins", "answer_tokens": "outs", "time": "when"})
    expect_equal([job["arrival_s"] for job in trace.jobs], [0, 1], "columns by name")
    trace = converted("arrival_time_ns,input_toks,output_toks\n0,9,1\n500000000,9,1\n200000000000,9,1\n", "n.csv")
    expect_equal([job["arrival_s"] for job in trace.jobs], [0, 0.5, 200], "a number is in the unit that its column names")
    expect_equal(converted("job,prompt_tokens,answer_tokens,wait_ms\na,9,1,\na,9,1,500\n", "t.csv", columns={"gap_s": "wait_ms"}).of("gap_s"), [None, 0.5], "gaps too")
    trace = converted("job,time,prompt_tokens,answer_tokens\na,0,9,1\na,9,20,1\na,5,15,1\n", "t.csv")
    expect_equal((trace.of("start_s"), trace.left_out("rows that cannot be read")), ([None, 9], 1), "a turn that begins before the one before it")
    expect_in("has two columns answer_tokens", refusal("prompt_tokens,answer_tokens,answer_tokens\n9,1,2\n", "t.csv"), "two columns of one name")
    expect_in("in 3 lines, which a quote makes one row", str(converted('prompt_tokens,answer_tokens\n9,1\n"9,1\n9,1\n', "t.csv").first["left_out"]), "an open quote")
    expect_in("--columns has no x; allowed: prompt_tokens,", refusal(text, "t.csv", columns={"x": "job"}), "no such name")
    rows = [{"s": "a", "p": 100, "o": 5, "call": "bash"}, {"s": "a", "p": 200, "o": 5, "same": 150}, {"s": "a", "p": 300, "o": 0}]
    trace = converted(rows, columns={"job": "s", "prompt_tokens": "p", "answer_tokens": "o", "tool": "call", "shared_tokens": "same"})
    expect_equal((trace.of("tool"), trace.hits), (["bash", None], [[0, 105]]), "rows that lack a named column")
    expect(trace.assumes("1 rows have shared_tokens beyond the turn before them"), "sharing that cannot be is said")
    expect_equal(trace.first["left_out"], [{"what": "failed requests", "why": "they have no answer", "count": 1, "tokens": 300, "first": ["rows.jsonl:3"]}], "failures")
    expect_in("--columns names z; the table has job,", refusal(text, "t.csv", columns={"job": "z"}), "no such column")


CHATML = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and m.reasoning_content and loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
          "{% for c in m.tool_calls or [] %}\n<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


@case("the model's own template makes the prompts, and a turn keeps what the template keeps")
def template():
    package("jinja2")
    path = str(written(json.dumps({"chat_template": CHATML, "eos_token": {"content": "<|im_end|>"}}), "tokenizer_config.json"))
    chat = [*CHAT, {"role": "user", "content": "more"}, {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "content": "r"}, {"role": "assistant", "content": "z"}]
    trace = converted([{"messages": chat}], template=path)
    ask, open_ = "<|im_start|>user\n" + ASK + "<|im_end|>\n", "<|im_start|>assistant\n"
    expect_equal(trace.prompts[0][0], -(-len(ask + open_) // 4), "the first prompt, tokenized as a whole")
    expect_equal(trace.answers[0][0], -(-len(ANSWER + "<|im_end|>") // 4), "an answer to its end mark")
    expect_equal(trace.of("extends"), [None, 0, 1], "what was there stays")
    expect_equal((trace.first["template"], len(trace.first["template_sha256"])), ("tokenizer_config.json", 64), "its name")
    expect(trace.labels(1, "answer")["tool_call"] > 10, "calls")
    thinking = [CHAT[0], {**CHAT[1], "reasoning_content": "t" * 400}, {"role": "user", "content": "more"}, {"role": "assistant", "content": "x"}]
    trace = converted([{"messages": thinking}], template=path)
    expect_equal(trace.answers[0][0], -(-len("<think></think>" + ANSWER + "<|im_end|>") // 4) + 100, "reasoning counts in its answer")
    expect_equal(trace.turn(1)["extends"], [0, trace.prompts[0][0]], "and is gone from the next prompt")
    system = {"role": "system", "content": "be brief"}
    expect_equal(converted([{"messages": [system, *CHAT]}], template=path).labels(0, "prompt")["system"], -(-len("<|im_start|>system\nbe brief<|im_end|>\n") // 4), "marks count with their message")
    bare = str(written("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}", "bare.jinja"))
    trace = converted([{"messages": chat, "tools": ['[{"name": "f"}, {"name": "g"}]']}], template=bare)
    expect_equal(trace.left_out("schemas of tools"), 2, "schemas that a template has no place for")
    expect_equal(trace.labels(1, "answer")["tool_call"], -(-len('{"name":"f","arguments":{}}') // 4), "calls that it leaves out count all the same")
    deaf = str(written("{% for m in messages %}{% if m.role != 'tool' %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}", "deaf.jinja"))
    expect_equal(converted([{"messages": chat}], template=deaf).left_out("messages that the template changes or leaves out"), 1, "results that a template has no place for")
    expect_equal(converted([{"messages": CHAT[:1], "output_length": 20}], template=path).answers, [[20]], "an answer of known length")
    refused = str(written("{{ raise_exception('no system role') }}", "bad.jinja"))
    expect_in("the template refuses the messages: no system role", refusal([{"messages": chat}], template=refused), "a template that refuses")


if __name__ == "__main__":
    main()
