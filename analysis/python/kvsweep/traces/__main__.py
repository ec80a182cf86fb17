import argparse
import os
import sys
import tempfile

from . import convert, formats
from .check import describe
from .trace import Refused


def main(arguments=None):
    names = "\n".join(f"  {each.name:<13}{each.summary}" for each in formats.known())
    parser = argparse.ArgumentParser(prog="python3 -m kvsweep.traces", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="Makes a trace for kvsweep of what others recorded (docs/traces.md).", epilog=f"formats:\n{names}")
    parser.add_argument("file", help="a file, plain, .gz, .xz, .zst or Parquet, or a folder of them")
    parser.add_argument("-o", "--output", help="the trace, .jsonl or .jsonl.gz")
    parser.add_argument("--check", action="store_true", help="describe and draw what is in the file")
    parser.add_argument("--format", help="one of the formats below, or a Python file with a converter; else it is read off the first rows")
    parser.add_argument("--strict", action="store_true", help="refuse a file with a row that cannot be read, which is else counted and left out")
    parser.add_argument("--tokenizer", help="tokenizer.json or a rank file of tiktoken; without it, 4 bytes are a token")
    parser.add_argument("--template", help="the model's tokenizer_config.json or a jinja file; without it, Llama 3's framing")
    parser.add_argument("--rows", choices=("auto", "whole", "increments"), default="auto", help="whether rows of a session hold the history (mooncake)")
    parser.add_argument("--columns", help="names of a table's columns: prompt_tokens=NAME,answer_tokens=NAME,...")
    options = parser.parse_args(arguments)
    if not options.output and not options.check:
        parser.error("-o names the trace, or --check describes the file")
    try:
        columns = dict(part.split("=", 1) for part in options.columns.split(",")) if options.columns else None
    except ValueError:
        parser.error(f"--columns is {options.columns!r}; allowed: NAME=COLUMN, separated by commas")
    try:
        with tempfile.TemporaryDirectory() as folder:
            out = options.output or os.path.join(folder, "trace.jsonl")
            first = convert(options.file, out, options.format, options.tokenizer, options.template, options.strict, options.rows, columns)
            _say(first, sys.stderr)
            if options.check:
                describe(out, sys.stdout)
    except Refused as problem:
        sys.exit(_failed(problem))
    except BrokenPipeError:
        sys.exit(1)
    except OSError as problem:
        sys.exit(_failed(f"{problem.filename or options.output}: {problem.strerror}"))


def _failed(problem):
    print(f"kvsweep.traces: {problem}", file=sys.stderr)
    return 2


def _say(first, out):
    counts = first["counts"]
    print(f"{first['converter']}: {counts['jobs']} jobs, {counts['turns']} turns, {counts['prompt_tokens']} tokens of prompts, {counts['answer_tokens']} of answers",
          file=out)
    if "tokenizer" in first:
        print(f"counted by: {first['tokenizer']}, template {first['template']}", file=out)
    for line in first["left_out"]:
        tokens = f", {line['tokens']} tokens" if "tokens" in line else ""
        places = f" ({', '.join(line['first'])})" if "first" in line else ""
        print(f"left out: {line['count']} {line['what']}{tokens}: {line['why']}{places}", file=out)
    for sentence in first["assumed"]:
        print(f"assumed: {sentence}", file=out)


if __name__ == "__main__":
    main()
