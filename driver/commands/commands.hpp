#pragma once
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/ranking/policy_table.hpp"
#include "driver/command_line/command_table.hpp"
#include "driver/command_line/failure.hpp"

namespace driver {

/// Column of /provenance: the cells that a run left, a line for each reason.
inline constexpr const char* kLeft = "left";

/// All commands, in the order of the help text.
std::span<const Subcommand> commands();

// One function a subcommand, each in the file of its name. They return the exit code.
int plan(const Options& options);
int run(const Options& options);
int salvage(const Options& options);
int status(const Options& options);
int check(const Options& options);
int merge(const Options& options);
int compare(const Options& options);
int table(const Options& options);
int export_table(const Options& options);
int fit(const Options& options);
int report(const Options& options);
int trace(const Options& options);
int twin(const Options& options);
int diff(const Options& options);
int describe_workload(const Options& options);
int bound(const Options& options);
int claims(const Options& options);
int doctor(const Options& options);
int submit(const Options& options);
int completion(const Options& options);
int keys(const Options& options);
int policies(const Options& options);
/// Writes a folder that another machine can judge again: the archives, the profiles, claims and
/// published values that they are judged by, their sweep files, what comes out of them, and the
/// digests of all of it. The folder appears complete or not at all; it must not exist. Throws
/// UsageError for archives that are not whole, not merged or share a name, and sweep::FileError.
int pack(const Options& options);
int verify(const Options& options);
/// Writes the folder NAME with a policy as a shared object in C++ or C, or as a Python class.
int new_policy(const Options& options);

/// Prints the tables of `table`: a figure by arrival rate and policy, beside published values and
/// `bounds`.
void print_tables(const std::vector<analysis::ConfiguredCell>& cells, const Options& options,
                  const analysis::CellBounds& bounds = {});

/// A page of the web build, "report.html" or "viewer.html": beside the program in its build folder,
/// or where it was installed. Empty when the program was built without web pages.
std::optional<std::filesystem::path> find_web_page(const char* name);

/// A file of the folder that `kvsweep new policy NAME` writes for some languages, by their
/// suffixes: " cpp c ". In `path` and `text` POLICY_NAME stands for the name, POLICY_FILE for what
/// a sweep loads, and POLICY_LANGUAGE and POLICY_SUFFIX for what CMake compiles.
struct ExampleFile {
  std::string_view languages, path, text;
};

/// The files of workers/policies/plugin/example, and what they include or import.
std::vector<ExampleFile> policy_example();

}  // namespace driver
