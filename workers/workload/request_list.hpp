#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "workers/workload/request_sizes.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

/// Requests that are all of one size.
struct FixedSizes {
  int count = 1;
  RequestSize size{};
};

/// Requests written one by one.
struct ListedSizes {
  std::vector<RequestSize> sizes;
};

/// Requests in a file for read_sizes().
struct SizeFile {
  std::string path;
};

/// Requests without turns, tools or shared prefixes: offline batches, and the studies that use
/// them.
struct RequestListConfig {
  std::variant<FixedSizes, ZipfSizes, ListedSizes, SizeFile> sizes;
  std::optional<int> first = std::nullopt;  // of listed sizes and files: only so many
  std::int64_t seed = 42;                   // of the token ids
  std::uint32_t vocabulary = 128'000;
};

/// One job of one turn for each request. No two share their first token (for up to `vocabulary`
/// requests). Throws engine::InputError where the sizes describe no requests.
Workload make_request_list(const RequestListConfig& config);

}  // namespace workload
