"""The command kvsweep-figures."""
import argparse
import functools
import itertools
import multiprocessing
import os
import pathlib
import re
import sys

_TASKS = []  # what forked processes find here; functions over archives cannot be sent to them


def _do(task):
    _TASKS[task]()


def do_all(tasks, processes):
    """Calls functions without arguments, in several processes where that is asked for. An exception in one ends all."""
    processes = min(processes, len(tasks))
    if processes < 2:
        for task in tasks:
            task()
        return
    _TASKS[:] = tasks
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        pool.map(_do, range(len(tasks)), chunksize=1)


def processors():
    """That this program may use; more than eight would wait for the disk."""
    return min(8, len(os.sched_getaffinity(0)))


def file_name(*parts):
    return re.sub(r"[^A-Za-z0-9.=]+", "-", "-".join(part for part in parts if part)).strip("-")


def lighten_fonts():
    """A PDF places every glyph itself: the tables that lay a font out need not be cut to the glyphs used, which takes most of the
    time of embedding it. Where fontTools keeps its defaults elsewhere, nothing changes but the time."""
    from fontTools.subset import Options

    Options._drop_tables_default = [*getattr(Options, "_drop_tables_default", []), "GDEF", "GPOS", "GSUB", "kern"]


def axes_of(figure):
    return [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]


def keep_ticks(figure):
    """The ticks in view stay as they are: matplotlib would choose them, and those beside the view, anew whenever it draws."""
    from matplotlib.ticker import FixedLocator

    for axis in axes_of(figure):
        low, high = sorted(axis.get_view_interval())
        slack = 1e-9 * max(abs(low), abs(high))  # a tick on the edge of the view is in it
        for locator, keep, places in ((axis.get_major_locator(), axis.set_major_locator, axis.get_majorticklocs()),
                                      (axis.get_minor_locator(), axis.set_minor_locator, axis.get_minorticklocs())):
            if not isinstance(locator, FixedLocator):
                keep(FixedLocator([place for place in places if low - slack <= place <= high + slack]))


def save(figure, path, formats):
    """One layout for all formats: matplotlib would make it anew, and draw twice, for each."""
    import matplotlib.pyplot as plt

    for axis in axes_of(figure):
        if not axis.label.get_text():
            axis.set_label_coords(0, 0)  # no label is measured against the ticks to find its place
    figure.get_layout_engine().execute(figure)
    keep_ticks(figure)
    box = figure.get_tightbbox(figure.canvas.get_renderer()).padded(0.1)
    with plt.rc_context({"figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
        for each in formats:
            metadata = {"Date": None} if each == "svg" else {"CreationDate": None} if each == "pdf" else None
            figure.savefig(path.with_name(f"{path.name}.{each}"), dpi=200, bbox_inches=box, metadata=metadata)
    plt.close(figure)


def write_archive(path, out, formats, processes=1):
    import kvsweep
    from kvsweep import charts, tables
    from kvsweep.panels import panels_of

    archive = kvsweep.open(path)
    panels = panels_of(archive)
    kinds = list(dict.fromkeys(panel.kind for panel in panels))
    slug = {kind: "" if len(kinds) == 1 else kind for kind in kinds}

    def write_chart(panel, name, draw):
        save(draw(panel), out / file_name(archive.sweep, panel.gpu, panel.settings, slug[panel.kind], name), formats)

    def write_table(table, name, *what):
        (out / (file_name(archive.sweep, *name) + ".tex")).write_text(table(*what))

    tasks = []
    for panel in panels:
        tasks += [functools.partial(write_chart, panel, name, draw) for name, draw in charts.CHARTS.items()]
        tasks.append(functools.partial(write_table, tables.summary, (panel.gpu, panel.settings, slug[panel.kind], "summary"), panel))
    for kind, own in itertools.groupby(sorted(panels, key=lambda panel: kinds.index(panel.kind)), lambda panel: panel.kind):
        own = list(own)
        for name, table in (("regression", tables.regression), ("regimes", tables.regimes)):
            tasks.append(functools.partial(write_table, table, (slug[kind], name), own))
    do_all(tasks, processes)
    print(f"{path}: {len(panels)} panels of {len(charts.CHARTS)} charts in {out}" if panels
          else f"{path}: no cell has a result, so there is nothing to draw")


def main(words=None):
    parser = argparse.ArgumentParser(prog="kvsweep-figures", description="Figures and LaTeX tables of archives, for papers.")
    parser.add_argument("archives", nargs="+", metavar="A.h5", help="archives; a file that ends in .json is a result from elsewhere, as --external takes")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where they go; made if it is not there")
    parser.add_argument("--formats", default="pdf,svg,png", help="of the figures (pdf,svg,png)")
    parser.add_argument("--external", action="append", default=[], metavar="F.json", help="a result from elsewhere beside a study's figures")
    parser.add_argument("--panels", action="store_true", help="the nine charts of each GPU also of archives that studies' figures show")
    parser.add_argument("-j", "--processes", type=int, default=processors(), help="that draw at a time (%(default)s)")
    given = parser.parse_args(words)
    if given.processes < 1:
        parser.error(f"--processes must be at least 1, found {given.processes}")
    externals = given.external + [path for path in given.archives if path.endswith(".json")]
    archives = [path for path in given.archives if not path.endswith(".json")]
    if not archives:
        parser.error("there is no archive: results from elsewhere stand beside cells")
    formats = given.formats.split(",")
    if unknown := set(formats) - {"pdf", "svg", "png"}:
        parser.error(f"unknown format {', '.join(sorted(unknown))}; there are pdf, svg and png")
    out = pathlib.Path(given.output)
    out.mkdir(parents=True, exist_ok=True)
    from kvsweep import access_figures
    from kvsweep.study_figures import write_studies

    if "pdf" in formats:
        lighten_fonts()
    try:
        studied = write_studies(archives, externals, out, formats, given.processes)
    except (OSError, ValueError) as error:
        sys.exit(f"kvsweep-figures: {error}")
    for path in archives:
        if logs := access_figures.write(path, out, formats):
            print(f"{path}: accesses of {logs} cells in {out}")
        if path in studied and not given.panels:
            continue
        try:
            write_archive(path, out, formats, given.processes)
        except (OSError, ValueError) as error:
            sys.exit(f"kvsweep-figures: {path}: {error}")


if __name__ == "__main__":
    main()
