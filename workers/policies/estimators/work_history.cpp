#include "workers/policies/estimators/work_history.hpp"

#include <algorithm>

namespace policies {

void WorkHistory::on_turn_end(engine::JobId job, const Work& work) {
  if (engine::index(job) >= turns_.size()) turns_.resize(engine::index(job) + 1);
  turns_[engine::index(job)].push_back(work);
}

void WorkHistory::on_job_end(engine::JobId job) {
  std::vector<Work>& turns = turns_.at(engine::index(job));
  if (left_.size() < turns.size()) left_.resize(turns.size());
  Work left;
  for (std::size_t turn = turns.size(); turn-- > 0;) {
    left += turns[turn];
    left_[turn].sum += left;
    ++left_[turn].jobs;
  }
  turns = std::vector<Work>();
}

Work WorkHistory::remaining(int turn) const {
  if (left_.empty()) return {};
  const Mean& mean = left_[std::min(static_cast<std::size_t>(turn), left_.size() - 1)];
  return {mean.sum.prompt / mean.jobs, mean.sum.output / mean.jobs};
}

}  // namespace policies
