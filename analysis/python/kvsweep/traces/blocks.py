"""Prompts that are named block by block, as segments: blocks that occur together are one segment."""
from array import array

from .trace import Refused


class Path:
    """What one prompt consists of: its ids, the nodes they lead through, and runs (segment, blocks)."""
    __slots__ = ("ids", "nodes", "runs")

    def __init__(self, ids=(), nodes=(), runs=()):
        self.ids, self.nodes, self.runs = list(ids), list(nodes), list(runs)


class BlockPaths:
    """A tree of blocks. An id counts together with everything before it, so what two prompts have in common is a path from the root."""

    def __init__(self, numbers):
        self.numbers = numbers             # ids of segments, for the whole file
        self.after = {}                    # (node, id): node
        self.segment = array("q", [-1])    # by node

    def follow(self, ids, before=None):
        """The path of `ids`, which may have its beginning in common with the path `before`."""
        path = Path(ids)
        if before is not None:
            same = common(ids, before.ids)
            path.nodes, path.runs = before.nodes[:same], cut(before.runs, same)
        node = path.nodes[-1] if path.nodes else 0
        for at in range(len(path.nodes), len(ids)):
            known = self.after.get((node, ids[at]))
            if known is None:
                self._grow(path, node, ids[at:])
                break
            node = known
            path.nodes.append(node)
            _extend(path.runs, self.segment[node])
        return path

    def _grow(self, path, node, ids):
        number = next(self.numbers)
        for each in ids:
            self.after[node, each] = node = len(self.segment)
            self.segment.append(number)
            path.nodes.append(node)
        path.runs.append((number, len(ids)))


def common(a, b):
    """How many leading elements are equal."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low if low == high or a[low:high] != b[low:high] else high


def cut(runs, count):
    """The beginning of a list of (what, how much of it)."""
    kept = []
    for what, much in runs:
        if count <= 0:
            break
        kept.append((what, min(much, count)))
        count -= much
    return kept


def _extend(runs, number):
    if runs and runs[-1][0] == number:
        runs[-1] = (number, runs[-1][1] + 1)
    else:
        runs.append((number, 1))


def check_fit(ids, tokens, size):
    if not tokens // size <= len(ids) <= -(-tokens // size):
        raise Refused(f"has {len(ids)} block ids for a prompt of {tokens} tokens; allowed: {tokens // size} or {-(-tokens // size)} blocks of {size} tokens")


def prompt_of(path, tokens, size, base=None):
    """(extends, segments) of a prompt. `base`: (turn, its path, its tokens) of an earlier turn of the job."""
    shared = own = 0
    if base is not None:
        turn, before, limit = base
        limit = min(limit, tokens)
        for mine, other in zip(path.runs, before.runs):
            if mine != other or (shared + mine[1]) * size > limit:
                break
            shared, own = shared + mine[1], own + 1
    extends, left = ((turn, shared * size), tokens - shared * size) if shared else (None, tokens)
    segments = []
    for number, blocks in path.runs[own:]:
        if left > 0:
            segments.append((number, min(blocks * size, left)))
            left -= segments[-1][1]
    if left > 0:
        segments.append((None, left))
    return extends, segments
