"""Archives of kvsweep as data frames, and figures and tables for papers.

    import kvsweep
    archive = kvsweep.open("results.h5")
    archive.cells[["gpu", "policy", "jps", "jct_wall_mean_s"]]
    archive.table("steps", cell=3).dur_s.describe()
"""
from .archive import Archive, open  # noqa: A004 (kvsweep.open is the point)

__all__ = ["Archive", "open"]
