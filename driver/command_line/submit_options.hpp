#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace driver {

/// What `kvsweep submit` takes besides the options of a run.
struct SubmitOptions {
  std::filesystem::path scripts;    // folder with the templates and clusters/
  std::filesystem::path program;    // this executable
  std::vector<std::string> skus;    // one job each
  std::string cluster = "generic";  // a profile of clusters/, or a .toml file
  std::string launcher = "mpirun";  // or "srun"
  std::optional<std::string> account, qos, time;
  int gpus = 1;  // of one SKU's job; of an array, tasks at once
  bool gpus_given = false;
  bool profiles_given = false;  // other than the program's own, so that jobs need to be told
  bool array = false;           // one cell a task
  bool smoke = false;           // one cell a SKU, drained and requeued on purpose
  bool print = false;           // scripts to standard output, nothing is written
  bool go = false;              // hand the scripts to sbatch
};

}  // namespace driver
