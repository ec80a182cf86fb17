#include "analysis/trace/jsonl.hpp"

#include <ostream>

#include "analysis/trace/names.hpp"

namespace analysis {

void write_events(const sweep::CellResult& result, std::ostream& out) {
  const TurnNames names(result);
  const sweep::Table& events = result.kv_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const auto integer = [&](const char* column) {
      return events.values<std::int32_t>(column)[row];
    };
    const auto name = [&](const char* column) {
      const std::int8_t code = events.values<std::int8_t>(column)[row];
      return events.column(column).enum_names.at(static_cast<std::size_t>(code));
    };
    // null for a job or turn of -1.
    const auto job = [&](const char* column) {
      return integer(column) < 0 ? Json() : Json(names.job(integer(column)));
    };
    const auto request = [&](const char* of_job, const char* of_turn) {
      const std::int32_t number = integer(of_job), turn = integer(of_turn);
      return number < 0 || turn < 0 ? Json() : Json(names.request(number, turn));
    };
    write_line({{"event", "kv_event"},
                {"kind", name("kind")},
                {"reason", name("reason")},
                {"step", events.values<std::int64_t>("step")[row]},
                {"ts", events.values<double>("t_s")[row]},
                {"req_id", request("job", "turn")},
                {"job_id", job("job")},
                {"blocks", integer("blocks")},
                {"bytes", events.values<std::int64_t>("bytes")[row]},
                {"by_req_id", request("by_job", "by_turn")},
                {"by_job_id", job("by_job")},
                {"deadline", events.values<double>("deadline_s")[row]}},
               out);
  }
  flush_checked(out);
}

}  // namespace analysis
