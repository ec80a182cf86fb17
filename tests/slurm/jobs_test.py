"""Jobs of `kvsweep submit` in a real Slurm: where they run, how they stop, and which files they leave."""
import os
import signal

from sandbox import PROGRAM, Cluster, archives, sweep
from cases import case, expect, expect_equal, expect_in, main

NO_SUCH_WORKER, IN_USE, INCOMPLETE = 4, 6, 75
A100S = ("a100-40gb", "a100-80gb")
FINISHED = ": mean jct_wall"


def provenance(path, column):
    with archives.h5py.File(path, "r") as archive:
        return [archives.text(text) for text in archive["provenance"][column][:]]


def finished_in(job):
    """Labels of the cells that the log reports as stored, of all runs of a job."""
    return [line.split(FINISHED)[0] for line in job.log().splitlines() if FINISHED in line]


@case("of a partition with two cards under one GRES type, a job gets the card of its SKU, and log and archive name node and card")
def pinned():
    with Cluster(sweep(gpus=A100S)) as cluster:
        *jobs, merge = cluster.submit("--sku", ",".join(A100S))
        expect_equal(merge.wait(), 0, cluster.all_logs())
        for sku, job, node, card in zip(A100S, jobs, ("a100a", "a100b"),
                                        ("NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe")):
            expect_equal(job.fields()["NodeList"], node, f"node of {sku}")
            expect_in(f"worker 1 on {node} is a {sku} ({card}, ", job.log(), "log")
            path = cluster.file(f"out/results.{sku}.h5")
            expect_in(f"1 on {node} is a {sku} ({card}, ", provenance(path, "workers")[0], "archive")
            rows = [row for label, row in archives.cells(path).items() if f"gpu={sku}" in label]
            expect_equal({(row["status"], row["host"], row["gpu_name"]) for row in rows},
                         {("ok", node, card)}, f"cells of {sku}")


@case("a node with another card than it promises takes no cell, is not requeued, and log and archive say which card it has")
def wrong_card():
    with Cluster() as cluster:
        cluster.write_profile("lies.toml", 'a100a = "NVIDIA A100-PCIE-40GB,40960"',
                              'a100a = "NVIDIA A100 80GB PCIe,81920"')
        job, _ = cluster.submit("--sku", "a100-40gb", cluster="lies.toml")
        expect_equal(job.wait(), NO_SUCH_WORKER, job.log())
        expect_equal(job.fields()["Restarts"], "0", "restarts")
        found = "1 on a100a is a a100-80gb (NVIDIA A100 80GB PCIe, 81920 MiB)"
        expect_in("worker " + found, job.log(), "log")
        path = cluster.file("out/results.a100-40gb.h5")
        expect_equal(provenance(path, "workers"), [found], "archive")
        expect_equal({row["status"] for row in archives.cells(path).values()}, {"planned"}, "cells")


@case("USR1 ahead of the time limit drains a run, and the job is requeued until every cell has run once")
def time_limit():
    with Cluster(sweep(repeats=2, jobs=300)) as cluster:
        # The signal comes in the first half of the shortest limit of a simulation, two minutes.
        cluster.write_profile("early.toml", "max_hours = 1\nsignal_lead_s = 30", "max_hours = 0.0334\nsignal_lead_s = 56")
        job, merge = cluster.submit("--sku", "a100-40gb", cluster="early.toml")
        job.until_logged(FINISHED)
        frozen = cluster.until(job.worker, "a cell that runs")
        os.kill(frozen, signal.SIGSTOP)  # so that the job is busy when Slurm's signal arrives, however fast the machine is
        job.until_logged("(draining)")
        os.kill(frozen, signal.SIGCONT)
        expect_equal(job.wait(), 0, job.log())
        expect(int(job.fields()["Restarts"]) >= 1, "the job was not requeued")
        expect_in(f"kvsweep run: exit code {INCOMPLETE}", job.log(), "log")
        expect_equal(len(finished_in(job)), 8, "cells that ran")
        expect_equal(len(set(finished_in(job))), 8, "cells that ran once")
        expect_equal(merge.wait(), 0, cluster.all_logs())
        cluster.expect_same_results("results.h5")


