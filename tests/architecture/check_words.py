#!/usr/bin/env python3
"""Checks the form of docs/findings.md and docs/studies: words a page, words a sentence, headings, and no commit hashes.

    check_words.py ROOT [--expect FILE]

Commands and rows of tables count as words of the page and not as sentences. With FILE, exits with 0 when the problems are exactly its lines.
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1]).resolve()
MOST_WORDS = {"findings.md": 1500}  # of a page; a study has at most 900
MOST_WORDS_OF_A_SENTENCE = 35
HEADINGS = ("## Sweep", "## Answer", "## What would overturn it")
HASH = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}\b")


def sentences(lines):
    """The sentences of paragraphs and list items; a line that is a command, a row or a heading ends one."""
    paragraphs, current = [], []
    for line in [*lines, ""]:
        ends = not line.strip() or line.startswith(("|", "    ", "#", "- "))
        if ends and current:
            paragraphs.append(" ".join(current))
            current = []
        if not ends or line.startswith("- "):
            current.append(line.strip())
    for paragraph in paragraphs:
        plain = re.sub(r"\]\([^)]*\)", "]", paragraph.replace("**", ""))
        yield from re.split(r"(?<=[.!?])\s+", plain)


def problems(page):
    text = page.read_text()
    words, most = len(text.split()), MOST_WORDS.get(page.name, 900)
    if words > most:
        yield f"{words} words, at most {most}"
    for sentence in sentences(text.splitlines()):
        length = len(sentence.split())
        if length > MOST_WORDS_OF_A_SENTENCE:
            yield f"a sentence of {length} words, at most {MOST_WORDS_OF_A_SENTENCE}: {' '.join(sentence.split()[:6])} ..."
    for found in HASH.findall(text):
        yield f"{found} is a commit's hash"
    if page.parent.name == "studies":
        yield from (f"no heading \"{heading}\"" for heading in HEADINGS if heading not in text.splitlines())


pages = sorted((root / "docs/studies").glob("*.md")) + sorted((root / "docs").glob("findings.md"))
found = [f"{page.relative_to(root)}: {problem}" for page in pages for problem in problems(page)]
expected = Path(sys.argv[3]).read_text().splitlines() if sys.argv[2:3] == ["--expect"] else []
print("\n".join(found))
sys.exit(0 if pages and found == expected else 1)
