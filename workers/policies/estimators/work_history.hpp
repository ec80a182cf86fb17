#pragma once
#include <algorithm>
#include <functional>
#include <vector>

#include "workers/engine/base/ids.hpp"

namespace policies {

/// Tokens of a job's turns: to compute, at least, and to generate.
struct Work {
  double prompt = 0, output = 0;
  Work& operator+=(const Work& more) {
    prompt += more.prompt;
    output += more.output;
    return *this;
  }
};

/// The work of this turn and all later ones of the job.
using WorkSource = std::function<Work(engine::JobId, int turn)>;

/// The mean work that jobs had left at each of their turns.
class WorkHistory {
 public:
  void on_turn_end(engine::JobId job, const Work& work) {
    if (engine::index(job) >= turns_.size()) turns_.resize(engine::index(job) + 1);
    turns_[engine::index(job)].push_back(work);
  }
  /// Learns from the turns of the job, which was not aborted.
  void on_job_end(engine::JobId job) {
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
  /// Work of this turn, counted from 0, and all later ones: the mean of the jobs that had such a
  /// turn or, where none had, of those that got furthest. Nothing before the first job has ended.
  Work remaining(int turn) const {
    if (left_.empty()) return {};
    const Mean& mean = left_[std::min(static_cast<std::size_t>(turn), left_.size() - 1)];
    return {mean.sum.prompt / mean.jobs, mean.sum.output / mean.jobs};
  }

 private:
  struct Mean {
    Work sum;
    double jobs = 0;
  };
  std::vector<std::vector<Work>> turns_;  // by job that has not ended
  std::vector<Mean> left_;                // by turn
};

}  // namespace policies
