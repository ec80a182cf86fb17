#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "workers/workload/trajectory.hpp"

namespace workload {

/// Prompt and output length of a request.
struct RequestSize {
  int prompt_tokens = 0;
  int output_tokens = 0;
  bool operator==(const RequestSize&) const = default;
};

/// Totals of prompt and output that follow Zipf's law over [min, max], small totals being the most
/// frequent.
struct ZipfSizes {
  int count = 20;
  int min = 128;  // tokens of prompt and output together
  int max = 2048;
  double theta = 0.6;  // skew, between 0 (uniform) and 1
  std::int64_t seed = 42;
  double prompt_to_output = 20;
};

/// The generator of YCSB (Gray et al., "Quickly generating billion-record synthetic databases",
/// SIGMOD 1994), as LLM benchmarks use it: one draw of numpy's RandomState(seed).random_sample per
/// request, zeta summed over all items but the last, no scrambling. A request's output is its share
/// of the total, rounded up, at least 1 and less than the total. Throws engine::InputError for
/// values that describe no such distribution.
std::vector<RequestSize> zipf_sizes(const ZipfSizes& config);

/// Parses sizes written as "430+1024 3600+496": prompt and output of each request, separated by
/// blanks or commas. Throws engine::InputError at the first entry that is not a size.
std::vector<RequestSize> parse_sizes(const std::string& text);

/// Reads sizes from a text file, one request per line: prompt and output, separated by blanks.
/// Skips empty lines and lines that start with '#'. Throws engine::InputError with file and line.
std::vector<RequestSize> read_sizes(const std::string& path);

/// Requests of equal size.
struct FixedSizes {
  int count = 1;
  RequestSize size{};
};

/// Requests with listed sizes.
struct ListedSizes {
  std::vector<RequestSize> sizes;
};

/// Requests with sizes in a file for read_sizes().
struct SizeFile {
  std::string path;
};

/// Requests without turns, tools or shared prefixes: offline batches, and the studies that use
/// them.
struct RequestListConfig {
  std::variant<FixedSizes, ZipfSizes, ListedSizes, SizeFile> sizes;
  std::optional<int> first = std::nullopt;  // listed sizes and files: only the first this many
  std::int64_t seed = 42;                   // seed of the token ids
  std::uint32_t vocabulary = 128'000;
};

/// One job of one turn for each request. No two jobs share their first token (for up to
/// `vocabulary` requests). Throws engine::InputError when the sizes describe no requests.
Workload make_request_list(const RequestListConfig& config);

}  // namespace workload
