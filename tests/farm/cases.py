"""Test cases whose names are sentences: `python3 FILE "sentence"` runs one, `python3 FILE` all."""
import os
import sys
import time
import traceback

_cases = {}


class Skipped(Exception):
    pass


def case(sentence):
    def register(function):
        _cases[sentence] = function
        return function

    return register


def skip(reason):
    raise Skipped(reason)


def scaled(documented):
    """Divides the count of the documented run by KVSWEEP_TEST_SCALE; at least 1."""
    return max(1, documented // max(1, int(os.environ.get("KVSWEEP_TEST_SCALE", "1"))))


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def expect_equal(found, expected, what):
    expect(found == expected, f"{what}: found {found!r}, expected {expected!r}")


def expect_in(text, whole, what):
    expect(text in whole, f"{what}: {text!r} is not in {whole!r}")


def main():
    failed = 0
    for sentence in sys.argv[1:] or _cases:
        started = time.monotonic()
        try:
            _cases[sentence]()
            print(f"passed in {time.monotonic() - started:.1f} s: {sentence}", flush=True)
        except Skipped as reason:
            print(f"SKIPPED: {sentence}: {reason}", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"FAILED: {sentence}", flush=True)
    sys.exit(1 if failed else 0)
