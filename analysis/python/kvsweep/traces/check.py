"""Describes a trace: lengths, times, and what its prompts have in common for a cache that never forgets."""
import gzip
import json


def jobs_of(path):
    """Yields the first line, then the jobs."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


class Sharing:
    """A tree of segments. A prompt's hit is its longest beginning that occurred before, in a prompt or an answer."""

    def __init__(self):
        self.nodes = [{}]   # by node: id: [tokens that occurred, {tokens: node behind them}]

    def turns(self, job):
        """Yields (prompt tokens, hit tokens) of each turn."""
        paths = []
        for turn in job["turns"]:
            base, path = turn.get("extends"), []
            if base is not None:
                path = list(paths[base]) if isinstance(base, int) else _cut(paths[base[0]], base[1])
            known = sum(tokens for _, tokens, _ in path)
            hit, whole, path = self._add(path, turn["prompt"], known)
            yield whole, hit
            paths.append(self._add(path, turn["answer"], whole)[2])

    def _add(self, path, segments, at):
        hit, hits = at, True
        node = path[-1][2] if path else 0
        for segment in segments:
            name, tokens = segment[0], segment[1]
            if node is None:                       # a path that was cut inside a segment goes on where nothing else does
                node, hits = self._new(), False
            if name is None:
                name, hits = (node, len(self.nodes)), False
            entry = self.nodes[node].setdefault(name, [0, {}])
            if hits:
                hit += min(tokens, entry[0])
                hits = entry[0] >= tokens and (entry[0] == tokens or tokens in entry[1])
            entry[0] = max(entry[0], tokens)
            if tokens not in entry[1]:
                entry[1][tokens] = self._new()
            node = entry[1][tokens]
            path = [*path, (name, tokens, node)] if path is not None else []
            at += tokens
        return hit, at, path

    def _new(self):
        self.nodes.append({})
        return len(self.nodes) - 1


def _cut(path, tokens):
    kept = []
    for name, length, node in path:
        if tokens <= 0:
            break
        kept.append((name, min(length, tokens), node if length <= tokens else None))
        tokens -= length
    return kept


def describe(path, out):
    lines = jobs_of(path)
    next(lines)
    sharing, prompts, answers, gaps, turns, arrivals, labels = Sharing(), [], [], [], [], [], {}
    hits = tokens = 0
    longest = []
    for job in lines:
        drawn = []
        turns.append(len(job["turns"]))
        if "arrival_s" in job:
            arrivals.append(job["arrival_s"])
        for turn, (whole, hit) in zip(job["turns"], sharing.turns(job)):
            prompts.append(whole)
            answers.append(sum(segment[1] for segment in turn["answer"]))
            gaps += [turn["gap_s"]] if "gap_s" in turn else []
            hits, tokens = hits + hit, tokens + whole
            drawn.append((whole, hit, answers[-1], turn.get("agent", "")))
            for usual, segments in (("user", turn["prompt"]), ("assistant", turn["answer"])):
                for segment in segments:
                    label = segment[2] if len(segment) > 2 else usual
                    labels[label] = labels.get(label, 0) + segment[1]
        longest = max(longest, drawn, key=len)
    print(f"{'':<24}{'mean':>10}{'min':>10}{'p50':>10}{'p90':>10}{'max':>10}", file=out)
    for name, values in (("turns of a job", turns), ("prompt tokens", prompts), ("answer tokens", answers), ("gaps, s", gaps)):
        if values:
            print(f"{name:<24}" + "".join(f"{value:>10.1f}" for value in _summary(values)), file=out)
    print(f"\nprefix hit of a cache that never forgets: {100 * hits / tokens:.1f} % of prompt tokens", file=out)
    print("new tokens are " + ", ".join(f"{label} {100 * count / sum(labels.values()):.1f} %" for label, count in sorted(labels.items(), key=lambda each: -each[1])), file=out)
    _draw_job(longest, out)
    _draw_arrivals(arrivals, out)


def _summary(values):
    ordered = sorted(values)
    return (sum(ordered) / len(ordered), ordered[0], ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, 9 * len(ordered) // 10)], ordered[-1])


def _draw_job(turns, out, most=16):
    """The longest job: what each prompt had in common with what was before, what was new, and the answer."""
    unit = max(prompt + answer for prompt, _, answer, _ in turns) / 60
    print(f"\nlongest job, a character is {unit:.0f} tokens: = known, # new, + answer", file=out)
    for number in range(0, len(turns), -(-len(turns) // most)):
        prompt, hit, answer, agent = turns[number]
        bar = "=" * round(hit / unit) + "#" * round((prompt - hit) / unit) + "+" * round(answer / unit)
        print(f"turn {number:<6}{prompt:>9}  {bar} {agent}".rstrip(), file=out)


def _draw_arrivals(arrivals, out, parts=12):
    """Jobs that arrive, over time."""
    if len(arrivals) < 2:
        return
    end = max(arrivals) or 1.0
    counts = [0] * parts
    for arrival in arrivals:
        counts[min(parts - 1, int(parts * arrival / end))] += 1
    print(f"\n{'arrivals from s':<18}{'jobs':>8}", file=out)
    digits = 0 if end >= parts else 2   # short traces in fractions of a second
    for part, count in enumerate(counts):
        print(f"{part * end / parts:<18.{digits}f}{count:>8}  {'#' * round(50 * count / max(counts))}", file=out)
