"""From others' rows to a report: convert, run, report."""
import json
import os
import pathlib
import subprocess
import tempfile

from world import case, converted, expect, expect_equal, expect_in, main, package, traces, written

PROGRAM = os.environ.get("KVSWEEP_PROGRAM", "kvsweep")
SWEEP = """schema = 1
[sweep]
name = "rows"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum"]
[workload]
kind = "trace"
path = "T.jsonl.gz"
"""


def trajectory(number):
    """A row as SWE-smith's Parquet has it: messages are JSON text."""
    messages = [{"role": "system", "content": "You can use bash. " * 60}, {"role": "user", "content": f"Fix issue {number}. " * 40}]
    for turn in range(4 + number):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": f"sed -n {turn} file{number}.py"})}}
        messages += [{"role": "assistant", "content": "Let me look. " * 10, "tool_calls": [call]}, {"role": "tool", "content": f"line {turn} of {number} " * 30, "tool_call_id": f"c{turn}"}]
    messages.append({"role": "assistant", "content": "Done."})
    return {"messages": json.dumps(messages), "instance_id": f"repo.{number}", "resolved": True, "model": "m", "traj_id": f"repo.{number}.x", "patch": "diff"}


ROWS = [trajectory(number) for number in range(6)]


def kvsweep(folder, *words):
    done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    expect_equal(done.returncode, 0, f"{words[0]}: {done.stdout} {done.stderr}")
    return done.stdout


def replayed(path):
    """Converts a file, runs it, and checks that the cells have its jobs, tokens and hits."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        trace = converted(path.read_bytes(), path.name)
        traces.convert(path, folder / "T.jsonl.gz")
        (folder / "s.toml").write_text(SWEEP)
        kvsweep(folder, "run", "s.toml", "--set", "jps=1", "--archive", "s.h5")
        rows = [json.loads(line) for line in kvsweep(folder, "export", "s.h5", "--table", "turns", "--format", "jsonl").splitlines()]
        for cell in 0, 1:
            found = sorted((row["prompt_tok"], row["output_tok"]) for row in rows if row["cell"] == cell)
            expect_equal(found, sorted(pair for prompts, answers in zip(trace.prompts, trace.answers) for pair in zip(prompts, answers)), f"tokens of cell {cell}")
        kvsweep(folder, "report", "s.h5", "-o", "page")
        expect(any(folder.joinpath("page").iterdir()), "a report")
        expect_in("openai", kvsweep(folder, "workload", "--check", "T.jsonl.gz"), "what the engine says of it")


@case("rows of SWE-smith run and have a report, with the tokens that were converted")
def lines():
    replayed(written(ROWS, "swesmith.jsonl"))


@case("a Parquet of SWE-smith's rows runs and has a report")
def parquet():
    table = package("pyarrow").Table.from_pylist(ROWS)
    path = written("", "tool-0.parquet")
    package("pyarrow.parquet").write_table(table, str(path))
    replayed(path)


if __name__ == "__main__":
    main()
