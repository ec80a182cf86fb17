"""What fcfs_lru.c decides."""
from kvsweep_policy import Policy


class FcfsLru(Policy):
    def __init__(self, setup):
        super().__init__(setup)
        self.releases = 0
        self.released = [0] * (setup.num_blocks + 1)

    def rank_turn(self, waiting, now_ns):
        return -waiting.joined if waiting.again else waiting.joined

    def choose_victim(self, running):
        return running[-1].id

    def on_freed(self, block):
        self.releases += 1
        self.released[block] = self.releases

    def rank_block(self, block, now_ns):
        return self.released[block]
