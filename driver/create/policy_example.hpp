#pragma once
#include <string_view>
#include <vector>

namespace driver {

/// A file of the folder that `kvsweep new policy NAME` writes. POLICY_NAME stands for the name in
/// `path` and `text`.
struct ExampleFile {
  std::string_view path, text;
};

/// Those of workers/policies/plugin/example, and the header that they include.
std::vector<ExampleFile> policy_example();

}  // namespace driver
