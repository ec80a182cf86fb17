"""docs/traces.md: its converters run as they are printed, and its tables name what there is."""
import json
import re

from world import HERE, ROOT, case, converted, expect, expect_equal, main, written

GUIDE = (ROOT / "docs" / "traces.md").read_text()


def converters():
    return re.findall(r"^```python\n(.*?)^```", GUIDE.partition("## Add a format")[2], re.M | re.S)


@case("the converters of the guide work on its rows, as a person who copies them finds")
def afternoon():
    code, chats = converters()
    rows = [json.loads(line) for line in re.findall(r'^    (\{"talk".*)$', GUIDE, re.M)]
    trace = converted(rows, format=str(written(code, "gateway.py")))
    expect_equal((trace.first["converter"], trace.prompts, trace.hits, trace.answers), ("gateway", [[1200, 1600], [900]], [[0, 1200], [0]], [[40, 25], [60]]), "lengths and sharing")
    expect_equal((trace.of("start_s"), trace.of("tool"), [job["arrival_s"] for job in trace.jobs]), ([None, 7], ["bash", None], [0, 30]), "times and tools")
    expect_equal((trace.left_out("failed requests"), trace.first["assumed"]), (1, ["agents share nothing"]), "what is said")
    broken = converted([*rows, {"talk": "c", "cached": 0}], format=str(written(code, "gateway.py")))
    expect_equal(broken.left_out("rows that cannot be read"), 1, "a row that cannot be read")
    posts = [{"by": by, "says": "word " * 20} for by in ("user", "helper", "tool", "helper")]
    trace = converted([{"thread": "t", "posts": posts}, {"thread": "u", "posts": posts}], format=str(written(chats, "threads.py")))
    expect_equal((trace.first["converter"], trace.answers, trace.hits[1]), ("threads", [[26, 26], [26, 26]], trace.prompts[0]), "chats that begin alike share their tokens")


@case("the table of formats has every converter")
def table():
    from kvsweep.traces import formats
    for each in formats.known():
        expect(re.search(rf"^\| .*`{each.name}`.* \|", GUIDE, re.M), f"no row for {each.name}")
        expect(each.summary, f"{each.name} says what it is")


@case("each converter is one file that says its source and what it cannot tell")
def files():
    folder = HERE.parent.parent / "analysis" / "python" / "kvsweep" / "traces" / "formats"
    for path in sorted(folder.glob("*.py")):
        if path.name not in ("__init__.py", "fields.py"):
            text = path.read_text()
            expect("Source" in text and "Cannot tell: " in text, f"{path.name} says so")
            expect(len(text.splitlines()) <= 130, f"{path.name} has {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
