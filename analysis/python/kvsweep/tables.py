"""Tables of a panel as LaTeX: tabular environments for \\input."""
import numpy as np

from .panels import bootstrap_interval, fit_line, ties

_SPECIAL = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
            "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}


def escape(text):
    """Any text, escaped for LaTeX."""
    return "".join(_SPECIAL.get(each, each) for each in str(text).replace("\n", " "))


def number(value, digits=4):
    return "--" if value is None or not np.isfinite(value) else f"{value:,.{digits}g}".replace(",", r"\,")


def tabular(head, rows, note):
    """Texts must be LaTeX. The note becomes a comment on top that states the kind of the numbers."""
    lines = [f"% {line}" for line in note.splitlines()]
    lines += [r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}", r"\hline", " & ".join(head) + r" \\", r"\hline"]
    lines += [" & ".join(row) + r" \\" for row in rows]
    return "\n".join(lines + [r"\hline", r"\end{tabular}", ""])


def by_seed(panel, variant, rate, metric):
    cells = panel.of(variant, rate)
    return cells.set_index("seed")[metric].dropna()


def summary(panel, metric="jct_wall_mean_s"):
    """Arrival rate by policy; the best in bold, with the 95 % interval if there are several repeats."""
    rows = []
    for rate in panel.rates:
        values = {variant: panel.of(variant, rate)[metric].dropna() for variant in panel.variants}
        means = {variant: own.mean() for variant, own in values.items() if len(own)}
        best = min(means, key=means.get, default=None)
        texts = [escape(rate)]
        for variant in panel.variants:
            own = values[variant]
            text = number(means.get(variant))
            if len(own) > 1:
                low, high = bootstrap_interval(own)
                text += rf" $\pm$ {number((high - low) / 2, 2)}"
            is_best = len(own) and (variant == best or ties(by_seed(panel, best, rate, metric), by_seed(panel, variant, rate, metric)))
            texts.append(rf"\textbf{{{text}}}" if is_best else text)
        rows.append(texts)
    note = (f"{panel.name}: {metric}\n{panel.kind}, repeats: {panel.repeats}\n"
            "bold: the best, and those that differ by less than 1 % or that repeats with equal seeds do not tell from it")
    return tabular(["jobs/s", *map(escape, panel.variants)], rows, note)


def regression(panels):
    """Step duration over tokens on every GPU of one kind of numbers, pooled over policies and rates."""
    rows = []
    for panel in panels:
        steps = panel.rows("steps", panel.cells)
        for column, name in (("max_tok", "largest request"), ("n_tok", "whole step")):
            slope, intercept, r2, n = fit_line(steps[column], steps.dur_s)
            rows.append([escape(panel.name), name, f"{n:,}".replace(",", r"\,"), number(slope * 1e6), number(intercept * 1e3), number(r2, 3)])
    head = ["GPU", "tokens", "steps", r"slope [\textmu s/token]", "intercept [ms]", "$R^2$"]
    return tabular(head, rows, f"{panels[0].kind}, repeats: {max(panel.repeats for panel in panels)}")


def regimes(panels, metric="jct_wall_mean_s"):
    """The best policy by GPU, host memory and rate, and how much slower the next one is."""
    rows = []
    for panel in panels:
        sizes = sorted({cell.config.get("dram_gib") for cell in panel.cells.itertuples()} - {None}) or [None]
        for size in sizes:
            allowed = [each in (None, size) for each in (cell.config.get("dram_gib") for cell in panel.cells.itertuples())]
            for rate in panel.rates:
                cells = panel.cells[np.array(allowed) & (panel.cells.jps == rate)]
                means = cells.groupby("variant")[metric].mean().dropna().sort_values()
                if len(means) > 1:
                    margin = means.iloc[1] / means.iloc[0] - 1
                    best = by_seed(panel, means.index[0], rate, metric)
                    equal = [each for each in means.index[1:] if ties(best, by_seed(panel, each, rate, metric))]
                    winners = escape(" = ".join([means.index[0], *equal]))
                    rows.append([escape(panel.name), "none" if size is None else f"{size:g} GiB", escape(rate), winners,
                                 escape(means.index[1]), rf"{100 * margin:.1f}\,\%"])
    note = f"{panels[0].kind}, repeats: {max(panel.repeats for panel in panels)}"
    return tabular(["GPU", "host memory", "jobs/s", "best", "next", "margin"], rows, note)
