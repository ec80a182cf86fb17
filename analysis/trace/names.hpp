#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sweeps/tables/result.hpp"

namespace analysis {

/// Finds rows of /turns by job and turn, and names requests as traces do: "<job id>:<turn>".
class TurnNames {
 public:
  /// Throws std::logic_error when /turns names a job that /jobs lacks. Borrows the result.
  explicit TurnNames(const sweep::CellResult& result);

  std::size_t size() const { return requests_.size(); }
  std::optional<std::size_t> find(std::int32_t job, std::int32_t turn) const;
  /// Throws std::logic_error if there is no such turn.
  std::size_t row_of(std::int32_t job, std::int32_t turn) const;

  const std::string& job(std::int32_t job) const;
  const std::string& job_of_row(std::size_t row) const { return job(job_of_turn_[row]); }
  const std::string& request_of_row(std::size_t row) const { return requests_[row]; }
  /// Works for turns that /turns lacks as well, e.g. unfinished ones.
  std::string request(std::int32_t job, std::int32_t turn) const;

 private:
  const std::vector<std::int32_t>& job_of_turn_;
  std::unordered_map<std::int32_t, std::string> jobs_;
  std::unordered_map<std::uint64_t, std::size_t> rows_;
  std::vector<std::string> requests_;  // by row of /turns
};

}  // namespace analysis
