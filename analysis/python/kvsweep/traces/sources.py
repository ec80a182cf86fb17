"""What others wrote, as rows: JSON lines, JSON lists, CSV, Parquet; plain, .gz, .xz or .zst; a file, or a folder of them."""
import codecs
import csv
import gzip
import hashlib
import io
import itertools
import json
import lzma
import os
import re
import zlib

from .trace import Refused

LARGEST_CELL = 1 << 24
BLANK = re.compile(r"[\s,]*")


class Row(dict):
    """A row with its place, "file:line"."""
    place = None


def needed(module, what):
    """The module, or one clear sentence."""
    try:
        return __import__(module, fromlist=["_"])
    except ImportError:
        raise Refused(f"{what} needs the Python package {module.partition('.')[0]}, which is not installed (python3 -m pip install {module.partition('.')[0]})") from None


def files_of(path):
    """The file, or those of a folder that can be traces, in order of their names."""
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise Refused(f"{path}: there is no such file")
        return [path], []
    found, skipped = [], []
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if not name.startswith("."):
                (skipped if name.lower().endswith((".md", ".txt", ".png", ".html", ".log", ".yaml", ".toml", ".py")) else found).append(os.path.join(folder, name))
    if not found:
        raise Refused(f"{path}: is a folder without files that can be traces")
    return found, skipped


def digest(path, files):
    """SHA-256 of the file, or of the names and contents of a folder's files."""
    whole = hashlib.sha256()
    for name in files:
        if os.path.isdir(path):
            whole.update(os.path.relpath(name, path).encode() + b"\0")
        with open(name, "rb") as file:
            for part in iter(lambda: file.read(1 << 20), b""):
                whole.update(part)
    return whole.hexdigest()


def opened(path):
    """The file's bytes, unpacked. What it is packed by is read off its first bytes."""
    with open(path, "rb") as file:
        magic = file.read(6)
    if magic[:2] == b"\x1f\x8b":
        return gzip.open(path, "rb")
    if magic == b"\xfd7zXZ\0":
        return lzma.open(path, "rb")
    if magic[:4] == b"\x28\xb5\x2f\xfd":
        return io.BufferedReader(needed("zstandard", f"{path}: .zst").ZstdDecompressor().stream_reader(open(path, "rb"), closefd=True))
    if magic[:2] in (b"BZ", b"PK"):
        raise Refused(f"{path}: is packed as {'bzip2' if magic[:2] == b'BZ' else 'zip'}; allowed: plain, .gz, .xz or .zst")
    return open(path, "rb")


def rows(path, notes):
    """Yields the rows of one file. A row that is no object is counted and left out."""
    try:
        with opened(path) as file:
            head = file.peek(1 << 16)[: 1 << 16].removeprefix(codecs.BOM_UTF8).lstrip()
            for at, value in _reader(path, head)(path, file):
                row = None
                with notes.reading(f"{os.path.basename(path)}{at}"):
                    row = row_of(value(), f"{os.path.basename(path)}{at}")
                if row is not None:
                    yield row
    except (EOFError, lzma.LZMAError, zlib.error, OSError, csv.Error) as problem:
        raise Refused(f"{path}: cannot be read: {problem}") from None
    except Exception as problem:   # of packages, which have errors of their own
        if type(problem).__name__ not in ("ZstdError", "ArrowInvalid"):
            raise
        raise Refused(f"{path}: cannot be read: {problem}") from None


def _reader(path, head):
    """Readers yield pairs of a place in the file, and a function that makes the value there."""
    if not head:
        raise Refused(f"{path}: is empty")
    if head[:4] == b"PAR1":
        return _parquet
    if head[:1] not in b"[{":
        return _csv
    return _lines if head[:1] == b"{" and (b"\n" not in head or head.partition(b"\n")[0].strip().endswith(b"}")) else _documents


def row_of(value, place):
    """A list of messages is a chat without a name."""
    if isinstance(value, list) and value and all(isinstance(each, dict) and "role" in each for each in value):
        value = {"messages": value}
    if not isinstance(value, dict):
        raise Refused(f"is {({list: 'a list', str: 'a text', bool: 'true or false', type(None): 'null'}).get(type(value), 'a number')}; allowed: an object")
    row = Row(value)
    row.place = place
    return row


