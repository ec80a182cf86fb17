"""The finished trials of a campaign, one line of JSON each, so that a campaign killed at any instant can continue."""
import json
import os


class Journal:
    def __init__(self, path=None):
        self.path, self.done = path, {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    if line.endswith("\n"):  # the last may have been cut short
                        key, found = json.loads(line)
                        self.done[json.dumps(key)] = found

    def once(self, key, trial):
        """The result of the trial with this name, from the journal or by running it."""
        name = json.dumps(key)
        if name not in self.done:
            found = json.loads(json.dumps(trial()))
            self.done[name] = found
            if self.path:
                with open(self.path, "a", encoding="utf-8") as lines:
                    lines.write(f"[{name}, {json.dumps(found)}]\n")
        return self.done[name]


def arguments(words, count):
    """(journal, count, the other words) of a command line."""
    words, path = list(words), None
    if "--log" in words:
        at = words.index("--log")
        path = words[at + 1]
        del words[at:at + 2]
    if words and words[0].isdigit():
        count = int(words.pop(0))
    return Journal(path), count, words
