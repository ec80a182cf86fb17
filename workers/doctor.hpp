#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "workers/backends/cuda/cuda_device.hpp"

namespace worker {

enum class Verdict { ok, warn, fail };

/// One thing that a run depends on, as it was found.
struct DoctorRow {
  std::string check;  // "GPU 0", "pinned memory", ...
  Verdict verdict = Verdict::ok;
  std::string text;  // what was found and, unless ok, what follows
};

/// What only the caller knows.
struct DoctorInput {
  std::string mpi;                       // the library's version text; empty without MPI
  std::filesystem::path archive_folder;  // where results shall be written
  std::filesystem::path profiles;        // folder of SKU profiles
};

/// Looks at everything that runs have been seen to fail on, and changes nothing: the only file is
/// one in the archive's folder, gone when this returns. Never throws for what it finds.
std::vector<DoctorRow> examine(const DoctorInput& input);

/// The rows about devices, their driver and their libraries.
std::vector<DoctorRow> examine_devices(const backends::CudaProbe& probe,
                                       const std::filesystem::path& profiles);

/// Whether locks hold in a folder: HDF5 and the archive rely on flock().
DoctorRow examine_locks(const std::filesystem::path& folder);

}  // namespace worker
