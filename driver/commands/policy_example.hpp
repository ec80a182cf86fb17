#pragma once
#include <string_view>
#include <vector>

namespace driver {

/// A file of the folder that `kvsweep new policy NAME` writes for some languages, by their
/// suffixes: " cpp c ". In `path` and `text` POLICY_NAME stands for the name, POLICY_FILE for what
/// a sweep loads, and POLICY_LANGUAGE and POLICY_SUFFIX for what CMake compiles.
struct ExampleFile {
  std::string_view languages, path, text;
};

/// The files of workers/policies/plugin/example, and what they include or import.
std::vector<ExampleFile> policy_example();

}  // namespace driver
