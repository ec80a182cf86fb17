#include <array>
#include <cmath>
#include <optional>

#include "workers/workload/input/csv.hpp"
#include "workers/workload/request_list.hpp"
#include "workers/workload/trace/builder.hpp"
#include "workers/workload/trace/formats.hpp"

namespace workload {
namespace {

/// Names of the columns in the formats that are known.
constexpr std::array<std::array<std::string_view, 3>, 2> kColumns = {
    {{"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
     {"Timestamp", "Request tokens", "Response tokens"}}};

constexpr const char* kShareNothing = "single requests without ids: prompts share nothing";

struct Columns {
  std::array<std::size_t, 3> at{};  // time, prompt, output
};

std::optional<std::size_t> column_named(std::string_view header, std::string_view name) {
  for (std::size_t i = 0; const auto cell = csv_cell(header, i); ++i)
    if (*cell == name) return i;
  return std::nullopt;
}

Columns columns_of(std::string_view header, const InputPlace& place) {
  for (const auto& names : kColumns) {
    Columns columns;
    std::size_t found = 0;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const auto at = column_named(header, names[i])) columns.at[i] = *at, ++found;
    if (found == names.size()) return columns;
  }
  refuse(place,
         "the CSV header lacks columns; allowed: TIMESTAMP,ContextTokens,GeneratedTokens or "
         "Timestamp,...,Request tokens,Response tokens");
}

std::string_view cell(std::string_view row, std::size_t column, const InputPlace& place) {
  const auto found = csv_cell(row, column);
  if (!found) refuse(place, "has fewer columns than the header");
  return *found;
}

int tokens(std::string_view text, const InputPlace& place, const char* what, int least) {
  constexpr double kMost = 1 << 26;
  const auto count = number_in(text);
  if (!count || !(*count >= 0 && *count <= kMost) || *count != std::floor(*count))
    refuse(place, std::string(what) + " is \"" + std::string(text.substr(0, 40)) +
                      "\"; allowed: a whole number of tokens from 0 to 67108864");
  return std::max(static_cast<int>(*count), least);
}

/// Seconds: a number, or a date.
double time_s(std::string_view text, const InputPlace& place) {
  if (const auto date = date_time(text)) return engine::to_seconds(*date);
  const auto number = number_in(text);
  if (!number || !(*number >= 0 && *number <= 1e9))
    refuse(place, "the time is \"" + std::string(text.substr(0, 40)) +
                      "\"; allowed: a date and time, or seconds from 0 to 1e9");
  return *number;
}

}  // namespace

void read_request_csv(const std::string& path, TraceSet& set) {
  LineReader lines(path);
  std::string_view header = lines.next().value_or("");
  if (header.starts_with("\xEF\xBB\xBF")) header.remove_prefix(3);
  const Columns columns = columns_of(header, lines.place());
  std::optional<double> first_s;
  double latest_s = 0;
  while (const auto row = lines.next()) {
    const InputPlace& place = lines.place();
    TraceTurn turn;
    turn.prompt_tokens = tokens(cell(*row, columns.at[1], place), place, "the prompt", 1);
    turn.output_tokens = tokens(cell(*row, columns.at[2], place), place, "the answer", 1);
    turn.start_s = turn.think_s = 0;
    const double t_s = time_s(cell(*row, columns.at[0], place), place);
    if (!first_s) first_s = t_s;
    if (t_s - *first_s < latest_s)
      refuse(place, "lies before the time of the line above; allowed: times that never decrease");
    latest_s = t_s - *first_s;
    const std::string id = "line " + std::to_string(place.line);
    SessionBuilder made(id, local_scope(id), 0, place);
    made.session().arrival_s = latest_s;
    made.add_turn(std::move(turn), -1, 0);
    set.sessions.push_back(std::move(made).take());
  }
  set.notes.push_back(kShareNothing);
}

bool lists_lengths(const std::string& path) {
  LineReader lines(path);
  while (const auto line = lines.next()) {
    if (line->starts_with('#')) continue;
    const auto blank = line->find_first_of(" \t");
    return blank != line->npos && number_in(line->substr(0, blank)) &&
           number_in(trimmed(line->substr(blank)));
  }
  return false;
}

void read_lengths(const std::string& path, TraceSet& set) {
  for (const RequestSize& size : read_sizes(path)) {
    const std::string id = "request " + std::to_string(set.sessions.size() + 1);
    SessionBuilder made(id, local_scope(id), 0, {path, 0});
    TraceTurn turn;
    turn.prompt_tokens = size.prompt_tokens;
    turn.output_tokens = size.output_tokens;
    turn.start_s = turn.think_s = 0;
    made.add_turn(std::move(turn), -1, 0);
    set.sessions.push_back(std::move(made).take());
  }
  set.notes.push_back(kShareNothing);
}

}  // namespace workload
