"""Traces of others, as the one that kvsweep reads (docs/traces.md).

    python3 -m kvsweep.traces FILE -o T.jsonl.gz     # what FILE is, is read off its first rows
    kvsweep.traces.convert("chats.json", "T.jsonl.gz", tokenizer="tokenizer.json")
    kvsweep.traces.from_frame(frame, "T.jsonl.gz")   # a data frame with the columns of any format, or of formats/table.py
"""
import itertools
import os

from . import formats, sources
from .blocks import BlockPaths
from .chats import Chats
from .formats import converter
from .messages import Chat, Message
from .trace import Job, Notes, Refused, TraceFile, Turn

__all__ = ["Chat", "Job", "Message", "Refused", "Turn", "convert", "converter", "from_frame"]


AHEAD = 20   # rows of a file in which one of a known format is looked for


class Context:
    """What a converter is given: `notes` for what it leaves out or assumes, `rows` and `columns` as the user asked for. Which converter reads `rows` is noted."""

    def __init__(self, notes, rows="auto", columns=None):
        self.notes, self._rows, self.columns = notes, rows, columns or {}
        self.asks_rows = False
        self.numbers = itertools.count()   # ids of segments
        self.blocks = {}

    @property
    def rows(self):
        self.asks_rows = True
        return self._rows

    def blocks_of(self, name):
        return self.blocks.setdefault(name, BlockPaths(self.numbers))


def convert(path, out, format=None, tokenizer=None, template=None, strict=False, rows="auto", columns=None):
    """Converts a file or a folder. Returns the first line of the trace, or raises Refused."""
    path, notes = str(path), Notes(strict)
    if os.path.exists(out) and os.path.exists(path) and os.path.samefile(path, out):
        raise Refused(f"{out}: is the file that is to be converted")
    folder = os.path.dirname(os.path.abspath(out))
    if os.path.isdir(out) or not os.path.isdir(folder):
        raise Refused(f"{out}: is a folder; allowed: a file" if os.path.isdir(out) else f"{out}: there is no folder {folder}")
    files, skipped = sources.files_of(path)
    if skipped:
        notes.leave_out("files of the folder", "their names end as no trace's does", count=len(skipped))
    source = {"file": os.path.basename(os.path.abspath(path)), "sha256": sources.digest(path, files)}
    return _convert([(name, sources.rows(name, notes)) for name in files], out, source, notes, format, tokenizer, template, rows, columns)


def from_frame(frame, out, format=None, tokenizer=None, template=None, strict=False, rows="auto", columns=None):
    """Converts the rows of a data frame; what is None or NaN is left out of a row."""
    notes = Notes(strict)
    return _convert([("the data frame", sources.frame_rows(frame))], out, {"file": "a data frame"}, notes, format, tokenizer, template, rows, columns)


def _convert(files, out, source, notes, format, tokenizer, template, rows, columns):
    chats = Chats(notes, tokenizer, template)
    context = Context(notes, rows, columns)
    found = formats.named(format) if format else None
    if columns and not found:
        found = formats.named("table")
    if columns and found.name != "table":
        raise Refused(f"--columns names those of a table; --format is {found.name}")
    trace = TraceFile(out)
    try:
        all_rows = _Rows(files, notes, found)
        for place, item in _items(all_rows, context):
            if isinstance(item, Chat):
                chats.load()
            with notes.reading(place):
                trace.add(chats.job(item) if isinstance(item, Chat) else item)
    except BaseException:
        trace.spool.close()
        raise
    if not trace.counts["jobs"]:
        trace.spool.close()
        reasons = "; ".join(f"{line['what']}: {line['count']}, {line['why']}" + (f" ({line['first'][0]})" if line.get("first") else "") for line in notes.lines())
        raise Refused(f"{source['file']}: holds no job" + (f". Left out: {reasons}" if reasons else ""))
    unused = [f"--{name} changes nothing: rows of {all_rows.format.name} have counts of tokens" for name, value in (("tokenizer", tokenizer), ("template", template))
              if value is not None and chats.template is None]
    if rows != "auto" and not context.asks_rows:
        unused.append(f"--rows {rows} changes nothing for {all_rows.format.name}")
    for sentence in unused:
        notes.assume(sentence)
    return trace.finish({"source": source, "converter": all_rows.format.name, **chats.head()}, notes)


class _Rows:
    """The rows of all files, which are of one format: that of the first row that has one."""

    def __init__(self, files, notes, format):
        self.files, self.notes, self.format, self.asked = files, notes, format, format is not None

    def __iter__(self):
        unknown = None
        for path, rows in self.files:
            rows = self._readable(path, rows)
            ahead = list(itertools.islice(rows, 1 if self.asked else AHEAD))
            if not ahead:
                continue
            try:
                own = self.format if self.asked else formats.detected(ahead, path)
            except Refused as problem:
                own, unknown = None, unknown or problem
            self.format = self.format or own
            if own is self.format and own is not None:
                yield from ahead
                yield from rows
            else:
                self.notes.leave_out("files of another format", f"others are {self.format.name}" if self.format else "it is not known", place=os.path.basename(path))
        if self.format is None and unknown is not None:
            raise unknown

    def _readable(self, path, rows):
        """The rows, up to where the file cannot be read if there are others."""
        try:
            yield from rows
        except Refused as problem:
            if self.notes.strict or len(self.files) < 2:
                raise
            self.notes.leave_out("files that cannot be read to their end", str(problem), place=os.path.basename(path))


def _items(rows, context):
    """Yields (place, job or chat)."""
    stream = iter(rows)
    first = next(stream, None)
    if first is None:
        return
    stream = itertools.chain([first], stream)
    if rows.format.whole:
        for item in rows.format.convert(stream, context):
            yield getattr(item, "place", None), item
        return
    for row in stream:
        items = ()
        with context.notes.reading(row):
            items = rows.format.convert(row, context) or ()
        for item in items if isinstance(items, (list, tuple)) else [items]:
            yield row.place, item