@case("a smoke test takes one cell a SKU through start, drain in the middle of it, requeue, its result and the merge")
def smoke():
    with Cluster(sweep(gpus=("a100-40gb", "h100-80gb"), jobs=9000)) as cluster:
        *jobs, merge = cluster.submit("--sku", "a100-40gb,h100-80gb", "--smoke")
        for job in jobs:
            expect_equal(job.wait(), 0, job.log())
            expect_equal(job.fields()["Restarts"], "1", "restarts")
            expect_in("smoke: the cell has started and is drained", job.log(), "log")
            codes = [line.split()[-1] for line in job.log().splitlines() if "kvsweep run: exit code" in line]
            expect_equal(codes, [str(INCOMPLETE), "0"], "exit codes of its starts")
            expect_equal(len(finished_in(job)), 1, "cells that ran to their end")
        expect_equal(merge.wait(), 0, cluster.all_logs())
        done = [row["gpu"] for row in archives.cells(cluster.file("out/results.h5")).values() if row["status"] == "ok"]
        expect_equal(sorted(done), ["a100-40gb", "h100-80gb"], "cells with a result")


@case("ranks that srun starts on two nodes drain, are requeued and go on as those of mpirun do")
def srun_launcher():
    with Cluster(sweep(gpus=("h100-80gb",), repeats=2, jobs=300)) as cluster:
        job, merge = cluster.submit("--sku", "h100-80gb", "--gpus", "2", "--launcher", "srun")
        frozen = cluster.until(lambda: job.workers(2), "a cell on each of two workers")
        for worker in frozen:
            os.kill(worker, signal.SIGSTOP)  # so that cells are left to run, however fast the machine is
        expect_equal(job.fields()["NodeList"], "h100-[0-1]", "nodes")
        job.drain()
        job.until_logged("(draining)")
        for worker in frozen:
            os.kill(worker, signal.SIGCONT)
        expect_equal(job.wait(), 0, job.log())
        expect_equal(job.fields()["Restarts"], "1", "restarts")
        expect_equal(len(finished_in(job)), 8, "cells that ran")
        expect_equal(len(set(finished_in(job))), 8, "cells that ran once")
        expect_equal(merge.wait(), 0, cluster.all_logs())
        cluster.expect_same_results("results.h5")


@case("three runs in a row that finish no cell end the requeueing")
def no_progress():
    with Cluster() as cluster:
        ran = cluster.file("ran")  # before the first run there is no archive whose status could be told
        cluster.write("stuck", f"#!/bin/sh\n[ $1 = run ] && touch {ran} && exit 75\n"
                               f"[ -e {ran} ] && echo 'small: 0/4 done, 0 running'\n")
        os.chmod(cluster.file("stuck"), 0o755)
        done = cluster.kvsweep("submit", "small.toml", "--archive", "out/results.h5", "--cluster",
                               "sandbox", "--sku", "a100-40gb")
        expect_equal(done.returncode, 0, f"exit code, {done}")
        script = cluster.read("out/results.a100-40gb.sbatch")
        line = next(line for line in script.splitlines() if line.startswith("kvsweep="))
        cluster.write("out/stuck.sbatch", script.replace(line, "kvsweep=" + cluster.file("stuck")))
        job = cluster.submit_again("out/stuck.sbatch")
        expect_equal(job.wait(), INCOMPLETE, job.log())
        expect_equal(job.fields()["Restarts"], "2", "restarts")
        expect_in("three runs in a row finished no cell", job.log(), "log")


@case("what a cancelled job has stored stays, and the same script submitted again runs the rest")
def cancelled():
    with Cluster(sweep(repeats=2, jobs=1500)) as cluster:
        first, _ = cluster.submit("--sku", "a100-40gb")
        first.until_logged(FINISHED, 2)
        first.cancel()
        first.wait()
        cluster.until_nobody_runs(cluster.file("out/results.a100-40gb.h5"))
        stored = cluster.finished("results.a100-40gb.h5")
        expect(2 <= len(stored) < 8, f"cells that were stored: {len(stored)}")
        second = cluster.submit_again("out/results.a100-40gb.sbatch")
        expect_equal(second.wait(), 0, second.log())
        expect_equal(set(finished_in(second)) & set(stored), set(), "cells that ran twice")
        after = cluster.finished("results.a100-40gb.h5")
        expect_equal({label: after[label] for label in stored}, stored, "stored cells")
        cluster.expect_same_results("results.a100-40gb.h5")


