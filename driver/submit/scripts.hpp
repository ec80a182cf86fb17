#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "driver/plan/plan.hpp"
#include "driver/submit/job.hpp"

namespace driver {

/// A batch script, the file that it goes to, and a summary to print.
struct BatchScript {
  std::filesystem::path file;
  std::string text;
  std::string summary;  // one line
};

/// Paths of an archive's parts: beside it, with the SKU in their names.
struct SubmitPaths {
  explicit SubmitPaths(const std::filesystem::path& archive);

  std::filesystem::path archive;                           // DIR/results.h5, absolute
  std::filesystem::path of(const std::string& end) const;  // DIR/results<end>
  std::filesystem::path of_sku(const std::string& sku) const { return of('.' + sku + ".h5"); }
};

/// The common part of all scripts of a submission.
struct Submission {
  const Options& options;
  const Cluster& cluster;
  const Plan& plan;
  SubmitPaths paths;
};

/// The job of one SKU.
BatchScript sku_script(const Submission& submission, const SkuJob& job);
/// The job that runs after them, merges the archives of `skus` and prints the table.
BatchScript merge_script(const Submission& submission, const std::vector<std::string>& skus);

}  // namespace driver
