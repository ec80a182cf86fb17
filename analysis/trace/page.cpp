#include "analysis/trace/page.hpp"

#include <algorithm>
#include <vector>

#include "analysis/trace/columns.hpp"
#include "analysis/trace/relations.hpp"
#include "analysis/trace/spans.hpp"

namespace analysis {
namespace {

// The columns that the viewer shows.
constexpr std::string_view kSteps[] = {
    "step",      "n_tok",       "max_tok",     "n_prefill_tok", "n_decode",       "n_running",
    "n_waiting", "n_preempted", "blk_used",    "blk_pinned",    "blk_cached",     "blk_free",
    "h2d_bytes", "d2h_bytes",   "stop_reason", "host_blk_used", "host_blk_total", "n_loading"};
constexpr std::string_view kJobs[] = {"id",         "t_arrive_s", "t_finish_s", "n_turns",
                                      "jct_wall_s", "queue_s",    "preemptions"};
constexpr std::string_view kTurns[] = {
    "job",        "turn",         "agent",          "parent",          "t_arrive_s",
    "prompt_tok", "output_tok",   "cached_gpu_tok", "cached_host_tok", "recomputed_tok",
    "queue_s",    "load_stall_s", "recompute_s",    "prefill_s",       "decode_s",
    "gap_s",      "tool"};
constexpr std::string_view kEvents[] = {"step", "job", "kind", "blocks", "by_job", "deadline_s"};

template <class Row, class Get>
void add_member(PackedTable& table, std::string_view name, const std::vector<Row>& rows, Get get) {
  std::vector<std::int64_t> values(rows.size());
  std::ranges::transform(rows, values.begin(),
                         [&](const Row& row) { return std::int64_t(get(row)); });
  table.add(name, values);
}

void add_shares(JsonLine& line, const std::vector<TurnShare>& shares) {
  PackedTable table(line, "shares", shares.size());
  add_member(table, "turn", shares, [](const TurnShare& share) { return share.turn; });
  add_member(table, "kind", shares, [](const TurnShare& share) { return share.kind; });
  add_member(table, "first", shares, [](const TurnShare& share) { return share.first; });
  add_member(table, "count", shares, [](const TurnShare& share) { return share.count; });
  add_member(table, "tokens", shares, [](const TurnShare& share) { return share.tokens; });
  add_member(table, "before", shares, [](const TurnShare& share) { return share.before; });
  table.close();
}

void add_stays(JsonLine& line, const std::vector<TurnStay>& stays) {
  PackedTable table(line, "stays", stays.size());
  add_member(table, "turn", stays, [](const TurnStay& stay) { return stay.turn; });
  add_member(table, "running", stays, [](const TurnStay& stay) { return stay.running; });
  add_member(table, "first", stays, [](const TurnStay& stay) { return stay.first; });
  add_member(table, "last", stays, [](const TurnStay& stay) { return stay.last; });
  table.close();
}

void add_table(JsonLine& line, std::string_view name, const sweep::Table& table,
               std::span<const std::string_view> wanted) {
  PackedTable packed(line, name, table.rows());
  for (const std::string_view column : wanted) packed.add(table.column(column));
  packed.close();
}

void add_steps(JsonLine& line, const sweep::Table& steps) {
  PackedTable packed(line, "steps", steps.rows());
  add_step_times(packed, steps);
  for (const std::string_view column : kSteps) packed.add(steps.column(column));
  packed.close();
}

void add_turns(JsonLine& line, const sweep::Table& turns) {
  PackedTable packed(line, "turns", turns.rows());
  for (const std::string_view column : kTurns) packed.add(turns.column(column));
  add_sum(packed, turns, "t_admit_s", {"t_arrive_s", "queue_s"});
  add_sum(packed, turns, "t_first_token_s",
          {"t_admit_s", "load_stall_s", "recompute_s", "prefill_s"});
  add_sum(packed, turns, "t_finish_s", {"t_first_token_s", "decode_s"});
  packed.close();
}

void add_events(JsonLine& line, const sweep::CellResult& result) {
  const sweep::Table& events = result.kv_events;
  PackedTable packed(line, "kv_events", events.rows());
  for (const std::string_view column : kEvents) packed.add(events.column(column));
  add_event_times(packed, events, result.steps);
  add_multiple(packed, events, "bytes", "blocks");
  add_within(packed, events, "turn", "job");
  add_within(packed, events, "by_turn", "by_job");
  add_within(packed, events, "reason", "kind");
  packed.close();
}

void add_identity(JsonLine& line, const sweep::CellRecord& cell) {
  line.key("cell").integer(cell.index).key("key").text(cell.key).key("label").text(cell.label);
  line.key("backend").text(cell.backend);
  line.key("notes").open('{');
  for (const sweep::Note& note : cell.notes) line.key(note.name).text(note.text);
  line.close('}').key("figures").open('{');
  for (const sweep::Figure& figure : cell.figures) line.key(figure.name).number(figure.value);
  line.close('}');
}

void add_cell(JsonLine& line, const TracedCell& traced) {
  line.open('{');
  add_identity(line, traced.cell);
  add_steps(line, traced.result.steps);
  add_table(line, "jobs", traced.result.jobs, kJobs);
  add_turns(line, traced.result.turns);
  add_events(line, traced.result);
  const TurnSpans spans = turn_spans(traced.result);
  add_shares(line, spans.shares);
  add_stays(line, spans.stays);
  line.close('}');
}

}  // namespace

std::string trace_page(const std::string& archive, std::span<const TracedCell> cells) {
  JsonLine line;
  line.open('{').key("kind").text("trace").key("archive").text(archive).key("cells").open('[');
  for (const TracedCell& cell : cells) add_cell(line, cell);
  line.close(']').close('}');
  return std::string(line.so_far());
}

}  // namespace analysis
