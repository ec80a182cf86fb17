"""Kills farms at random instants, resumes them, and says whether a result was lost, done twice or could not be read.

    KVSWEEP_PROGRAM=... python3 -B kills.py [COUNT] [--log FILE]

COUNT (100) kills, in rounds of 25 with a driver and two workers, and of 5 with one process; readers open the archives meanwhile.
With --log, rounds that are in FILE are not done again.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "farm"))
from journal import arguments  # noqa: E402
from kill_test import killed_at_random  # noqa: E402


def found_in_round(seed, ranks, kills):
    """What was wrong, if anything, and how often the archive was opened meanwhile."""
    try:
        return {"opened": killed_at_random(seed, ranks, kills), "wrong": ""}
    except AssertionError as error:
        return {"opened": 0, "wrong": str(error)}


def main(words):
    journal, count, _ = arguments(words, 100)
    done = opened = wrong = seed = 0
    while done < count:
        for ranks, kills in (3, 25), (1, 5):
            found = journal.once([seed, ranks, kills], lambda: found_in_round(1000 + seed, ranks, kills))
            done, opened = done + kills, opened + found["opened"]
            if found["wrong"]:
                wrong += 1
                print(f"WRONG: seed {seed}, {ranks} ranks: {found['wrong']}", flush=True)
        seed += 1
    print(f"{done} kills, archives opened {opened} times meanwhile, {wrong} rounds wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
