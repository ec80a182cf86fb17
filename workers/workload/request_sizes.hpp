#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace workload {

/// A request alone: so many tokens in, so many out.
struct RequestSize {
  int prompt_tokens = 0;
  int output_tokens = 0;
  bool operator==(const RequestSize&) const = default;
};

/// Totals of prompt and output that follow Zipf's law over [min, max], small ones first.
struct ZipfSizes {
  int count = 20;
  int min = 128;  // tokens of prompt and output together
  int max = 2048;
  double theta = 0.6;  // skew, between 0 (uniform) and 1
  std::int64_t seed = 42;
  double prompt_to_output = 20;
};

/// The generator of YCSB (Gray et al., "Quickly generating billion-record synthetic databases",
/// SIGMOD 1994), as LLM benchmarks drive it: one draw of numpy's RandomState(seed).random_sample a
/// request, zeta summed to one short of the number of items, no scrambling. A request's output is
/// its share of the total, rounded up, at least 1 and short of all. Throws engine::InputError for
/// values that describe no such law.
std::vector<RequestSize> zipf_sizes(const ZipfSizes& config);

/// Sizes written as "430+1024 3600+496": prompt and output of one request after the other, apart
/// by blanks or commas. Throws engine::InputError at the first that is none.
std::vector<RequestSize> parse_sizes(const std::string& text);

/// Sizes from a text file, a line each: prompt and output, apart by blanks. Empty lines, and lines
/// that open with '#', say nothing. Throws engine::InputError with file and line.
std::vector<RequestSize> read_sizes(const std::string& path);

}  // namespace workload
