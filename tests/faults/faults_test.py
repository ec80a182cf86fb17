"""Whichever single system call fails, below every library, no result is lost and no damage is reported as success."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "farm"))
from cases import case, expect_equal, main, scaled  # noqa: E402
from faults import CALLS, KILLS, SCENARIOS, Campaign, spread  # noqa: E402
from mutations import Archives  # noqa: E402

WRITES = 3  # failing writes of a scenario, spread over all that it makes; one call of each other kind


def survives(name):
    """Strikes the scenario once at each place; from then on at every second one."""
    scenario = next(each for each in SCENARIOS if each.name == name)
    wrong, strikes = [], 0
    with Campaign() as campaign:
        for call in (*CALLS, *KILLS) if scenario.archive else CALLS:
            calls = campaign.calls_of(scenario, call)
            for nth in spread(calls, scaled(WRITES) if call == "write" else 1):
                strikes += 1
                code, fault = campaign.strike(scenario, call, nth, should_retry=call in CALLS and strikes % 2 == 0)
                if fault:
                    wrong.append(f"{call} {nth} of {calls}, exit code {code}: {fault}")
    expect_equal(wrong, [], f"faults that {name} does not survive")
    expect_equal(strikes > 1, True, "some call of the scenario fails")


@case("a run whose system calls fail loses nothing, and the next one ends it")
def run_survives():
    survives("run")


@case("a resumed run whose system calls fail loses nothing of what the archive had")
def resume_survives():
    survives("resume")


@case("a merge of archives whose system calls fail leaves a whole archive or none")
def merge_survives():
    survives("merge")


@case("a salvage whose system calls fail leaves a whole archive or none")
def salvage_survives():
    survives("salvage")


@case("an export and a report whose system calls fail say so")
def readers_survive():
    survives("export")
    survives("report")


@case("no command dies of a flipped bit, and what check passes is what was stored")
def mutations_are_reported():
    with Archives() as archives:
        wrong = [(number, fault) for number in range(scaled(4)) for fault in archives.mutate(number)[3]]
    expect_equal(wrong, [], "archives that a command did not survive")


if __name__ == "__main__":
    main()
