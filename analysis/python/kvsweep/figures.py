"""The command kvsweep-figures."""
import argparse
import functools
import itertools
import pathlib
import sys

from kvsweep.saving import do_all, file_name, lighten_fonts, processors, save


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
        tasks += [functools.partial(write_chart, panel, name, draw) for name, draw in charts.charts_of(panel).items()]
        tasks.append(functools.partial(write_table, tables.summary, (panel.gpu, panel.settings, slug[panel.kind], "summary"), panel))
    for kind, own in itertools.groupby(sorted(panels, key=lambda panel: kinds.index(panel.kind)), lambda panel: panel.kind):
        own = list(own)
        for name, table in (("regression", tables.regression), ("regimes", tables.regimes)):
            tasks.append(functools.partial(write_table, table, (slug[kind], name), own))
    do_all(tasks, processes)
    print(f"{path}: {len(panels)} panels of up to {len(charts.CHARTS)} charts in {out}" if panels
          else f"{path}: no cell has a result, so there is nothing to draw")


def draw_bars(archives, text, out, formats):
    from kvsweep import bars

    settings = dict(word.partition("=")[::2] for word in text.split(",") if word)
    try:
        cells = bars.write(archives, settings, out, formats)
    except (OSError, ValueError) as error:
        sys.exit(f"kvsweep-figures: {error}")
    if cells == 0:
        sys.exit(f"kvsweep-figures: no cell with a result has {text}")
    print(f"{cells} cells in {out}/bars")


def main(words=None):
    parser = argparse.ArgumentParser(prog="kvsweep-figures", description="Figures and LaTeX tables of archives, for papers.")
    parser.add_argument("archives", nargs="+", metavar="A.h5", help="archives; a file that ends in .json is a result from elsewhere, as --external takes")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where they go; made if it is not there")
    parser.add_argument("--formats", default="pdf,svg,png", help="of the figures (pdf,svg,png)")
    parser.add_argument("--external", action="append", default=[], metavar="F.json", help="a result from elsewhere beside a study's figures")
    parser.add_argument("--bars", metavar="KEY=VALUE,...", help="one chart, bars.*, of the policies in the archives' cells of these settings, in place of all others")
    parser.add_argument("--panels", action="store_true", help="the nine charts of each GPU also of archives that studies' figures show")
    parser.add_argument("-j", "--processes", type=int, default=processors(), help="that draw at a time (%(default)s)")
    given = parser.parse_args(words)
    if given.processes < 1:
        parser.error(f"--processes must be at least 1, found {given.processes}")
    externals = given.external + [path for path in given.archives if path.endswith(".json")]
    archives = [path for path in given.archives if not path.endswith(".json")]
    if not archives:
        parser.error("there is no archive: external results are only shown beside its cells")
    formats = given.formats.split(",")
    if unknown := set(formats) - {"pdf", "svg", "png"}:
        parser.error(f"unknown format {', '.join(sorted(unknown))}; there are pdf, svg and png")
    out = pathlib.Path(given.output)
    out.mkdir(parents=True, exist_ok=True)
    from kvsweep import access_figures
    from kvsweep.study_figures import write_studies

    if "pdf" in formats:
        lighten_fonts()
    if given.bars is not None:
        draw_bars(archives, given.bars, out, formats)
        return
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
