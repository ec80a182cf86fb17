#include "workers/backends/access_log_options.hpp"

#include <algorithm>
#include <string_view>

#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends {
namespace {

[[noreturn]] void refuse(std::string_view part) {
  throw engine::InputError("must be \"all\", or numbers and ranges such as \"0,4,8-11\"; found \"" +
                           std::string(part) + '"');
}

std::int64_t number_in(std::string_view digits) {
  constexpr std::size_t kMostDigits = 18;
  const auto number = sweep::number_from<std::int64_t>(digits);
  if (!number || digits.size() > kMostDigits || digits.front() == '-') refuse(digits);
  return *number;
}

}  // namespace

IndexRanges IndexRanges::parse(const std::string& text) {
  IndexRanges all;
  if (text == "all") return all;
  std::string_view left = text;
  for (bool more = true; more;) {
    const std::size_t comma = left.find(',');
    const std::string_view part = left.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::int64_t first = number_in(part.substr(0, dash));
    const std::int64_t last =
        dash == std::string_view::npos ? first : number_in(part.substr(dash + 1));
    if (last < first) refuse(part);
    all.ranges_.push_back({first, last});
    more = comma != std::string_view::npos;
    if (more) left.remove_prefix(comma + 1);
  }
  return all;
}

bool IndexRanges::holds(std::int64_t number) const {
  return ranges_.empty() || std::ranges::any_of(ranges_, [number](const Range& range) {
           return range.first <= number && number <= range.last;
         });
}

std::int64_t IndexRanges::last() const {
  std::int64_t last = -1;
  for (const Range& range : ranges_) last = std::max(last, range.last);
  return last;
}

std::vector<int> IndexRanges::of(int count) const {
  std::vector<int> chosen;
  for (int i = 0; i < count; ++i)
    if (holds(i)) chosen.push_back(i);
  return chosen;
}

}  // namespace backends
