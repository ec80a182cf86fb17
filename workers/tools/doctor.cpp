#include "workers/tools/doctor.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "sweeps/files/durable_file.hpp"
#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/rank/host.hpp"
#include "workers/rank/sku_detector.hpp"
#include "workers/server/session.hpp"

namespace worker {
namespace {

namespace fs = std::filesystem;

std::string gib(double value) { return sweep::formatted("%.1f GiB", value); }

DoctorRow device_row(const backends::DeviceInfo& info, const fs::path& profiles) {
  std::ostringstream text;
  text << info.name << " at " << info.pci_bus_id << ", "
       << gib(static_cast<double>(info.memory_bytes) / (1 << 30)) << ", compute capability "
       << info.compute_capability / 10 << '.' << info.compute_capability % 10;
  if (info.numa_node >= 0) text << ", NUMA node " << info.numa_node;
  DoctorRow row{"GPU " + std::to_string(info.ordinal), Verdict::ok, {}};
  if (info.card && info.card->mig) {
    row.verdict = Verdict::fail;
    text << ": split into MIG instances, which kvsweep refuses";
  } else {
    try {
      text << ": SKU " << detect_sku(profiles, identify(info));
    } catch (const std::runtime_error& error) {
      row.verdict = Verdict::fail;
      text << ": " << error.what();
    }
  }
  row.text = text.str();
  return row;
}

int major_of(const std::string& version) { return std::atoi(version.c_str()); }

constexpr const char* kOthersWork = "; the backends sim, cpu and server need none";

DoctorRow runtime_row(const backends::CudaProbe& probe, Verdict absent) {
  if (probe.runtime.empty())
    return {"CUDA", absent, std::string("this program has no backend cuda") + kOthersWork};
  if (probe.driver.cuda.empty())
    return {"CUDA", absent, "runtime " + probe.runtime + ", no driver" + kOthersWork};
  const std::string both = "runtime " + probe.runtime + ", the driver serves " + probe.driver.cuda;
  if (major_of(probe.runtime) > major_of(probe.driver.cuda))
    return {"CUDA", Verdict::fail, both + ": build with an older toolkit or take a newer driver"};
  return {"CUDA", Verdict::ok, both};
}

DoctorRow locked_memory_row() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const double memory = detect_memory_gib("/");
  std::string text = limit.rlim_cur == RLIM_INFINITY
                         ? "RLIMIT_MEMLOCK unlimited"
                         : "RLIMIT_MEMLOCK " + gib(static_cast<double>(limit.rlim_cur) / (1 << 30));
  if (memory > 0) text += ", " + gib(memory) + " available to this process";
  // CUDA's driver locks pages itself, and the limit applies to it on some systems only.
  if (limit.rlim_cur != RLIM_INFINITY && geteuid() != 0)
    return {"pinned memory", Verdict::warn,
            text + ": a larger host tier may be refused (ulimit -l unlimited)"};
  return {"pinned memory", Verdict::ok, text};
}

DoctorRow caches(server::Session& session, server::Reset reset) {
  if (reset == server::Reset::none)
    return {"caches", Verdict::ok, "left as they are between cells (server.reset)"};
  if (reset == server::Reset::restart)
    return {"caches", Verdict::ok, "emptied by a restart before each cell (server.reset)"};
  if (session.empty_caches(reset)) return {"caches", Verdict::ok, "can be emptied, by a probe"};
  return {"caches", Verdict::warn,
          session.owned() ? "cannot be emptied: it is restarted before each cell"
                          : "cannot be emptied: start it with " + session.dialect().reset_needs() +
                                ", or give server.reset = \"none\""};
}

/// As a sweep file would set them.
std::string listed(const server::EngineSizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes.named())
    if (size)
      text += (text.empty() ? "engine." : ", engine.") + std::string(name) + ' ' +
              std::to_string(*size);
  return text;
}

}  // namespace

