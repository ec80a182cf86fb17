#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sweeps/tables/result.hpp"
#include "workers/record/turn_tables.hpp"

namespace worker {

/// A turn as the client of a server saw it. Counts that the server did not report are empty.
struct SeenTurn {
  engine::RequestSpec spec;  // without its tokens
  engine::Nanos sent{0}, first_token{0}, last_token{0};
  int prompt_tokens = 0, output_tokens = 0;
  double tokens_at_first = 1;        // of the output, with its first token
  std::optional<int> cached_tokens;  // of the prompt, in all caches
  std::optional<int> host_tokens;    // those of them from host memory
  std::optional<int> preemptions;
};

/// Converts what a client saw into the tables of a cell. What happens inside of a server, its steps
/// above all, is not seen: those tables stay empty, and columns of times hold NaN.
class ClientRecorder {
 public:
  explicit ClientRecorder(const workload::Workload& workload) : turns_(workload) {}
  void add(const SeenTurn& turn);

  /// Jobs and turns, with their figures. `token_gaps_s`: between tokens, over all turns.
  sweep::CellResult take(std::span<const double> token_gaps_s,
                         std::vector<sweep::TelemetryRow> samples);

 private:
  TurnTables turns_;
  bool saw_cached_ = true, saw_host_ = true, saw_preemptions_ = true;  // in every turn
};

}  // namespace worker
