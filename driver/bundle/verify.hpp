#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace driver {

enum class Outcome { same, note, different, damaged };

/// What one step of verify() found.
struct Finding {
  std::string step;  // "files", "archives", "figures", "claims", "cells"
  Outcome outcome = Outcome::same;
  std::string text;
};

struct VerifyLimits {
  double minutes = 10;           // for running cells again
  std::vector<std::string> set;  // files that cells read, as --set workload.path=FILE
};

/// Judges a bundle of pack() again. Damage ends it, since nothing behind it would count. Throws
/// sweep::SpecError for a folder that is no bundle.
std::vector<Finding> verify(const std::filesystem::path& bundle, const VerifyLimits& limits);

}  // namespace driver
