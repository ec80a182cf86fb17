#!/usr/bin/env python3
"""Checks that every relative link of the Markdown files leads to a file, and where it names a heading, to that heading.

    check_links.py ROOT [--expect FILE]

Pages of a folder "planted" within ROOT are left out. With FILE, exits with 0 when the problems are exactly its lines.
"""
import re
import subprocess
import sys
from pathlib import Path

root = Path(sys.argv[1]).resolve()


def headings(text):
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    names = re.findall(r"^#+ +(.*?) *$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", name.lower())).replace(" ", "-") for name in names}


def broken(page):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*\]\([^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, heading = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                yield f"{page.relative_to(root)}:{number}: {target}: there is no such file"
            elif heading and heading not in headings(file.read_text()):
                yield f"{page.relative_to(root)}:{number}: {target}: {path or page.name} has no such heading"


listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True)
pages = [root / name for name in listed.stdout.split("\n") if name] if listed.returncode == 0 else \
    [page for page in root.rglob("*.md") if not {"build", "node_modules"} & set(page.relative_to(root).parts)]
pages = sorted(page for page in pages if page.exists() and "planted" not in page.relative_to(root).parts)
found = [problem for page in pages for problem in broken(page)]
expected = Path(sys.argv[3]).read_text().splitlines() if sys.argv[2:3] == ["--expect"] else []
print("\n".join(found))
sys.exit(0 if pages and found == expected else 1)
