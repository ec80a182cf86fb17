#!/usr/bin/env python3
"""Checks the form of README, CHANGELOG, docs and the list of measured cells: words a page and in all, words a sentence, and commit hashes.

    check_words.py ROOT MOST_WORDS_IN_ALL [--expect FILE]

Studies must have their three headings as well. Commands and rows of tables count as words of the page and not as sentences. With FILE, exits with 0 when
the problems are exactly its lines.
"""
import re
import sys
from pathlib import Path

root, most_in_all = Path(sys.argv[1]).resolve(), int(sys.argv[2])
MOST_WORDS = {  # of a page; any other has at most 900
    "CHANGELOG.md": 1900, "docs/adding-a-policy.md": 1700, "docs/architecture.md": 1000, "docs/archive.md": 1800, "docs/capacity.md": 1100,
    "docs/commands.md": 1300, "docs/engine.md": 2600, "docs/extending.md": 1600, "docs/findings.md": 1500, "docs/performance.md": 3000,
    "docs/results.md": 1600, "docs/servers.md": 1300, "docs/traces.md": 1900, "sweeps/measured/README.md": 1000}
MOST_WORDS_OF_A_SENTENCE = 35
MAY_NAME_COMMITS = {
    "docs/performance.md": "a time is of the program that took it",
    "sweeps/measured/README.md": "the CSV files have no other record of the program that measured them",
    "docs/traces.md": "commits of the repositories from which recordings come"}
HEADINGS = ("## Sweep", "## Answer", "## What would overturn it")
HASH = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}\b")
ITEM = re.compile(r" *([-*]|\d+\.) ")


def sentences(text):
    """The sentences of paragraphs and list items; a line that is a command, a row or a heading ends one."""
    paragraphs, current = [], []
    for line in [*re.sub(r"^```.*?^```", "", text, flags=re.M | re.S).splitlines(), ""]:
        stands_alone = not line.strip() or line.startswith(("    ", "#")) or line.lstrip().startswith("|")
        item = ITEM.match(line)
        if (stands_alone or item) and current:
            paragraphs.append(" ".join(current))
            current = []
        if not stands_alone:
            current.append(line[item.end():] if item else line.strip())
    for paragraph in paragraphs:
        plain = re.sub(r"\]\([^)]*\)", "]", paragraph.replace("**", ""))
        yield from re.split(r"(?<=[.!?])\s+", plain)


def problems(page, name):
    text = page.read_text()
    words, most = len(text.split()), MOST_WORDS.get(name, 900)
    if words > most:
        yield f"{words} words, at most {most}"
    for sentence in sentences(text):
        length = len(sentence.split())
        if length > MOST_WORDS_OF_A_SENTENCE:
            yield f"a sentence of {length} words, at most {MOST_WORDS_OF_A_SENTENCE}: {' '.join(sentence.split()[:6])} ..."
    if name not in MAY_NAME_COMMITS:
        yield from (f"{found} is a commit's hash" for found in HASH.findall(text))
    if page.parent.name == "studies":
        yield from (f"no heading \"{heading}\"" for heading in HEADINGS if heading not in text.splitlines())


pages = [page for page in [root / "README.md", root / "CHANGELOG.md", *sorted(root.glob("docs/**/*.md")), root / "sweeps/measured/README.md"]
         if page.exists()]
names = [page.relative_to(root).as_posix() for page in pages]
found = [f"{name}: {problem}" for page, name in zip(pages, names) for problem in problems(page, name)]
in_all = sum(len(page.read_text().split()) for page in pages)
if in_all > most_in_all:
    found.append(f"{in_all} words in all, at most {most_in_all}")
expected = Path(sys.argv[4]).read_text().splitlines() if sys.argv[3:4] == ["--expect"] else []
print("\n".join(found))
sys.exit(0 if pages and found == expected else 1)
