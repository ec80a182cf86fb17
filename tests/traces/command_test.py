"""The command, its inputs and its refusals, and data frames."""
import gzip
import json
import lzma
import os
import pathlib
import subprocess
import sys

from world import FOLDER, PYTHONPATH, Trace, case, expect, expect_equal, expect_in, main, package, traces, written

ROWS = [{"timestamp": 1000 * n, "input_length": 600, "output_length": 5, "hash_ids": [1, n]} for n in range(3)]


def run(*arguments, code=0):
    found = subprocess.run([sys.executable, "-B", "-m", "kvsweep.traces", *map(str, arguments)], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PYTHONPATH})
    expect_equal(found.returncode, code, f"exit code ({found.stderr})")
    return found


@case("the command writes a trace, says what it took, and describes it")
def command():
    out = pathlib.Path(FOLDER.name) / "out.jsonl.gz"
    found = run(written(ROWS), "-o", out, "--check")
    expect_in("mooncake: 3 jobs, 3 turns, 1800 tokens of prompts, 15 of answers", found.stderr, "what it took")
    expect_in("prefix hit of a cache that never forgets: 56.9 % of prompt tokens", found.stdout, "description")
    expect_in("arrivals from s", found.stdout, "drawing")
    expect_in("turn 0           600  " + "#" * 60, found.stdout, "drawing of the longest job")
    first = json.loads(gzip.open(out, "rt").readline())
    expect_equal((first["kvsweep_trace"], first["source"]["file"], len(first["source"]["sha256"]), first["converter"]), (1, "rows.jsonl", 64, "mooncake"), "first line")
    expect(first["counts"]["arrivals"] == 3, "counts")


@case("an option that changes nothing is said")
def unused():
    chat = [{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}]
    expect_equal(traces.convert(written(chat), pathlib.Path(FOLDER.name) / "o.jsonl", rows="increments")["assumed"], ["--rows increments changes nothing for openai"], "rows")
    expect_equal(traces.convert(written(ROWS), pathlib.Path(FOLDER.name) / "o.jsonl", tokenizer="nowhere", rows="whole")["assumed"],
                 ["--tokenizer changes nothing: rows of mooncake have counts of tokens"], "tokenizer")


@case("arrivals within seconds are drawn in fractions of a second")
def short():
    found = run(written([{**row, "timestamp": row["timestamp"] / 10} for row in ROWS]), "--check").stdout
    expect_equal([line.split()[0] for line in found.partition("arrivals from s")[2].splitlines()[1:4]], ["0.00", "0.02", "0.03"], "times")


@case("a job that a converter makes wrongly is counted with what was found and what is allowed")
def wrong():
    for job, reason in (("[Turn([(None, 5)], [(None, 3)], gap_s='1')]", "gap_s is '1'; allowed: seconds from 0"),
                        ("[Turn([(None, 5)], [(None, 3)])] * 2 + [Turn([(None, 5)], [(None, 3)], extends='0')]", "turn 2 extends '0'; allowed: the number of a turn, or (number, tokens)"),
                        ("[Turn([(None, 5)], [(None, 3)], after=['0'])]", "waits for '0', which is no turn before it"), ("[1 / 0]", "division by zero")):
        code = f"from kvsweep.traces import Job, Turn, converter\n@converter('wrong', detect=bool)\ndef wrong(row, context):\n    return Job('a', {job})\n"
        found = run(written(ROWS), "--check", "--format", written(code, "wrong.py"), code=2).stderr
        expect_in(reason, found, "reason")
        expect_in("(rows.jsonl:1)", found, "place")


@case("a trace is not converted again")
def again():
    path = written(ROWS)
    run(path, "-o", str(path) + ".gz")
    expect_in("is a trace already", run(str(path) + ".gz", "-o", str(path) + ".again", code=2).stderr, "refusal")


@case("the same input gives the same bytes")
def repeatable():
    outs = [pathlib.Path(FOLDER.name) / name for name in ("one.jsonl.gz", "two.jsonl.gz")]
    for out in outs:
        traces.convert(written(ROWS), out)
    expect_equal(outs[0].read_bytes(), outs[1].read_bytes(), "bytes")


@case("what cannot be converted is one sentence and exit code 2, and leaves no file")
def refused():
    out = pathlib.Path(FOLDER.name) / "none.jsonl"
    for arguments, sentence in (([written(ROWS), "-o", out, "--format", "x"], "--format is 'x'; allowed:"), (["nowhere.jsonl", "-o", out], "nowhere.jsonl: there is no such file"),
                                ([written("a b c\n", "a.txt"), "-o", out], "is neither JSON nor a table"), ([written("", "e.jsonl"), "-o", out], "e.jsonl: is empty"),
                                ([written([{"a": 1}], "odd.jsonl"), "-o", out], "is of no known format; its first row has a; known:"), ([written(ROWS)], "-o names the trace, or --check"),
                                ([written(b"PK\x03\x04xx", "z.jsonl"), "-o", out], "is packed as zip"), ([written(ROWS), "-o", "/nowhere/x.jsonl"], "/nowhere/x.jsonl: there is no folder /nowhere"), ([written(ROWS), "-o", FOLDER.name], "is a folder; allowed: a file"),
                                ([written(ROWS), "-o", out, "--format", "mooncake", "--columns", "job=id"], "--columns names those of a table; --format is mooncake"),
                                ([written(ROWS), "-o", out, "--format", written("x = 1\ndef f(\n", "cut.py")], "cut.py:2: cannot be loaded: '(' was never closed"),
                                ([written(ROWS), "-o", out, "--format", written("import nowhere\n", "needs.py")], "needs.py: cannot be loaded: No module named 'nowhere'"),
                                ([written(gzip.compress(json.dumps(ROWS[0]).encode() * 99)[:-9], "cut.jsonl"), "-o", out], "cannot be read")):
        expect_in(sentence, run(*arguments, code=2).stderr, "message")
        expect(not out.exists() and not list(out.parent.glob("*.partial")), "no file")


