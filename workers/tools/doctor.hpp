#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/server/dialect/config.hpp"

namespace worker {

enum class Verdict { ok, warn, fail };

/// The result of one check of the environment of runs.
struct DoctorRow {
  std::string check;  // "GPU 0", "pinned memory", ...
  Verdict verdict = Verdict::ok;
  std::string text;  // what was found and, unless ok, its consequence
};

/// Input that only the caller has.
struct DoctorInput {
  std::string mpi;                       // the library's version text; empty without MPI
  std::filesystem::path archive_folder;  // where results are to be written
  std::filesystem::path profiles;        // folder of SKU profiles
  bool needs_gpu = false;                // runs are to use backend cuda
};

/// Checks everything that is known to make runs fail. Changes nothing, apart from a temporary file
/// in the archive's folder. Never throws because of a finding.
std::vector<DoctorRow> examine(const DoctorInput& input);

/// The rows about devices, their driver and their libraries. A machine without any of them, or a
/// program without the backend cuda, fails only with `needs_gpu`.
std::vector<DoctorRow> examine_devices(const backends::CudaProbe& probe,
                                       const std::filesystem::path& profiles, bool needs_gpu);

/// Describes the server of a cell: version, model, pool, metrics, and whether its caches
/// can be emptied. Starts it where the cell does, with its output in the file `log`.
std::vector<DoctorRow> examine_server(const server::ServerConfig& config, const std::string& log);

/// Whether locks work in a folder: HDF5 and the archive rely on flock().
DoctorRow examine_locks(const std::filesystem::path& folder);

}  // namespace worker
