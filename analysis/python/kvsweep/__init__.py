"""Archives of kvsweep as data frames, and the charts of its reports as figures for papers.

    import kvsweep
    archive = kvsweep.open("results.h5")
    archive.cells[["gpu", "policy", "jps", "jct_wall_mean_s"]]
    archive.table("steps", cell=3).dur_s.describe()
    archive.xarray("jct_wall_mean_s").mean("seed")
    kvsweep.page.load("report/")["regimes"]             # verdicts, ratios and intervals as the program computes them
    kvsweep.traces.from_frame(requests, "T.jsonl.gz")   # a trace to replay (docs/traces.md)
"""
import importlib

_MODULE_OF = {"Archive": "archive", "open": "archive"}
__all__ = sorted(_MODULE_OF)


def __getattr__(name):
    """Loads what is asked for: kvsweep.vllm, inside a server, needs neither h5py nor pandas."""
    if name in ("traces", "page", "draw"):
        return importlib.import_module("." + name, __name__)
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'kvsweep' has no attribute '{name}'")
    return getattr(importlib.import_module("." + _MODULE_OF[name], __name__), name)
