#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/access_log.hpp"

namespace backends {

struct AccessPattern;
struct AccessSegment;
struct ExpectedStep;
struct LoggedParts;

/// A selection of numbers as a user writes it: "all", or numbers and ranges, "0,4,8-11".
class IndexRanges {
 public:
  /// Selects all numbers.
  IndexRanges() = default;
  /// Throws engine::InputError, saying what is allowed.
  static IndexRanges parse(const std::string& text);

  bool holds(std::int64_t number) const;
  /// The largest selected number; -1 for all.
  std::int64_t last() const;
  /// The selected numbers among 0 to `count` - 1.
  std::vector<int> of(int count) const;

 private:
  struct Range {
    std::int64_t first, last;
  };
  std::vector<Range> ranges_;  // empty: all
};

/// Which accesses of a cell are logged.
struct AccessLogOptions {
  IndexRanges layers = {}, heads = {}, steps = {};
  std::int64_t max_records = 20'000'000;  // logging stops before the step that would exceed it
  /// Judges a step's records beyond their number, and throws AccessMismatch; for tests.
  std::function<void(const ExpectedStep&, const AccessPattern&, const LoggedParts&,
                     std::span<const AccessSegment>)>
      check = {};
};

}  // namespace backends