@case("inputs may be packed, spread over a folder, or of several formats there")
def inputs():
    data = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    for name, packed in (("a.jsonl.gz", gzip.compress(data)), ("a.jsonl.xz", lzma.compress(data)), ("a.json", json.dumps(ROWS).encode())):
        path = pathlib.Path(FOLDER.name) / name
        path.write_bytes(packed)
        expect_equal(len(Trace(path).jobs), 3, name)
    folder = pathlib.Path(FOLDER.name) / "folder"
    for name, content in (("folder/a.jsonl", data), ("folder/deep/b.jsonl", data), ("folder/c.jsonl", b'{"conversations": []}\n'), ("folder/README.md", b"words")):
        written(content, name)
    trace = Trace(folder)
    expect_equal((len(trace.jobs), trace.left_out("files of another format"), trace.left_out("files of the folder")), (6, 1, 1), "files")
    written(b'{"some": "settings"}\n', "folder/Config.json")
    expect_equal((len(Trace(folder).jobs), Trace(folder).left_out("files of another format")), (6, 2), "a first file of no format")


@case("Parquet and zstd are read where their packages are, else one sentence names them")
def packages():
    for name, data, lacking in (("a.parquet", b"PAR1xxxx", "pyarrow"), ("a.jsonl.zst", b"\x28\xb5\x2f\xfdxxxx", "zstandard")):
        code = f"import sys; sys.modules[{lacking!r}] = None; from kvsweep.traces.__main__ import main; main()"
        found = subprocess.run([sys.executable, "-B", "-c", code, str(written(data, name)), "--check"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PYTHONPATH})
        expect_equal((found.returncode, found.stderr.count("\n")), (2, 1), found.stderr)
        expect_in(f"needs the Python package {lacking}, which is not installed", found.stderr, "message")
    data = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    path = pathlib.Path(FOLDER.name) / "b.jsonl.zst"
    path.write_bytes(package("zstandard").ZstdCompressor().compress(data))
    expect_equal(len(Trace(path).jobs), 3, "zstd")
    parquet = package("pyarrow.parquet")
    parquet.write_table(package("pyarrow").Table.from_pylist(ROWS), str(path.with_suffix(".parquet")))
    expect_equal(Trace(path.with_suffix(".parquet")).hits, [[0], [512], [512]], "Parquet")


@case("a file that is damaged is one sentence, and costs a folder nothing but its own rows")
def damaged():
    folder = pathlib.Path(FOLDER.name) / "logs"
    lines = "".join(json.dumps({**row, "n": number}) + "\n" for number in range(700) for row in ROWS).encode()
    packed = bytearray(gzip.compress(lines))
    packed[200:240] = bytes(40)
    bad = written(bytes(packed), "logs/b.jsonl")
    expect_in("cannot be read", run(bad, "--check", code=2).stderr, "damaged gzip")
    written(ROWS, "logs/a.jsonl"), written("", "logs/c.jsonl"), written(ROWS, "logs/d.jsonl")
    trace = Trace(folder)
    expect_equal((len(trace.jobs) >= 3, trace.left_out("files that cannot be read to their end")), (True, 2), "files")
    expect_in("c.jsonl: is empty", run(folder, "--check", "--strict", code=2).stderr if bad.unlink() is None else "", "strict")


@case("lists that follow each other are read to the end of the file")
def lists():
    chats = [[{"role": "user", "content": "x"}, {"role": "assistant", "content": text}] for text in "abc"]
    rows = [{"id": number, "messages": chat} for number, chat in enumerate(chats)]
    for content in (json.dumps(rows[:2]) + "\n" + json.dumps(rows[2:]), json.dumps(rows[:2]) + "\n" + json.dumps(rows[2]), "[]" + json.dumps(rows), json.dumps(chats),
                    "\n".join(map(json.dumps, chats)), "".join(json.dumps([row]) + "\n" for row in rows)):
        expect_equal(len(Trace(written(content, "lists.json")).jobs), 3, content[:60])


@case("a first row of no format costs that row alone")
def header():
    trace = Trace(written([{"exported": "2026-01-01"}, *ROWS], "headed.jsonl"))
    expect_equal((trace.first["converter"], len(trace.jobs), trace.left_out("rows that cannot be read")), ("mooncake", 3, 1), "a header")
    chat = {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}
    trace = Trace(written([{"instance_id": "i", "history": [[]]}, {"messages": chat}], "odd.jsonl"))
    expect_equal((trace.first["converter"], len(trace.jobs), trace.left_out("rows that cannot be read")), ("openai", 1, 1), "an empty history")


