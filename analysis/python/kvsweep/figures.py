"""The command kvsweep-figures."""
import argparse
import functools
import pathlib
import sys

from kvsweep.saving import do_all, file_name, lighten_fonts, processors, save


def tasks_of(report, out, formats):
    """What writes each chart and table of a report."""
    from kvsweep import draw

    sweep = "-".join(dict.fromkeys(each["sweep"] for each in report["archives"]))
    variants = [name for panel in report["panels"] for name in panel["variants"]]
    kinds = {panel["kind"] for panel in report["panels"]}

    def write(chart, *name):
        if chart.get("is_table"):
            (out / (file_name(*name) + ".tex")).write_text(draw.latex_of_chart(chart))
            return
        save(draw.draw(chart, variants), out / file_name(*name), formats)
        if chart["id"] == "study":
            (out / (file_name(*name) + ".txt")).write_text(f"{chart['title']}. {chart['kind']}. {chart['note']}\n")

    for chart in report["studies"]:
        yield functools.partial(write, chart, chart["at"]["study"], chart["at"]["figure"], chart["gpu"], chart["kind"].split(" (")[0])
    for chart in report["accesses"]:
        yield functools.partial(write, chart, sweep, f"cell-{chart['at']['cell']}", chart["id"])
    for panel in report["panels"]:
        for chart in draw.together(panel["charts"]):
            yield functools.partial(write, chart, sweep, panel["gpu"], panel["settings"], panel["kind"] if len(kinds) > 1 else "", chart["id"])
    for table in report["tables"]:
        path = out / (file_name(sweep, table["heading"], table["kind"] if len(kinds) > 1 else "") + ".tex")
        yield functools.partial(path.write_text, draw.latex_of_table(table))


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
    parser = argparse.ArgumentParser(prog="kvsweep-figures", description="The charts and tables of reports as figures and LaTeX, for papers.")
    parser.add_argument("reports", nargs="+", metavar="REPORT", help="a folder or page that kvsweep report wrote; with --bars, an archive")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where they go; made if it is not there")
    parser.add_argument("--formats", default="pdf,svg,png", help="of the figures (pdf,svg,png)")
    parser.add_argument("--bars", metavar="KEY=VALUE,...", help="one chart, bars.*, of the policies in the archives' cells of these settings, in place of all others")
    parser.add_argument("-j", "--processes", type=int, default=processors(), help="that draw at a time (%(default)s)")
    given = parser.parse_args(words)
    if given.processes < 1:
        parser.error(f"--processes must be at least 1, found {given.processes}")
    formats = given.formats.split(",")
    if unknown := set(formats) - {"pdf", "svg", "png"}:
        parser.error(f"unknown format {', '.join(sorted(unknown))}; there are pdf, svg and png")
    out = pathlib.Path(given.output)
    out.mkdir(parents=True, exist_ok=True)
    if "pdf" in formats:
        lighten_fonts()
    if given.bars is not None:
        draw_bars(given.reports, given.bars, out, formats)
        return
    from kvsweep import page

    for path in given.reports:
        if path.endswith(".h5"):
            sys.exit(f"kvsweep-figures: {path} is an archive: kvsweep report {path} -o report/; kvsweep-figures report/ -o {out}")
        try:
            tasks = list(tasks_of(page.load(path), out, formats))
        except (OSError, ValueError) as error:
            sys.exit(f"kvsweep-figures: {error}")
        do_all(tasks, given.processes)
        print(f"{path}: {len(tasks)} figures and tables in {out}")


if __name__ == "__main__":
    main()
