"""The command kvsweep-figures."""
import argparse
import itertools
import pathlib
import re
import sys


def file_name(*parts):
    return re.sub(r"[^A-Za-z0-9.=]+", "-", "-".join(part for part in parts if part)).strip("-")


def save(figure, path, formats):
    """One layout for all formats: matplotlib would make it anew, twice, for each."""
    import matplotlib.pyplot as plt

    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    box = figure.get_tightbbox(figure.canvas.get_renderer()).padded(0.1)
    for each in formats:
        metadata = {"Date": None} if each == "svg" else {"CreationDate": None} if each == "pdf" else None
        figure.savefig(path.with_name(f"{path.name}.{each}"), dpi=200, bbox_inches=box, metadata=metadata)
    plt.close(figure)


def write_archive(path, out, formats):
    import kvsweep
    from kvsweep import charts, tables
    from kvsweep.panels import panels_of

    archive = kvsweep.open(path)
    panels = panels_of(archive)
    kinds = list(dict.fromkeys(panel.kind for panel in panels))
    slug = {kind: "" if len(kinds) == 1 else kind for kind in kinds}
    for panel in panels:
        place = (archive.sweep, panel.gpu, panel.settings, slug[panel.kind])
        for name, draw in charts.CHARTS.items():
            save(draw(panel), out / file_name(*place, name), formats)
        (out / (file_name(*place, "summary") + ".tex")).write_text(tables.summary(panel))
    for kind, own in itertools.groupby(sorted(panels, key=lambda panel: kinds.index(panel.kind)), lambda panel: panel.kind):
        own = list(own)
        for name, table in (("regression", tables.regression), ("regimes", tables.regimes)):
            (out / (file_name(archive.sweep, slug[kind], name) + ".tex")).write_text(table(own))
    print(f"{path}: {len(panels)} panels of {len(charts.CHARTS)} charts in {out}" if panels
          else f"{path}: no cell has a result, so there is nothing to draw")


def main(words=None):
    parser = argparse.ArgumentParser(prog="kvsweep-figures", description="Figures and LaTeX tables of archives, for papers.")
    parser.add_argument("archives", nargs="+", metavar="A.h5", help="archives; a file that ends in .json is a result from elsewhere, as --external takes")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where they go; made if it is not there")
    parser.add_argument("--formats", default="pdf,svg,png", help="of the figures (pdf,svg,png)")
    parser.add_argument("--external", action="append", default=[], metavar="F.json", help="a result from elsewhere beside a study's figures")
    parser.add_argument("--panels", action="store_true", help="the nine charts of each GPU also of archives that studies' figures show")
    given = parser.parse_args(words)
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

    try:
        studied = write_studies(archives, externals, out, formats)
    except (OSError, ValueError) as error:
        sys.exit(f"kvsweep-figures: {error}")
    for path in archives:
        if logs := access_figures.write(path, out, formats):
            print(f"{path}: accesses of {logs} cells in {out}")
        if path in studied and not given.panels:
            continue
        try:
            write_archive(path, out, formats)
        except (OSError, ValueError) as error:
            sys.exit(f"kvsweep-figures: {path}: {error}")


if __name__ == "__main__":
    main()
