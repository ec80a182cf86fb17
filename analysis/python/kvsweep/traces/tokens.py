"""Counts tokens: by a tokenizer file of the user, or four bytes a token."""
import base64
import hashlib
import os
from array import array
from itertools import accumulate

from .sources import needed
from .trace import Refused

CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])


class Bytes:
    """Four bytes are a token."""
    name, digest = "4 bytes a token (no tokenizer file)", None

    def encode(self, text):
        data = text.encode()
        tokens = array("I")
        tokens.frombytes(data + b"\0" * (-len(data) % 4))
        return tokens

    def starts(self, text):
        return self.encode(text), range(0, len(text.encode()), 4)


class Ranks:
    """A rank file of tiktoken. Which pattern splits its texts is read off its size, or the file says it in its name."""
    def __init__(self, path, data):
        ranks = {}
        for number, line in enumerate(data.splitlines(), 1):
            try:
                if line.strip():
                    token, rank = line.split()
                    ranks[base64.b64decode(token, validate=True)] = int(rank)
            except ValueError:
                raise Refused(f"{path}:{number}: found {line[:40]!r}, expected \"base64 rank\" (tiktoken rank file) or a JSON object (tokenizer.json)") from None
        if not ranks:
            raise Refused(f"{path}: no ranks, not a tokenizer file")
        pattern = O200K if len(ranks) > 150_000 else CL100K if len(ranks) >= 100_000 else GPT2
        name = os.path.basename(path)
        self.encoding = needed("tiktoken", f"{path}: a rank file").Encoding(name=name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        self.name, self.digest = name, hashlib.sha256(data).hexdigest()

    def encode(self, text):
        return array("I", self.encoding.encode_ordinary(text))

    def starts(self, text):
        tokens = self.encode(text)
        sizes = [len(self.encoding.decode_single_token_bytes(token)) for token in tokens]
        return tokens, list(accumulate(sizes, initial=0))[:-1]


class HuggingFace:
    """A tokenizer.json."""

    def __init__(self, path, data):
        try:
            self.tokenizer = needed("tokenizers", f"{path}: a tokenizer.json").Tokenizer.from_str(data.decode())
        except Refused:
            raise
        except Exception as problem:   # the package raises a plain Exception
            raise Refused(f"{path}: is no tokenizer.json: {problem}") from None
        self.name, self.digest = os.path.basename(path), hashlib.sha256(data).hexdigest()

    def encode(self, text):
        return array("I", self.tokenizer.encode(text, add_special_tokens=False).ids)

    def starts(self, text):
        found = self.tokenizer.encode(text, add_special_tokens=False)
        ends = list(accumulate((len(char.encode()) for char in text), initial=0))
        return array("I", found.ids), [ends[begin] for begin, _ in found.offsets]


def load(path):
    if path is None:
        return Bytes()
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as problem:
        raise Refused(f"{path}: cannot be read as a tokenizer: {problem.strerror}") from None
    return (HuggingFace if data.lstrip()[:1] == b"{" else Ranks)(path, data)


def unknown(count, below=[0xFFFFFF00]):
    """Tokens that occur nowhere else: no tokenizer has their ids."""
    below[0] -= count
    return array("I", range(below[0], below[0] + count))


def pieces(tokenizer, parts):
    """[(label, tokens)] of adjacent texts (label, text) that are tokenized as one. A token counts where it begins."""
    parts = [(label, text) for label, text in parts if text]
    if len(parts) < 2:
        return [(label, tokenizer.encode(text)) for label, text in parts]
    tokens, starts = tokenizer.starts("".join(text for _, text in parts))
    found, begin, end = [], 0, 0
    for label, text in parts:
        end += len(text.encode())
        stop = begin
        while stop < len(tokens) and starts[stop] < end:
            stop += 1
        if stop > begin:
            found.append((label, tokens[begin:stop]))
        begin = stop
    return found
