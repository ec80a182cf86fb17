"""Raises when the second turn of a job joins the queue; says nothing of a tool that runs; and stops its process at an eviction."""
import os

from kvsweep_policy import Policy


class Fails(Policy):
    def rank_turn(self, waiting, now_ns):
        return 1 / (1 - waiting.turn.number)

    def rank_block(self, block, now_ns):
        os._exit(5)
