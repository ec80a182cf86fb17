#include "analysis/trace/names.hpp"

#include <stdexcept>

namespace analysis {
namespace {

std::uint64_t key_of(std::int32_t job, std::int32_t turn) {
  return std::uint64_t{static_cast<std::uint32_t>(job)} << 32 | static_cast<std::uint32_t>(turn);
}

std::string numbered(std::int32_t job, std::int32_t turn) {
  return "turn " + std::to_string(turn) + " of job " + std::to_string(job);
}

}  // namespace

TurnNames::TurnNames(const sweep::CellResult& result)
    : job_of_turn_(result.turns.values<std::int32_t>("job")) {
  const auto& numbers = result.jobs.values<std::int32_t>("job");
  const auto& ids = result.jobs.values<std::string>("id");
  for (std::size_t i = 0; i < numbers.size(); ++i) jobs_[numbers[i]] = ids[i];
  const auto& turns = result.turns.values<std::int32_t>("turn");
  for (std::size_t row = 0; row < turns.size(); ++row) {
    if (!rows_.emplace(key_of(job_of_turn_[row], turns[row]), row).second) {
      throw std::logic_error("turns holds " + numbered(job_of_turn_[row], turns[row]) + " twice");
    }
    requests_.push_back(request(job_of_turn_[row], turns[row]));
  }
}

std::optional<std::size_t> TurnNames::find(std::int32_t job, std::int32_t turn) const {
  const auto found = rows_.find(key_of(job, turn));
  if (found == rows_.end()) return std::nullopt;
  return found->second;
}

std::size_t TurnNames::row_of(std::int32_t job, std::int32_t turn) const {
  if (const auto row = find(job, turn)) return *row;
  throw std::logic_error("sched names " + numbered(job, turn) + ", which turns lacks");
}

const std::string& TurnNames::job(std::int32_t job) const {
  const auto found = jobs_.find(job);
  if (found != jobs_.end()) return found->second;
  throw std::logic_error("a table names job " + std::to_string(job) + ", which jobs lacks");
}

std::string TurnNames::request(std::int32_t job_number, std::int32_t turn) const {
  return job(job_number) + ':' + std::to_string(turn);
}

}  // namespace analysis
