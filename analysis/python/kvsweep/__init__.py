"""Archives of kvsweep as data frames, and figures and tables for papers.

    import kvsweep
    archive = kvsweep.open("results.h5")
    archive.cells[["gpu", "policy", "jps", "jct_wall_mean_s"]]
    archive.table("steps", cell=3).dur_s.describe()
    archive.xarray("jct_wall_mean_s").mean("seed")
    kvsweep.ratio_of(a, b)       # Series by seed: ratio, 95 % interval and p-value, as `kvsweep compare` computes them
    kvsweep.write_trace(requests, "requests.jsonl")   # a trace to replay (docs/traces.md)
"""
from .archive import Archive, open  # noqa: A004 (kvsweep.open is the point)
from .estimates import decide, mean_interval, ratio_of
from .traces import write_trace

__all__ = ["Archive", "decide", "mean_interval", "open", "ratio_of", "write_trace"]
