"""Texts as segments: what two chats have in common from their beginning has equal ids, token for token."""
import os
import tempfile
from array import array

from .blocks import common


class TextPaths:
    """A tree of token sequences. An edge is what one job added; its tokens are on disk, since a million chats do not fit in memory."""

    def __init__(self):
        self.file = tempfile.TemporaryFile(buffering=0)
        self.size = 0
        self.next_id = 0
        self.edges = []   # (offset in the file, ends of its segments, id of the first one)
        self.kids = {}    # (edge or -1, tokens into it, next token): edge

    def place(self, path, pieces):
        """Adds pieces (label, tokens) behind `path`, a list of (edge, tokens into it), which moves to their end. Returns the segments
        of each piece."""
        tokens, ends = array("I"), []
        for _, part in pieces:
            tokens.extend(part)
            ends.append(len(tokens))
        spans = self._follow(path, tokens, ends)
        return _by_piece(spans, pieces, ends)

    def _follow(self, path, tokens, ends):
        spans, at = [], 0   # (id, tokens)
        while at < len(tokens):
            edge, into = path[-1] if path else (-1, 0)
            length = self._equal(edge, into, tokens, at, ends) if edge >= 0 else 0
            if length == 0:
                edge, into, key = self.kids.get((edge, into, tokens[at])), 0, (edge, into, tokens[at])
                length = 0 if edge is None else self._equal(edge, 0, tokens, at, ends)
                if length == 0:
                    spans += self._add(path, key, tokens[at:], [end - at for end in ends if end > at])
                    return spans
                path.append((edge, 0))
            spans += self._spans(edge, into, length)
            path[-1] = (edge, into + length)
            at += length
        return spans

    def _add(self, path, key, tokens, ends):
        edge = len(self.edges)
        self.edges.append((self.size, tuple(ends), self.next_id))
        self.kids.setdefault(key, edge)
        self.next_id += len(ends)
        self.file.write(tokens.tobytes())
        self.size += len(tokens)
        path.append((edge, len(tokens)))
        return self._spans(edge, 0, len(tokens))

    def _equal(self, edge, into, tokens, at, ends):
        """How many tokens from `at` on equal the edge's, as far as whole segments of the edge can say so."""
        offset, bounds, _ = self.edges[edge]
        most = min(bounds[-1] - into, len(tokens) - at)
        if most <= 0 or (into > 0 and into not in bounds):
            return 0
        equal = common(array("I", os.pread(self.file.fileno(), 4 * most, 4 * (offset + into))), tokens[at : at + most])
        known = set(bounds)
        for end in ends:   # a piece that ends inside a segment of the edge cannot be continued there
            if 0 < end - at < equal and into + end - at not in known:
                return end - at
        return equal

    def _spans(self, edge, into, length):
        _, bounds, number = self.edges[edge]
        spans, begin, stop = [], 0, into + length
        for end in bounds:
            if end > into and begin < stop:
                spans.append((number, min(end, stop) - begin))
            begin, number = end, number + 1
        return spans


def _by_piece(spans, pieces, ends):
    found, at, piece = [[] for _ in pieces], 0, 0
    for number, length in spans:
        while piece < len(ends) - 1 and at >= ends[piece]:
            piece += 1
        found[piece].append((number, length, pieces[piece][0]))
        at += length
    return found