std::vector<DoctorRow> examine_devices(const backends::CudaProbe& probe, const fs::path& profiles,
                                       bool needs_gpu) {
  std::vector<DoctorRow> rows;
  const Verdict absent = needs_gpu ? Verdict::fail : Verdict::warn;
  // Where a driver serves the program and shows no device, something is out of order.
  const bool may_lack = probe.runtime.empty() || probe.driver.cuda.empty();
  const Verdict missing = may_lack ? absent : Verdict::fail;
  for (const backends::DeviceInfo& info : probe.driver.devices)
    rows.push_back(device_row(info, profiles));
  if (probe.driver.devices.empty()) rows.push_back({"GPU", missing, probe.driver.problem});
  rows.push_back(runtime_row(probe, absent));
  if (probe.nvml_driver.empty())
    rows.push_back({"NVML", Verdict::warn, "no telemetry: " + probe.nvml_problem});
  else
    rows.push_back({"NVML", Verdict::ok, "driver " + probe.nvml_driver});
  if (probe.nccl.empty())
    rows.push_back({"NCCL", Verdict::warn, "not built in: every rank reads the weights itself"});
  else
    rows.push_back({"NCCL", Verdict::ok, probe.nccl});
  return rows;
}

DoctorRow examine_locks(const fs::path& folder) {
  DoctorRow row{"file locks", Verdict::fail, {}};
  const std::string in = " in " + folder.string(), risk = "; two runs could write one archive";
  std::string path = (folder / "kvsweep-lock-XXXXXX").string();
  const sweep::Descriptor file(::mkstemp(path.data()));
  if (file.get() < 0) {
    row.text = "no file can be made" + in + ": " + std::strerror(errno);
    return row;
  }
  const sweep::Descriptor other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    row.text = "flock() fails" + in + ": " + std::strerror(errno) + risk;
  else if (other.get() < 0 || ::flock(other.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    row.text = "do not exclude each other" + in + risk;
  else
    row = {row.check, Verdict::ok, "hold" + in};
  ::unlink(path.c_str());
  return row;
}

std::vector<DoctorRow> examine(const DoctorInput& input) {
  std::vector<DoctorRow> rows;
  if (input.mpi.empty())
    rows.push_back({"MPI", Verdict::warn, "not in use: one process drives and works"});
  else
    rows.push_back({"MPI", Verdict::ok, input.mpi});
  for (DoctorRow& row : examine_devices(backends::probe_cuda(), input.profiles, input.needs_gpu))
    rows.push_back(std::move(row));
  rows.push_back(locked_memory_row());
  rows.push_back(examine_locks(input.archive_folder));
  return rows;
}

std::vector<DoctorRow> examine_server(const server::ServerConfig& written, const std::string& log) {
  server::ServerConfig config = written;
  config.version.clear();
  try {
    server::Session session(config, {.log = log, .devices = {}});
    const server::ServerFacts& facts = session.facts();
    const auto said = [](const std::string& text) { return text.empty() ? "not reported" : text; };
    std::vector<DoctorRow> rows = {
        {"server", Verdict::ok, config.kind_name + " at " + session.url()},
        {"version", Verdict::ok, said(facts.version)}};
    if (!facts.version.empty() && facts.version != written.version)
      rows.back() = {"version", Verdict::warn,
                     facts.version + "; server.version is \"" + written.version + '"'};
    rows.push_back({"model", Verdict::ok, said(sweep::joined(facts.models))});
    rows.push_back({"KV pool", Verdict::ok, said(facts.pool)});
    rows.push_back({"sizes", Verdict::ok, said(listed(facts.sizes))});
    const bool metrics = session.has_metrics();
    rows.push_back({"metrics", metrics ? Verdict::ok : Verdict::warn,
                    metrics ? "/metrics has what is read" : "none: /telemetry will be empty"});
    rows.push_back(caches(session, config.reset));
    return rows;
  } catch (const server::ServerFailed& failed) {
    return {{"server", Verdict::fail, failed.what()}};
  }
}

}  // namespace worker
