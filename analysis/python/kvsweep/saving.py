"""How figures are drawn in several processes, named and saved."""
import multiprocessing
import os
import re

_TASKS = []  # read by forked processes, since functions over archives cannot be pickled


def _do(task):
    _TASKS[task]()


def do_all(tasks, processes):
    """Calls functions without arguments, in several processes if requested. An exception in one ends all."""
    processes = min(processes, len(tasks))
    if processes < 2:
        for task in tasks:
            task()
        return
    _TASKS[:] = tasks
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        pool.map(_do, range(len(tasks)), chunksize=1)


def processors():
    """Number of processors that this program may use, at most eight, since more would wait for the disk."""
    return min(8, len(os.sched_getaffinity(0)))


def file_name(*parts):
    return re.sub(r"[^A-Za-z0-9.=]+", "-", "-".join(part for part in parts if part)).strip("-")


def lighten_fonts():
    """Drops a font's layout tables, which a PDF does not use since it places every glyph itself. Subsetting them takes most of the
    time of embedding a font. If fontTools keeps its defaults elsewhere, only the time changes."""
    from fontTools.subset import Options

    Options._drop_tables_default = [*getattr(Options, "_drop_tables_default", []), "GDEF", "GPOS", "GSUB", "kern"]


def axes_of(figure):
    return [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]


def keep_ticks(figure):
    """Fixes the ticks in view, which matplotlib would otherwise choose again, with those outside the view, for every drawing."""
    from matplotlib.ticker import FixedLocator

    for axis in axes_of(figure):
        low, high = sorted(axis.get_view_interval())
        slack = 1e-9 * max(abs(low), abs(high))  # a tick on the edge of the view is in it
        for locator, keep, places in ((axis.get_major_locator(), axis.set_major_locator, axis.get_majorticklocs()),
                                      (axis.get_minor_locator(), axis.set_minor_locator, axis.get_minorticklocs())):
            if not isinstance(locator, FixedLocator):
                keep(FixedLocator([place for place in places if low - slack <= place <= high + slack]))


def save(figure, path, formats, description=None):
    """Computes one layout for all formats; matplotlib would otherwise compute it, and draw twice, for each format. `description` becomes
    part of an SVG."""
    import matplotlib.pyplot as plt

    for axis in axes_of(figure):
        if not axis.label.get_text():
            axis.set_label_coords(0, 0)  # skips measuring the ticks to place the label
    figure.get_layout_engine().execute(figure)
    keep_ticks(figure)
    with plt.rc_context({"figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
        for each in formats:
            metadata = {"Date": None, "Description": description} if each == "svg" else {"CreationDate": None} if each == "pdf" else None
            figure.savefig(path.with_name(f"{path.name}.{each}"), dpi=200, metadata=metadata)
    plt.close(figure)
