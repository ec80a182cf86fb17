#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace backends {

/// A choice of numbers as a user writes it: "all", or numbers and ranges, "0,4,8-11".
class IndexRanges {
 public:
  /// All of them.
  IndexRanges() = default;
  /// Throws engine::InputError, saying what is allowed.
  static IndexRanges parse(const std::string& text);

  bool holds(std::int64_t number) const;
  /// The largest number that is named; -1 for all.
  std::int64_t last() const;
  /// The chosen ones of 0 to `count` - 1.
  std::vector<int> of(int count) const;

 private:
  struct Range {
    std::int64_t first, last;
  };
  std::vector<Range> ranges_;  // empty: all
};

}  // namespace backends
