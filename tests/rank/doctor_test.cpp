#include "workers/tools/doctor.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace worker;
using Catch::Matchers::Contains;

namespace {

backends::CudaProbe healthy_h200() {
  backends::CudaProbe probe;
  probe.runtime = "13.0";
  probe.driver.cuda = "13.0";
  probe.nvml_driver = "580.159.04";
  probe.nccl = "2.28.9";
  backends::DeviceInfo info;
  info.name = "NVIDIA H200";
  info.pci_bus_id = "0000:19:00.0";
  info.memory_bytes = std::int64_t{143156} << 20;
  info.compute_capability = 90;
  info.card.emplace();
  info.card->name = "NVIDIA H200";
  info.card->memory_mib = 143771;
  info.card->form_factor = "sxm";
  info.card->power_limit_w = 700;
  probe.driver.devices.push_back(info);
  return probe;
}

const DoctorRow& row(const std::vector<DoctorRow>& rows, const std::string& check) {
  for (const DoctorRow& row : rows)
    if (row.check == check) return row;
  throw std::runtime_error("no row about " + check);
}

std::vector<DoctorRow> examined(const backends::CudaProbe& probe, bool needs_gpu = false) {
  return examine_devices(probe, "sweeps", needs_gpu);
}

}  // namespace

TEST_CASE("a healthy machine has nothing but ok, and its GPU's SKU is named") {
  const auto rows = examined(healthy_h200());
  for (const DoctorRow& one : rows) CHECK(one.verdict == Verdict::ok);
  CHECK_THAT(row(rows, "GPU 0").text, Contains("SKU h200-141gb"));
  CHECK_THAT(row(rows, "GPU 0").text, Contains("0000:19:00.0"));
}

TEST_CASE("a card split by MIG fails, as does one of no profile or with too little power") {
  backends::CudaProbe probe = healthy_h200();
  probe.driver.devices[0].card->mig = true;
  CHECK(row(examined(probe), "GPU 0").verdict == Verdict::fail);
  probe.driver.devices[0].card->mig = false;
  probe.driver.devices[0].card->power_limit_w = 400;
  CHECK_THAT(row(examined(probe), "GPU 0").text, Contains("limited to 400 W"));
  probe.driver.devices[0].card->name = "Tesla T4";
  CHECK(row(examined(probe), "GPU 0").verdict == Verdict::fail);
}

TEST_CASE("a runtime newer than the driver serves fails, an older one is ok") {
  backends::CudaProbe probe = healthy_h200();
  probe.driver.cuda = "12.4";
  CHECK(row(examined(probe), "CUDA").verdict == Verdict::fail);
  probe.driver.cuda = "14.0";
  CHECK(row(examined(probe), "CUDA").verdict == Verdict::ok);
}

TEST_CASE("without devices the reason is given: a failure where there should be some") {
  backends::CudaProbe probe = healthy_h200();
  probe.driver.devices.clear();
  probe.driver.problem = "no CUDA-capable device is detected";
  CHECK(row(examined(probe), "GPU").verdict == Verdict::fail);
  CHECK_THAT(row(examined(probe), "GPU").text, Contains("no CUDA-capable device"));
  probe.runtime.clear();
  CHECK(row(examined(probe), "GPU").verdict == Verdict::warn);
  CHECK(row(examined(probe), "CUDA").verdict == Verdict::warn);
}

TEST_CASE("a machine without GPU and driver fails only if runs are to use one") {
  backends::CudaProbe probe = healthy_h200();
  probe.driver.devices.clear();
  probe.driver.cuda.clear();
  for (const char* check : {"GPU", "CUDA"}) {
    CHECK(row(examined(probe), check).verdict == Verdict::warn);
    CHECK(row(examined(probe, true), check).verdict == Verdict::fail);
  }
  CHECK_THAT(row(examined(probe), "CUDA").text, Contains("sim, cpu and server need none"));
}

TEST_CASE("a lack that only costs a feature is a warning: NVML its telemetry, NCCL the broadcast") {
  backends::CudaProbe probe = healthy_h200();
  probe.nvml_driver.clear();
  probe.nvml_problem = "libnvidia-ml.so.1: cannot open shared object file";
  probe.nccl.clear();
  CHECK(row(examined(probe), "NVML").verdict == Verdict::warn);
  CHECK_THAT(row(examined(probe), "NVML").text, Contains("libnvidia-ml.so.1"));
  CHECK(row(examined(probe), "NCCL").verdict == Verdict::warn);
}

TEST_CASE("locks are tried in the archive's folder, and nothing is left behind") {
  const support::TempDir folder;
  CHECK(examine_locks(folder.path()).verdict == Verdict::ok);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a folder where no file can be made fails with the system's reason") {
  const support::TempDir folder;
  const DoctorRow row = examine_locks(folder.path() / "missing");
  CHECK(row.verdict == Verdict::fail);
  CHECK_THAT(row.text, Contains("No such file or directory"));
}

TEST_CASE("an examination of this machine covers everything and never throws") {
  const support::TempDir folder;
  const auto rows = examine({.mpi = {}, .archive_folder = folder.path(), .profiles = "sweeps"});
  for (const char* check : {"MPI", "CUDA", "NVML", "NCCL", "pinned memory", "file locks"})
    CHECK_FALSE(row(rows, check).text.empty());
  CHECK(row(rows, "MPI").verdict == Verdict::warn);
  CHECK(examine({.mpi = "Open MPI 4.1.4", .archive_folder = folder.path(), .profiles = "sweeps"})[0]
            .verdict == Verdict::ok);
}
