#include "workers/workload/input/csv.hpp"

#include <array>
#include <charconv>
#include <chrono>

namespace workload {
namespace {

using engine::Nanos;

/// Removes exactly `digits` digits from the front of `text` and returns their value.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = 10 * value + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view allowed) {
  if (text.empty() || allowed.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// Removes ".123456789", with one to nine digits, from the front of `text`; 0 when it is absent.
std::optional<Nanos> take_fraction(std::string_view& text) {
  if (!take(text, ".")) return Nanos{0};
  std::int64_t ns = 0;
  int digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++digits) {
    ns = 10 * ns + (text.front() - '0');
    text.remove_prefix(1);
    if (digits == 9) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  for (; digits < 9; ++digits) ns *= 10;
  return Nanos{ns};
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Nanos> date_time(std::string_view text) {
  using namespace std::chrono;
  std::array<int, 6> fields{};  // year, month, day, hour, minute, second
  constexpr std::array<std::string_view, 6> kBefore = {"", "-", "-", " T", ":", ":"};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0 && !take(text, kBefore[i])) return std::nullopt;
    const auto value = take_digits(text, i == 0 ? 4 : 2);
    if (!value) return std::nullopt;
    fields[i] = *value;
  }
  const auto fraction = take_fraction(text);
  if (!fraction || !(text.empty() || text == "Z" || text == "+00:00")) return std::nullopt;

  const year_month_day date{year{fields[0]}, month{static_cast<unsigned>(fields[1])},
                            day{static_cast<unsigned>(fields[2])}};
  const bool in_range = fields[0] >= 1970 && fields[0] <= 2200 && fields[3] <= 23 &&
                        fields[4] <= 59 && fields[5] <= 60;
  if (!date.ok() || !in_range) return std::nullopt;
  return sys_days{date}.time_since_epoch() + hours{fields[3]} + minutes{fields[4]} +
         seconds{fields[5]} + *fraction;
}

std::optional<std::string_view> csv_cell(std::string_view row, std::size_t column) {
  for (; column > 0; --column) {
    const auto comma = row.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    row.remove_prefix(comma + 1);
  }
  auto cell = trimmed(row.substr(0, row.find(',')));
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
    cell = cell.substr(1, cell.size() - 2);
  return cell;
}

}  // namespace workload