def with_inner(row, key):
    """The row, and the fields of the object that it has under this key."""
    return row_of({**row, **row[key]}, getattr(row, "place", None)) if isinstance(row.get(key), dict) else row


def _text(data, encoding="utf-8-sig"):
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as problem:
        raise Refused(f"is not {encoding[:6].upper().rstrip('-')} at byte {problem.start + 1}") from None


def parsed(text):
    """A JSON value. Numbers that JSON does not have and lone surrogates are refused, as by every other reader."""
    try:
        return _whole(json.loads(text, parse_constant=_no_number), text)
    except RecursionError:
        raise Refused("is nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise Refused(f"is not valid JSON: {problem.msg} at column {problem.colno}") from None


def _no_number(name):
    raise Refused(f"is not valid JSON: {name} is no number")


def _whole(value, text):
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Refused("holds half of a surrogate pair, which is no text") from None
    return value


def _lines(path, file):
    for number, line in enumerate(file, 1):
        if line.strip():
            yield f":{number}", lambda line=line: parsed(_text(line))


def _documents(path, file):
    """A list of rows, or objects that span lines."""
    try:
        text = _text(file.read())
    except Refused as problem:
        raise Refused(f"{path}: {problem}") from None
    decoder, is_list = json.JSONDecoder(parse_constant=_no_number), text.lstrip().startswith("[") and not _is_chat(text)
    at = text.index("[") + 1 if is_list else 0
    for number in itertools.count():
        at = BLANK.match(text, at).end()
        while is_list and text[at : at + 1] == "]":   # another list may follow
            at = BLANK.match(text, at + 1).end()
            at = BLANK.match(text, at + 1).end() if text[at : at + 1] == "[" else at
        if at >= len(text):
            return
        begin = at
        try:
            value, at = decoder.raw_decode(text, begin)
        except (json.JSONDecodeError, RecursionError, Refused) as problem:
            line = getattr(problem, "lineno", text.count("\n", 0, begin) + 1)
            raise Refused(f"{path}:{line}: is not valid JSON: {getattr(problem, 'msg', problem)}") from None
        yield f"[{number}]" if is_list else "", lambda: _whole(value, text[begin:at])


def _is_chat(text):
    """Whether the list is one chat: its objects are messages."""
    start = text.find("{")
    try:
        first, _ = json.JSONDecoder().raw_decode(text, start) if start >= 0 else ({}, 0)
    except (json.JSONDecodeError, RecursionError):
        return False
    return text.count("[", 0, max(start, 0)) == 1 and isinstance(first, dict) and "role" in first and ("content" in first or "tool_calls" in first)


def _csv(path, file):
    data = file.read()
    try:
        text = _text(data, "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig")
    except Refused as problem:
        raise Refused(f"{path}: {problem}") from None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=text.partition("\n")[0].count))
    header = [name.strip() for name in next(reader)]
    if len(header) < 2:
        raise Refused(f"{path}: is neither JSON nor a table with a header")
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice:
        raise Refused(f"{path}: has two columns {twice}")
    for cells in reader:
        if cells:
            yield f":{reader.line_num}", lambda: _cells(header, cells)


def _cells(header, cells):
    if [cell.strip() for cell in cells] == header:
        raise Refused("repeats the header")
    if len(cells) != len(header):
        lines = 1 + sum(cell.count("\n") for cell in cells)
        raise Refused(f"has {len(cells)} cells for {len(header)} columns" + (f" in {lines} lines, which a quote makes one row" if lines > 1 else ""))
    return dict(zip(header, cells))


def _parquet(path, file):
    table = needed("pyarrow.parquet", f"{path}: Parquet").ParquetFile(path)
    values = (value for batch in table.iter_batches(batch_size=256) for value in batch.to_pylist())
    for number, value in enumerate(values, 1):
        yield f":{number}", lambda value=value: {name: each if each == each else None for name, each in value.items()}   # NaN


def frame_rows(frame):
    """The rows of a data frame, with what is missing left out."""
    for number, value in enumerate(frame.to_dict("records")):
        plain = {str(name): _plain(each) for name, each in value.items()}
        yield row_of({name: each for name, each in plain.items() if each is not None}, f"row {number}")


def _plain(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "isoformat"):
        return None if value != value else value.isoformat()
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return None if str(value) in ("<NA>", "NaT") else value
