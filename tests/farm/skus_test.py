"""A worker takes only cells of its own SKU."""
import os

import archives
from cases import case, expect, expect_equal, expect_in, main
from farm import Folder, sweep

NO_SUCH_WORKER = 4
A100_80 = ("--fake-device", "NVIDIA A100 80GB PCIe,81920")


def one_sku():
    return Folder(sweep(gpus=("a100-40gb",), repeats=1, jobs=1))


@case("cells pinned to a SKU that no worker is do not run, and the message has both names")
def no_worker_of_the_sku():
    for ranks in 1, 3:
        with one_sku() as folder:
            outcome = folder.run("--archive", "a.h5", *A100_80, ranks=ranks)
            expect_equal(outcome.code, NO_SUCH_WORKER, f"exit code, {outcome}")
            expect_equal(outcome.finished(), [], f"cells that ran, {outcome}")
            expect_in("no sim worker is a a100-40gb; the workers are: a100-80gb", outcome.out,
                      "standard output")
            if archives.h5py:
                statuses = {row["status"] for row in archives.cells(folder.file("a.h5")).values()}
                expect_equal(statuses, {"planned"}, "statuses")
            # Only the workers with the right SKU run cells.
            rest = folder.run("--archive", "a.h5", "--as-sku", "a100-40gb", ranks=ranks)
            expect_equal(rest.code, 0, f"exit code, {rest}")
            expect_equal(len(rest.finished()), 6, f"cells, {rest}")


@case("of two SKUs the cells run whose SKU the workers are, and the others stay planned")
def workers_of_one_of_two_skus():
    with Folder(sweep(gpus=("a100-40gb", "a100-80gb"), repeats=1, jobs=1)) as folder:
        outcome = folder.run("--archive", "a.h5", *A100_80, ranks=3)
        expect_equal(outcome.code, NO_SUCH_WORKER, f"exit code, {outcome}")
        ran = outcome.finished()
        expect_equal(len(ran), 6, f"cells that ran, {outcome}")
        expect(all("gpu=a100-80gb" in label for label in ran), f"cells that ran: {ran}")
        if archives.h5py:
            rows = archives.cells(folder.file("a.h5"))
            for label, row in rows.items():
                expected = "ok" if "gpu=a100-80gb" in label else "planned"
                expect_equal(row["status"], expected, label)
                if expected == "ok":
                    expect_equal(row["gpu_name"], "NVIDIA A100 80GB PCIe", "gpu_name")
                    expect_equal(row["gpu_memory_bytes"], 81920 << 20, "gpu_memory_bytes")


@case("a device that fits no profile, or is written wrongly, is refused with what is known")
def unknown_device():
    with one_sku() as folder:
        for device, word in ("Radeon,81920", "a100-80gb"), ("NVIDIA A100 80GB PCIe", "NAME,MiB"):
            for ranks in 1, 3:
                outcome = folder.run("--archive", "a.h5", "--fake-device", device, ranks=ranks)
                expect_equal(outcome.code, 2, f"exit code, {outcome}")
                expect_in(device.split(",")[0], outcome.err, "message")
                expect_in(word, outcome.err, "message")
                expect_equal(outcome.finished(), [], "cells that ran")
                expect(not os.path.exists(folder.file("a.h5.d")), "files beside the archive")


if __name__ == "__main__":
    main()
