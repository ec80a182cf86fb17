"""What others wrote, as rows: JSON lines, JSON lists, CSV, Parquet; plain, .gz, .xz or .zst; a file, or a folder of them."""
import codecs
import csv
import gzip
import hashlib
import io
import json
import lzma
import os

from .trace import Refused

LARGEST_CELL = 1 << 24


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


def is_parquet(path):
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def rows(path, notes):
    """Yields the rows of one file. A row that is no JSON object is counted and left out."""
    try:
        if is_parquet(path):
            yield from _parquet_rows(path)
            return
        with opened(path) as file:
            head = file.peek(1 << 16)[: 1 << 16] if hasattr(file, "peek") else b""
            kind = _kind(head)
            if kind is None:
                raise Refused(f"{path}: is empty")
            reader = {"list": _documents, "lines": _lines, "documents": _documents, "csv": _csv_rows}[kind]
            yield from reader(path, file, notes)
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, OSError) as problem:
        raise Refused(f"{path}: cannot be read: {problem}") from None


def _kind(head):
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if text[:1] == b"[":
        return "list"
    if not text:
        return None
    if text[:1] != b"{":
        return "csv"
    first = text.partition(b"\n")[0].strip()
    return "documents" if b"\n" in text and not first.endswith(b"}") else "lines"


def parsed(text, place):
    """A JSON value. Numbers that JSON does not have and lone surrogates are refused, as by every other reader."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise Refused("is nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise Refused(f"is not valid JSON: {problem.msg} at column {problem.colno}") from None
    if "\\ud" in text or "\\uD" in text:
        _no_lone_surrogate(value)
    return value


def _no_number(name):
    raise Refused(f"is not valid JSON: {name} is no number")


def _no_lone_surrogate(value):
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused("holds half of a surrogate pair, which is no text") from None


def _row(value, place):
    """A list of messages is a chat without a name."""
    if isinstance(value, list) and value and all(isinstance(each, dict) and "role" in each for each in value):
        value = {"messages": value}
    if not isinstance(value, dict):
        raise Refused(f"is {_name_of(value)}; allowed: an object")
    row = Row(value)
    row.place = place
    return row


def _name_of(value):
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")


class _At:
    def __init__(self, place):
        self.place = place


def _lines(path, file, notes):
    for number, line in enumerate(file, 1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        place = f"{os.path.basename(path)}:{number}"
        row = None
        with notes.reading(_At(place)):
            try:
                text = line.decode()
            except UnicodeDecodeError as problem:
                raise Refused(f"is not UTF-8 at byte {problem.start + 1}") from None
            value = parsed(text, place)
            row = _row(value, place)
        if row is not None:
            yield row


def _documents(path, file, notes):
    """A list of rows, or objects that span lines."""
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Refused(f"{path}: is not UTF-8 at byte {problem.start + 1}") from None
    decoder = json.JSONDecoder(parse_constant=_no_number)
    at, line, number = 0, 1, 0
    blank = " \t\r\n"
    is_list = text.lstrip(blank).startswith("[") and not _is_chat(text)
    if is_list:
        at = text.index("[") + 1
    while True:
        while at < len(text) and (text[at] in blank or (is_list and text[at] == ",")):
            at += 1
        if at >= len(text) or (is_list and text[at] == "]"):
            return
        number += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError, Refused) as problem:
            raise Refused(f"{path}:{getattr(problem, 'lineno', text.count(chr(10), 0, at) + 1)}: is not valid JSON: {getattr(problem, 'msg', problem)}") from None
        line += text.count("\n", at, end)
        place = f"{os.path.basename(path)}[{number - 1}]" if is_list else os.path.basename(path)
        row = None
        with notes.reading(_At(place)):
            if "\\ud" in text[at:end] or "\\uD" in text[at:end]:
                _no_lone_surrogate(value)
            row = _row(value, place)
        if row is not None:
            yield row
        at = end


def _is_chat(text):
    """Whether the list is one chat: its objects are messages."""
    start = text.find("{")
    try:
        first, _ = json.JSONDecoder().raw_decode(text, start) if start >= 0 else ({}, 0)
    except (json.JSONDecodeError, RecursionError):
        return False
    return isinstance(first, dict) and "role" in first and ("content" in first or "tool_calls" in first)


def _csv_rows(path, file, notes):
    data = file.read()
    encoding = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as problem:
        raise Refused(f"{path}: is not {encoding[:6].upper().rstrip('-')} at byte {problem.start + 1}") from None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=lines.count)
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    header = [name.strip() for name in next(reader, [])]
    if len(header) < 2 and not lines.replace(" ", "").replace(".", "").isdigit():
        raise Refused(f"{path}: is neither JSON nor a table with a header")
    try:
        for cells in reader:
            if not cells:
                continue
            place = f"{os.path.basename(path)}:{reader.line_num}"
            row = None
            with notes.reading(_At(place)):
                if [cell.strip() for cell in cells] == header:
                    raise Refused("repeats the header")
                if len(cells) != len(header):
                    raise Refused(f"has {len(cells)} cells for {len(header)} columns")
                row = Row(zip(header, cells))
                row.place = place
            if row is not None:
                yield row
    except csv.Error as problem:
        raise Refused(f"{path}:{reader.line_num}: {problem}") from None


def _parquet_rows(path):
    table = needed("pyarrow.parquet", f"{path}: Parquet").ParquetFile(path)
    number = 0
    for batch in table.iter_batches(batch_size=256):
        for value in batch.to_pylist():
            number += 1
            row = Row(value)
            row.place = f"{os.path.basename(path)}:{number}"
            yield row


def frame_rows(frame):
    """The rows of a data frame, with what is missing left out."""
    for number, value in enumerate(frame.to_dict("records")):
        row = Row((str(name), plain) for name, plain in ((name, _plain(each)) for name, each in value.items()) if plain is not None)
        row.place = f"row {number}"
        yield row


def _plain(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if hasattr(value, "isoformat"):
        return None if value != value else value.isoformat()
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return None if str(value) in ("<NA>", "NaT") else value
