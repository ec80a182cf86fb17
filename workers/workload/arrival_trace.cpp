#include <array>
#include <charconv>
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "sweeps/files/input_text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/arrivals.hpp"
#include "workers/workload/json_lines.hpp"

namespace workload {
namespace {

using engine::Nanos;

constexpr double kLatestArrival_s = 1e9;  // well below 2^63 ns

struct Line {
  const InputPlace& place;
  std::string_view text;

  [[noreturn]] void refuse(const std::string& found, const std::string& allowed) const {
    workload::refuse(place, "found " + found + ", allowed " + allowed);
  }
};

using LineParser = std::function<Nanos(const Line&)>;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  const bool whole = text.size() <= kShown;
  return "'" + std::string(text.substr(0, kShown)) + (whole ? "'" : "...'");
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Nanos instant(const Line& line, double t_s) {
  if (!(t_s >= 0 && t_s <= kLatestArrival_s))
    line.refuse(quoted(line.text), "a time from 0 to 1e9 seconds after the start");
  return engine::from_seconds(t_s);
}

Nanos parse_seconds(const Line& line, std::string_view text) {
  const auto t_s = number_in(text);
  if (!t_s) line.refuse(quoted(text), "a number of seconds since the start");
  return instant(line, *t_s);
}

Nanos parse_object(const Line& line) {
  const Json row = parse_json(line.text, line.place);
  const auto number = [&row](const char* field) -> std::optional<double> {
    if (!row.is_object() || !row.contains(field) || !row[field].is_number()) return std::nullopt;
    return row[field].get<double>();
  };
  if (const auto t_s = number("t_s")) return instant(line, *t_s);
  if (const auto t_ms = number("timestamp")) return instant(line, *t_ms * 1e-3);
  line.refuse(quoted(line.text),
              R"(a JSON object with a number "t_s" (seconds) or "timestamp" (milliseconds))");
}

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

/// Time since 1970 of "2023-11-16 18:17:03.9799600", optionally with T instead of the blank and
/// followed by Z or +00:00.
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

/// The column's cell without blanks and quotes; empty optional if the row is shorter.
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

std::string_view cell_of(const Line& line, std::size_t column) {
  const auto cell = csv_cell(line.text, column);
  if (!cell) line.refuse(quoted(line.text), "at least " + std::to_string(column + 1) + " columns");
  return *cell;
}

LineParser date_column(std::size_t column) {
  return [column, origin = std::optional<Nanos>()](const Line& line) mutable {
    const auto cell = cell_of(line, column);
    const auto t = date_time(cell);
    if (!t) line.refuse(quoted(cell), "a date and time such as 2023-11-16 18:17:03.9799600");
    if (!origin) origin = t;
    return *t - *origin;
  };
}

LineParser csv_parser(const Line& header) {
  for (std::size_t column = 0; const auto name = csv_cell(header.text, column); ++column) {
    if (*name == "TIMESTAMP") return date_column(column);
    if (*name == "t_s")
      return [column](const Line& line) { return parse_seconds(line, cell_of(line, column)); };
  }
  header.refuse(
      quoted(header.text),
      "a number of seconds, a CSV header with a column t_s or TIMESTAMP, or a JSON object");
}

/// Collects the arrivals of one file. The first line with content decides the format of the file.
class TraceFile {
 public:
  void read(const Line& line) {
    if (!parse_) {
      const bool is_header = !number_in(line.text) && line.text.front() != '{';
      parse_ = parser_for(line);
      if (is_header) return;
    }
    const Nanos t = parse_(line);
    if (!arrivals_.empty() && t < arrivals_.back())
      line.refuse(std::to_string(engine::to_seconds(t)) + " s after " +
                      std::to_string(engine::to_seconds(arrivals_.back())) + " s",
                  "times that never decrease");
    arrivals_.push_back(t);
  }

  std::vector<Nanos> take() { return std::move(arrivals_); }

 private:
  static LineParser parser_for(const Line& line) {
    if (line.text.front() == '{') return parse_object;
    if (number_in(line.text)) return [](const Line& l) { return parse_seconds(l, l.text); };
    return csv_parser(line);
  }

  LineParser parse_;
  std::vector<Nanos> arrivals_;
};

std::vector<Nanos> read_arrivals(const std::string& path) {
  LineReader lines(path);
  TraceFile trace;
  while (auto text = lines.next()) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (lines.place().line == 1 && text->starts_with(kByteOrderMark))
      text->remove_prefix(kByteOrderMark.size());
    const auto content = trimmed(*text);
    if (!content.empty() && content.front() != '#') trace.read({lines.place(), content});
  }
  auto arrivals = trace.take();
  if (arrivals.empty()) refuse({path, 0}, "found no arrivals, allowed at least one");
  return arrivals;
}

}  // namespace

std::vector<Nanos> trace_arrivals(const std::string& path) {
  return sweep::fitting_memory<engine::InputError>(path, [&] { return read_arrivals(path); });
}

}  // namespace workload
