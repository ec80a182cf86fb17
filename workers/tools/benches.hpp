#pragma once
#include <cstddef>
#include <string>

#include "workers/cell/experiment.hpp"
#include "workers/workload/tokenizer/tokenizer.hpp"

namespace worker {

/// Speed of the simulator on a cell: the best of several runs, on one core. Times exclude the
/// generation of the workload and the hashing of the prompts.
struct SimSpeed {
  int jobs = 0;
  std::uint64_t steps = 0;
  std::uint64_t scheduled = 0;       // requests scheduled, summed over steps
  std::uint64_t blocks_touched = 0;  // blocks allocated, shared, released or registered
  double engine_s = 0;               // scheduler, KV cache and cost model
  double recorded_s = 0;             // the same with every table recorded
};

SimSpeed measure_sim(const ExperimentConfig& config, int repeats);

struct ClientCost {
  std::size_t streams = 0;
  std::size_t token_events = 0;
  std::size_t gaps = 0;                        // between token events of a stream
  double us_per_event = 0;                     // processor time of the client
  double late_median_ms = 0, late_p99_ms = 0;  // sending behind the intended time
};

/// What the client of backend server costs by itself: 1,000 streams of 50 tokens, one begun each
/// millisecond, from a process that answers at once. Throws engine::InputError without libcurl or a
/// free port.
ClientCost measure_client();

struct TokenizerSpeed {
  std::string tokenizer;
  double megabytes_per_second;  // 1e6 bytes; the fastest repeat, on one core
  std::size_t bytes;            // of the text
  std::size_t tokens;           // of the text
};

/// Encodes the whole text `repeats` times (at least once).
TokenizerSpeed measure_tokenizer(const workload::Tokenizer& tokenizer, std::string_view text,
                                 int repeats);

/// The same for the text and the vocabulary of two files. Throws engine::InputError.
TokenizerSpeed measure_tokenizer_file(const std::string& tokenizer_path,
                                      const std::string& text_path, int repeats);

}  // namespace worker