@case("what a converter of one's own gets wrong costs its jobs alone")
def own():
    code = ("from kvsweep.traces import Job, Turn, converter\n@converter('own', lambda row: 'prompt' in row)\ndef job(row, context):\n"
            "    return Job('j', [Turn([(None, 9)], [(None, 1)]), Turn([tuple(row['prompt'])], [(None, 1)], extends=tuple(row['extends']), after=row.get('after'))])\n")
    rows = [{"prompt": [None, 5], "extends": [0, 10]}, {"prompt": ["s", 0], "extends": [0, 4]}, {"prompt": [7, 5, "user"], "extends": [0, 0]}]
    wrong = [{"prompt": [None, -5], "extends": [0, 10]}, {"prompt": [None, 5.0], "extends": [0, 10]}, {"prompt": [1.5, 5], "extends": [0, 10]}, {"prompt": [-1, 5], "extends": [0, 10]}, {"prompt": ["", 5], "extends": [0, 10]},
             {"prompt": ["x" * 201, 5], "extends": [0, 10]}, {"prompt": [None, 5, "human"], "extends": [0, 10]}, {"prompt": [None, 5], "extends": [0, 11]}, {"prompt": [None, 5], "extends": [0, 10], "after": [1]}]
    trace = Trace(written(rows + wrong, "own.jsonl"), format=str(written(code, "own.py")))
    expect_equal((trace.prompts, trace.left_out("rows that cannot be read")), ([[9, 15], [9, 4], [9, 5]], len(wrong)), "jobs")
    found = subprocess.run([os.environ.get("KVSWEEP_PROGRAM", "kvsweep"), "workload", "--check", os.path.join(FOLDER.name, "trace.jsonl.gz")], capture_output=True, text=True)
    expect_equal(found.returncode, 0, f"the engine reads them ({found.stderr})")


@case("tokenizers and templates are read where their packages are, else one sentence names them")
def texts():
    chat = written([{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}], "chat.jsonl")
    ranks, model, config = written("eA== 0\n", "r.tiktoken"), written('{"model": {}}', "tokenizer.json"), written('{"chat_template": "x"}', "tokenizer_config.json")
    for option, path, lacking in ("--tokenizer", ranks, "tiktoken"), ("--tokenizer", model, "tokenizers"), ("--template", config, "jinja2"):
        code = f"import sys; sys.modules[{lacking!r}] = None; from kvsweep.traces.__main__ import main; main()"
        found = subprocess.run([sys.executable, "-B", "-c", code, str(chat), "--check", option, str(path)], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PYTHONPATH})
        expect_equal((found.returncode, found.stderr.count("\n")), (2, 1), found.stderr)
        expect_in(f"needs the Python package {lacking}, which is not installed", found.stderr, "message")
    for option, content, sentence in (("--tokenizer", "x y z", "expected \"base64 rank\""), ("--tokenizer", "", "no ranks"), ("--template", "{}", "has no chat_template")):
        expect_in(sentence, run(chat, "--check", option, written(content, "wrong"), code=2).stderr, "message")
    expect_in("cannot be read as a tokenizer", run(chat, "--check", "--tokenizer", "nowhere", code=2).stderr, "message")


@case("the package needs nothing but Python's library for formats without texts")
def imports():
    code = ("import sys\nfor name in 'h5py numpy pandas matplotlib tiktoken tokenizers jinja2 pyarrow zstandard'.split(): sys.modules[name] = None\n"
            "from kvsweep.traces.__main__ import main\nmain()")
    subprocess.run([sys.executable, "-B", "-c", code, str(written(ROWS)), "--check"], check=True, capture_output=True, env={**os.environ, "PYTHONPATH": PYTHONPATH})


@case("the rows of a data frame are a trace, whatever numpy makes of them")
def frames():
    pandas, numpy = package("pandas"), package("numpy")
    frame = pandas.DataFrame({"request_id": ["a0", "a1", "b0"], "session_id": ["a", "a", "b"], "wait_for": [None, ["a0"], None], "start_ms": [0, numpy.nan, 0],
                              "tool_wait_ms": [numpy.nan, 2500, numpy.nan], "input_length": numpy.array([130, 200, 64]), "output_length": [8, 5, 3], "block_size": 64,
                              "hash_ids": [numpy.array([1, 2]), [1, 2, 2**63], numpy.array([9], dtype=numpy.uint64)], "tool": ["Bash", None, None]})
    out = pathlib.Path(FOLDER.name) / "frame.jsonl"
    trace = object.__new__(Trace)
    trace.first = traces.from_frame(frame, out)
    trace.read(out)
    expect_equal((trace.prompts, trace.hits, trace.of("gap_s"), trace.of("tool")), ([[130, 200], [64]], [[0, 128], [0]], [None, 2.5], ["Bash", None]), "the trace")


if __name__ == "__main__":
    main()
