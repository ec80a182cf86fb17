"""Servers are measured on the card that NVIDIA's driver names, whether or not kvsweep was built with CUDA."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "farm")]
from cases import case, expect_equal, expect_in, main
from farm import Folder
from scripted import sweep_of


class Machine(Folder):
    """A machine with one card, and a sweep of a vLLM on an H100."""

    def __init__(self, card, mib):
        super().__init__()
        for library in "libcuda.so.1", "libnvidia-ml.so.1":
            os.symlink(os.environ["KVSWEEP_FAKE_DRIVER"], self.file(library))
        self.card = {"LD_LIBRARY_PATH": self.file("."), "FAKE_CARD": card, "FAKE_CARD_MIB": str(mib)}
        self.write("servers.toml", sweep_of({"a": ""}, jps=(50,)))

    def measure(self, ranks=1):
        return self.run("--archive", "a.h5", sweep_file="servers.toml", more=self.card, ranks=ranks)

    def said(self, *words, code=0):
        outcome = self.start(*words).wait()
        expect_equal(outcome.code, code, f"exit code ({outcome})")
        return outcome.out + outcome.err


@case("a server is measured on the card that the driver names, without --as-sku")
def measured():
    with Machine("NVIDIA H100 80GB HBM3", 81559) as machine:
        outcome = machine.measure()
        expect_equal(outcome.code, 0, f"exit code ({outcome})")
        expect_in("1 of 1 cells have a result", outcome.out, "the end")


@case("a server's cells wait for the card that they name: another one leaves them as they were")
def another_card():
    with Machine("NVIDIA H200", 143771) as machine:
        outcome = machine.measure()
        expect_equal(outcome.code, 4, f"exit code ({outcome})")
        expect_in("h200-141gb", outcome.err + outcome.out, "what is there")


@case("steps that a server logs are stored, fitted and compared as those of other backends")
def steps():
    with Machine("NVIDIA H100 80GB HBM3", 81559) as machine:
        machine.write("servers.toml", sweep_of({"a": "", "b": "--block-size 16"}, jps=(50,)).replace("[server]", "[server]\nsteps = true"))
        expect_equal(machine.measure().code, 0, "exit code")
        expect_equal(len(machine.names("a.h5.logs/*.steps.jsonl")), 1, "logs of steps")
        fit = machine.said("fit", "a.h5")
        expect_in("MEASURED (server, vllm 0.30.0, asynchronous): ", fit, "whose steps")
        expect_in("steps of 2 cells", fit, "cells")
        expect_in("us x scheduled tokens", fit, "costs")
        expect_in('[servers."vllm 0.30".async]  # of vllm 0.30.0, asynchronous', fit, "constants for the card's profile")
        expect_in("cell 0", machine.said("diff", "a.h5", "0", "1"), "the difference")
        expect_in('"event":"step_decision"', machine.said("trace", "a.h5", "0", "--steps"), "a trace of its steps")
        machine.said("trace", "a.h5", "0", "--format", "perfetto", "-o", "a.json")
        machine.said("check", "a.h5")


@case("a card of no profile is refused with its name, and the run has written no cell")
def unknown_card():
    for ranks, who in (1, "kvsweep: "), (3, "kvsweep: worker of rank "):
        with Machine("Tesla V100-PCIE-16GB", 16384) as machine:
            outcome = machine.measure(ranks)
            expect_equal(outcome.code, 2, f"exit code ({outcome})")
            reasons = [line for line in outcome.err.splitlines() if "Tesla V100-PCIE-16GB" in line]
            expect_equal(len(reasons), 1, f"reasons ({outcome})")
            expect_equal(reasons[0].startswith(who), True, f"whose it is ({outcome})")
            expect_equal(machine.names("a.h5.d/*.run"), [], "marks")


if __name__ == "__main__":
    main()
