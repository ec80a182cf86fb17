"""Tables of a panel as LaTeX: tabular environments for \\input, with the rules of the package booktabs."""
import numpy as np

from .estimates import mean_interval
from .panels import fit_line

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
    lines += [r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}", r"\toprule", " & ".join(head) + r" \\", r"\midrule"]
    lines += [" & ".join(row) + r" \\" for row in rows]
    return "\n".join(lines + [r"\bottomrule", r"\end{tabular}", ""])


def summary(panel, metric="jct_wall_mean_s"):
    """Arrival rate by policy; the best in bold, with the 95 % interval from three repeats on."""
    rows = []
    for rate in panel.rates:
        decisions = [each for each in panel.decisions(rate, metric).values() if each]
        winners = {name for each in decisions for name in (each.best, *each.tied)}
        texts = [escape(rate)]
        for variant in panel.variants:
            own = panel.by_seed(variant, rate, metric)
            text = number(own.mean())
            low, high = mean_interval(own)
            if np.isfinite(low):
                text += rf" $\pm$ {number((high - low) / 2, 2)}"
            texts.append(rf"\textbf{{{text}}}" if variant in winners else text)
        rows.append(texts)
    note = (f"{panel.name}: {metric}\n{panel.kind}, repeats: {panel.repeats}\n"
            "bold: the best, and those less than 1 % from it")
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
        for rate in panel.rates:
            for size, decision in panel.decisions(rate, metric).items():
                if not decision or not decision.over_best:
                    continue
                host = "none" if np.isnan(size) else f"{size:g} GiB"
                margin = rf"{100 * (decision.over_best[decision.next].value - 1):.1f}\,\%" if decision.next else "--"
                best = " = ".join([decision.best, *decision.tied]) + "".join(f" ? {name}" for name in decision.undecided)
                rows.append([escape(panel.name), host, escape(rate), escape(best),
                             escape(decision.next or "--"), margin])
    note = (f"{panels[0].kind}, repeats: {max(panel.repeats for panel in panels)}\n"
            "=: less than 1 % apart; ?: the repeats do not tell it from the best (Holm's rule, 5 %)")
    return tabular(["GPU", "host memory", "jobs/s", "best", "next", "margin"], rows, note)
