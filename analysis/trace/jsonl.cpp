#include "analysis/trace/jsonl.hpp"

#include <ostream>

#include "analysis/text/new_file.hpp"
#include "analysis/trace/names.hpp"

namespace analysis {
namespace {

std::filesystem::path with_suffix(std::filesystem::path prefix, const char* suffix) {
  prefix += suffix;
  return prefix;
}

/// Writes the lines of /kv_events.
class EventWriter {
 public:
  EventWriter(const sweep::CellResult& result, std::ostream& out)
      : events_(result.kv_events), out_(out), names_(result) {}

  void write(std::size_t row) {
    row_ = row;
    line_.open('{').key("event").text("kv_event");
    add_enumerator("kind");
    add_enumerator("reason");
    add_integer<std::int64_t>("step", "step");
    line_.key("ts").number(value<double>("t_s"));
    add_request("", "job", "turn");
    add_integer<std::int32_t>("blocks", "blocks");
    add_integer<std::int64_t>("bytes", "bytes");
    add_request("by_", "by_job", "by_turn");
    line_.key("deadline").number(value<double>("deadline_s"));
    line_.close('}').end_line(out_);
  }

 private:
  template <class T>
  T value(std::string_view column) const {
    return events_.values<T>(column)[row_];
  }
  template <class T>
  void add_integer(std::string_view name, std::string_view column) {
    line_.key(name).integer(value<T>(column));
  }

  void add_enumerator(std::string_view column) {
    const auto& names = events_.column(column).enum_names;
    line_.key(column).text(names.at(static_cast<std::size_t>(value<std::int8_t>(column))));
  }

  /// Writes null for a job or turn of -1.
  void add_request(const std::string& prefix, std::string_view job_column,
                   std::string_view turn_column) {
    const auto job = value<std::int32_t>(job_column);
    const auto turn = value<std::int32_t>(turn_column);
    line_.key(prefix + "req_id").raw(job < 0 || turn < 0 ? "null" : names_.request(job, turn));
    line_.key(prefix + "job_id").raw(job < 0 ? "null" : names_.job(job));
  }

  const sweep::Table& events_;
  std::ostream& out_;
  TurnNames names_;
  JsonLine line_;
  std::size_t row_ = 0;
};

}  // namespace

void write_trace(const sweep::CellResult& result, const std::filesystem::path& prefix) {
  NewFile steps(with_suffix(prefix, ".steps.jsonl"));
  NewFile events(with_suffix(prefix, ".events.jsonl"));
  NewFile requests(with_suffix(prefix, ".requests.jsonl"));
  steps.fill([&](std::ostream& out) { write_steps(result, out); });
  events.fill([&](std::ostream& out) { write_events(result, out); });
  requests.fill([&](std::ostream& out) { write_requests(result, out); });
  steps.commit();
  events.commit();
  requests.commit();
}

void write_events(const sweep::CellResult& result, std::ostream& out) {
  EventWriter writer(result, out);
  for (std::size_t row = 0; row < result.kv_events.rows(); ++row) writer.write(row);
  flush_checked(out);
}

}  // namespace analysis
