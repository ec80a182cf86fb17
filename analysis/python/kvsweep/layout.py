"""Sizes of figures in the two-column layouts of ACM, IEEE and USENIX, and legends below the curves."""
import textwrap

COLUMN, TEXT = 240 / 72, 504 / 72  # widths of a column and of both, in inches
TITLE, LEGEND = 8, 7  # sizes of letters, in points
_LETTER = 0.55  # mean width of a letter by its size
_HANDLE = 30  # a sample and the space around it, in points


def title(figure, *lines):
    """Lines above the axes, wrapped where they are wider than the figure."""
    letters = int(figure.get_figwidth() * 72 / (TITLE * _LETTER))
    figure.suptitle("\n".join(textwrap.fill(line, letters) for line in lines if line), fontsize=TITLE)


def legend_below(figure, *axes, marks=1):
    """One legend for all axes, below them, so that it covers no curve; its marks so many times as large."""
    entries = {}
    for axis in axes:
        entries |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels()) if label not in entries}
    if not entries:
        return
    widest = max(map(len, entries)) * LEGEND * _LETTER + _HANDLE
    columns = max(1, min(len(entries), int(figure.get_figwidth() * 72 / widest)))
    rows = -(-len(entries) // columns)
    share = (rows * LEGEND * 1.45 + 4) / 72 / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))
    figure.legend(entries.values(), entries.keys(), loc="lower center", bbox_to_anchor=(0.5, 0), ncol=columns, fontsize=LEGEND,
                  borderaxespad=0.2, columnspacing=1, handlelength=1.8, labelspacing=0.3, markerscale=marks)
