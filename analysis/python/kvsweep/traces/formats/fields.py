"""Fields of rows: counts of tokens, numbers, names."""
from ..trace import MOST_TOKENS, Refused


def first(row, *names):
    """The first of these fields that the row has."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def text(row, *names):
    """A name, which may be a number; 0 is one."""
    value = first(row, *names)
    return "" if value is None else str(value)


def count(row, *names, needed=True):
    value = first(row, *names)
    if value is None:
        if needed:
            raise Refused(f"has no {names[0]}")
        return None
    return tokens(value, names[0])


def tokens(value, name):
    try:
        found = float(value.replace(",", "")) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        found = -1.0
    if isinstance(value, bool) or not 0 <= found <= MOST_TOKENS or found % 1:
        raise Refused(f"{name} is {value!r}; allowed: a whole number of tokens from 0 to {MOST_TOKENS}")
    return int(found)


def least(value, what, notes):
    """At least one token, as every engine reads and generates one."""
    if value == 0:
        notes.assume(f"{what} of 0 tokens are replayed as 1 token: every engine has one at least", 1)
    return max(value, 1)


def lengths(row, prompt, answer, notes):
    """Tokens of prompt and answer, by these names of their fields."""
    return least(count(row, *prompt), "prompts", notes), least(count(row, *answer), "answers", notes)


def number(row, name, needed=False):
    value = row.get(name)
    if value in (None, ""):
        if needed:
            raise Refused(f"has no {name}")
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = -1.0
    if isinstance(value, bool) or not 0 <= found < 1e20:
        raise Refused(f"{name} is {value!r}; allowed: a number from 0")
    return found
