#pragma once
#include <filesystem>
#include <optional>

#include "driver/command_line/command_table.hpp"

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
/// Simulates the cells in which a server was measured, by the constants of its own steps, and
/// prints both. The constants are those of the card's profile, or with --fit those of the steps of
/// the chosen cells, which are then not judged.
int twin(const Options& options);
int diff(const Options& options);
int tune(const Options& options);
int describe_workload(const Options& options);
int bound(const Options& options);
int claims(const Options& options);
int doctor(const Options& options);
int submit(const Options& options);
int completion(const Options& options);
int keys(const Options& options);
int policies(const Options& options);
/// Writes the folder NAME with a policy as a shared object in C++ or C, or as a Python class.
int new_policy(const Options& options);

/// A page of the web build, "report.html" or "viewer.html": beside the program in its build folder,
/// or where it was installed. Empty when the program was built without web pages.
std::optional<std::filesystem::path> find_web_page(const char* name);

}  // namespace driver
