#include "workers/bounds/srpt.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace bounds {

double least_completion_sum(std::vector<ServerJob> jobs) {
  std::ranges::sort(jobs, {}, &ServerJob::release_s);
  std::priority_queue<double, std::vector<double>, std::greater<>> left;
  double now = 0, sum = 0;
  for (std::size_t next = 0; next < jobs.size() || !left.empty();) {
    if (left.empty()) now = std::max(now, jobs[next].release_s);
    for (; next < jobs.size() && jobs[next].release_s <= now; ++next) left.push(jobs[next].work_s);
    const double work = left.top();
    left.pop();
    if (next < jobs.size() && now + work > jobs[next].release_s) {
      left.push(work - (jobs[next].release_s - now));
      now = jobs[next].release_s;
      continue;
    }
    now += work;
    sum += now;
  }
  return sum;
}

}  // namespace bounds
