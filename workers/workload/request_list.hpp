#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "workers/workload/request_sizes.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

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