@case("a search for a capacity starts its runs within its job, and goes on in the next one after a cancellation")
def capacity():
    agents = (sweep(gpus=("h100-80gb",), jobs=100).replace("jps = [5, 10]", '"workload.live" = [1, 12]\n"workload.seed" = [1, 2, 3]')
              .replace("jobs = 100", "jobs = 100\narrivals = \"live\"\n[engine]\nkv_tokens = 40000"))
    search = ["capacity", "small.toml", "--slo", "ttft_p90=0.4"]
    with Cluster(agents) as cluster:
        words = [PROGRAM, *search, "--archive", "out/capacity.h5", "--launch", "'mpirun --bind-to none -n 3'"]
        cluster.write("capacity.sbatch", "\n".join((
            "#!/bin/sh", "#SBATCH --partition=gpu-h100 --nodes=1 --ntasks=3", f"#SBATCH --chdir={cluster.path}",
            f"#SBATCH --output={cluster.file('out/capacity.%j.log')}", " ".join(words), "")))
        first = cluster.submit_again("capacity.sbatch")
        first.until_logged("capacity: round 3,")
        first.cancel()
        first.wait()
        cluster.until_nobody_runs("out/capacity.h5")
        second = cluster.submit_again("capacity.sbatch")
        expect_equal(second.wait(), 0, second.log())
        expect("capacity: round 1," in second.log() and "0 of 2 rows decided, 6 cells" not in second.log(), second.log())
        alone = cluster.kvsweep(*search, "--archive", "alone.h5")
        expect_in(alone.stdout[:alone.stdout.index("Results: ")], second.log(), "the answer")
        equal = cluster.kvsweep("check", "--equal", "alone.h5", "out/capacity.h5")
        expect_equal(equal.returncode, 0, f"check --equal, {equal}")


@case("a second job on an archive ends at once with 6 and who has it, and the first has all its cells")
def two_jobs():
    with Cluster(sweep(jobs=300)) as cluster:
        first, _ = cluster.submit("--sku", "a100-40gb")
        frozen = cluster.until(first.worker, "a cell that runs")
        os.kill(frozen, signal.SIGSTOP)  # the first is there as long as the second
        second = cluster.submit_again("out/results.a100-40gb.sbatch")
        expect_equal(second.wait(), IN_USE, second.log())
        expect_equal(second.fields()["Restarts"], "0", "restarts")
        expect_in(f"job {first.number}", second.log(), "log of the second")
        expect_equal(finished_in(second), [], "cells of the second")
        os.kill(frozen, signal.SIGCONT)
        expect_equal(first.wait(), 0, first.log())
        expect_equal(len(cluster.finished("results.a100-40gb.h5")), 4, "cells of the first")


@case("jobs of three SKUs, one of them on two nodes, end with one complete archive and its table")
def chain():
    skus = ("h100-80gb", "a100-40gb", "h200-141gb")
    with Cluster(sweep(gpus=skus)) as cluster:
        *jobs, merge = cluster.submit("--sku", ",".join(skus), "--gpus", "2")
        expect_equal(len(jobs), 3, "jobs")
        expect_equal(merge.wait(), 0, cluster.all_logs())
        expect_equal([job.wait() for job in jobs], [0, 0, 0], cluster.all_logs())
        expect_equal(jobs[0].fields()["NodeList"], "h100-[0-1]", "nodes of the first")
        cluster.expect_same_results("results.h5")
        for sku in skus:
            expect_in(f"{sku}: jct_wall_mean_s", cluster.read("out/results.table.txt"), "table")


@case("GPUs submitted one after the other end in one archive, and a damaged archive is refused before anything is queued")
def one_after_the_other():
    skus = ("h100-80gb", "a100-40gb")
    with Cluster(sweep(gpus=skus)) as cluster:
        *_, merge = cluster.submit("--sku", "a100-40gb")
        expect_equal(merge.wait(), 0, cluster.all_logs())
        expect_equal(len(cluster.finished("results.h5")), 4, "cells of the first merge")
        cluster.write("out/results.h100-80gb.h5", "not an archive\n")
        refused = cluster.kvsweep("submit", "small.toml", "--archive", "out/results.h5", "--cluster",
                                  "sandbox", "--go", "--sku", "h100-80gb")
        expect_equal(refused.returncode, 5, f"exit code, {refused}")
        expect_equal(cluster.tool("squeue", "-h").stdout, "", "jobs")
        os.remove(cluster.file("out/results.h100-80gb.h5"))
        *jobs, merge = cluster.submit("--sku", ",".join(skus))
        expect_equal(len(jobs), 1, "jobs: the A100's cells are done")
        expect_equal(merge.wait(), 0, cluster.all_logs())
        cluster.expect_same_results("results.h5")


if __name__ == "__main__":
    main()
