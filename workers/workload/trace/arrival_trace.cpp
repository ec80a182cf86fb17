#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "sweeps/files/input_text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/csv.hpp"
#include "workers/workload/input/json_lines.hpp"
#include "workers/workload/trace/read_trace.hpp"

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

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  const bool whole = text.size() <= kShown;
  return "'" + std::string(text.substr(0, kShown)) + (whole ? "'" : "...'");
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

/// When the sessions of a trace of any known format begin, in order of time.
std::vector<Nanos> arrivals_of(const TraceSet& set) {
  std::vector<Nanos> arrivals;
  for (const TraceSession& session : set.sessions) {
    if (std::isnan(session.arrival_s))
      refuse({session.file, session.line}, "session \"" + session.id +
                                               "\" has no time of arrival; allowed: traces that "
                                               "say when each session begins");
    arrivals.push_back(engine::from_seconds(session.arrival_s));
  }
  std::ranges::sort(arrivals);
  return arrivals;
}

std::vector<Nanos> read_times(const std::string& path) {
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
  return sweep::fitting_memory<engine::InputError>(path, [&] {
    const auto format = known_format(path);
    // A CSV's dates are whole nanoseconds here.
    return format && *format != "azure" ? arrivals_of(read_trace(path)) : read_times(path);
  });
}

}  // namespace workload
