"""Host tiers that do not fit a node together do not run together."""
import archives
from cases import case, expect, expect_equal, main
from farm import Folder

# Two cells that really hold 1 GiB of host memory each while they execute a tiny model.
TWO_TIERS = """
schema = 1
[sweep]
name = "farm"
backend = "cpu"
[axes]
gpu = ["h100-80gb"]
model = ["tiny-llama-3"]
policy = ["cpu_offload"]
jps = [2]
dram_gib = [1]
[repeat]
n = 2
[engine]
kv_tokens = 4096
max_model_len = 2048
max_num_batched_tokens = 512
max_num_seqs = 16
dtype = "float32"
[workload]
kind = "agent8"
jobs = 1
scale = 0.1
tool_hint = true
gap_s = 0.5
"""


def spans(node_gib):
    """Start and end of each of the two cells, on a node with this much memory and two workers."""
    with Folder(TWO_TIERS) as folder:
        outcome = folder.run("--archive", "a.h5", "--node-memory-gib", str(node_gib), ranks=3)
        expect_equal(outcome.code, 0, f"exit code, {outcome}")
        rows = archives.cells(folder.file("a.h5")).values()
        return sorted((row["t_start_utc"], row["t_end_utc"]) for row in rows)


@case("two cells whose host tiers exceed a node's memory together run one after the other, smaller ones at once")
def tiers_of_a_node():
    archives.need_h5py()
    first, second = spans(1.5)
    expect(first[1] <= second[0], f"they overlap: {first} and {second}")
    first, second = spans(2.5)
    expect(second[0] < first[1], f"they do not overlap: {first} and {second}")


if __name__ == "__main__":
    main()
