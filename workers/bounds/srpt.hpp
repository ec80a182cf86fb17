#pragma once
#include <vector>

namespace bounds {

/// Work for a server of unit speed that may interrupt it at any time.
struct ServerJob {
  double release_s = 0;
  double work_s = 0;
};

/// The sum of completion times when the job with the least work left is always served first, which
/// no other schedule of the server can lower (Schrage 1968).
double least_completion_sum(std::vector<ServerJob> jobs);

}  // namespace bounds
