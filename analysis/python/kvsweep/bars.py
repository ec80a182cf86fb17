"""Mean job completion times of the policies in chosen cells of several archives, as bars with a dot for each cell."""
import json

from .draw import plt
from .archive import open as open_archive
from .layout import TEXT
from .looks import COLORS, place_of, policy_of


def chosen(archives, settings):
    """The cells with a result whose configuration has `settings` (key to the text of its value), as data:
    {"kind", "gpu", "workload", "variant", "seed", "jct_wall_mean_s"}, in the order of the archives."""
    rows = []
    for archive in map(open_archive, archives):
        for _, cell in archive.ok.iterrows():
            if any(_text(cell.config.get(key)) != value for key, value in settings.items()):
                continue
            rows.append({"kind": cell.kind, "gpu": cell.gpu, "workload": cell.config["workload.kind"], "variant": cell.variant,
                         "seed": int(cell.seed), "jct_wall_mean_s": round(float(cell.jct_wall_mean_s), 5)})
    return rows


def _text(value):
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def draw(rows, settings):
    """A chart for each kind of numbers, card and workload, with a bar for each policy, the fastest at the bottom."""
    groups = {}
    for row in rows:
        groups.setdefault((row["kind"], row["gpu"], row["workload"]), {}).setdefault(row["variant"], []).append(row["jct_wall_mean_s"])
    heights = [len(variants) for variants in groups.values()]
    figure, axes = plt.subplots(nrows=len(groups), squeeze=False, sharex=True, figsize=(TEXT, 0.22 * sum(heights) + 0.45 * len(groups) + 0.35),
                                gridspec_kw={"height_ratios": heights})
    for axis, ((kind, gpu, workload), variants) in zip(axes.flat, groups.items()):
        means = {variant: sum(values) / len(values) for variant, values in variants.items()}
        order = sorted(means, key=means.get, reverse=True)
        axis.barh(range(len(order)), [means[variant] for variant in order], height=0.7,
                  color=[COLORS[place_of(policy_of(variant)) % len(COLORS)] for variant in order])
        for y, variant in enumerate(order):
            if len(variants[variant]) > 1:
                axis.plot(variants[variant], [y] * len(variants[variant]), "k.", markersize=3)
            axis.annotate(f"{means[variant]:.1f}", (max(variants[variant]), y), (4, 0), textcoords="offset points", va="center", fontsize=7)
        axis.set_yticks(range(len(order)), order)
        axis.invert_yaxis()
        axis.grid(axis="y", visible=False)
        axis.set_title(", ".join([gpu, workload, *(f"{key} {value}" for key, value in settings.items()), kind]), fontsize=8, loc="left")
    axes.flat[-1].set_xlabel("mean job completion time [s], a dot for each seed")
    return figure


def write(archives, settings, out, formats):
    """Writes OUT/bars.* and returns the number of cells. An SVG has the data as JSON in its description."""
    from .saving import save

    rows = chosen(archives, settings)
    if rows:
        save(draw(rows, settings), out / "bars", formats, description=json.dumps(rows))
    return len(rows)
