#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/support/shared.hpp"

namespace support {

/// Exit code and output of a program.
struct Outcome {
  int exit_code;  // 128 + the signal's number when one ended it
  std::string out, err;
};

std::vector<std::string> lines_of(const std::string& text);

/// The built kvsweep, run in a folder of its own with a small sweep file in it.
class Program {
 public:
  Program();

  /// Runs `kvsweep` with these words. Standard output goes to `out_path` where one is given.
  Outcome run(const std::vector<std::string>& words, const std::string& out_path = "") const;

  /// Writes a file into the folder, which is the working directory of the program.
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
  std::string read(const std::string& name) const;
  /// The page of a report in this folder, with its data as text even where they are packed.
  std::string page(const std::string& folder) const;
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  bool exists(const std::string& name) const {
    return std::filesystem::exists(folder_.path() / name);
  }
  /// Names in a folder, sorted; none where it does not exist.
  std::vector<std::string> names_in(const std::string& name) const;

 private:
  TempDir folder_;
};

/// The rows of an archive's table.
std::vector<nlohmann::json> rows_of(const Program& program, const std::string& archive,
                                    const std::string& table);

/// Two cells of three small jobs each; tests rely on the line numbers of workload.jobs and jps.
inline const std::string kTinySweep = R"(schema = 1
[sweep]
name = "tiny"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum"]
jps = [3]
[workload]
kind = "swe_smith_like"
jobs = 3
)";

/// A table [policy] of a sweep file, with which every cell fails once the file "fail" exists.
inline const std::string kFailing =
    "[policy]\norder = \"plugin\"\nplugin = \"" KVSWEEP_TEST_PLUGINS "/fails_beside.so\"\n";

}  // namespace support
