#include "analysis/trace_page.hpp"

#include <algorithm>
#include <vector>

#include "analysis/trace_columns.hpp"
#include "analysis/trace_spans.hpp"

namespace analysis {
namespace {

// What the viewer shows; the rest of an archive is for other tools.
constexpr std::string_view kSteps[] = {
    "step",          "t_s",         "dur_s",         "n_tok",          "max_tok",
    "n_prefill_tok", "n_decode",    "n_running",     "n_waiting",      "n_preempted",
    "blk_used",      "blk_pinned",  "blk_cached",    "blk_free",       "h2d_bytes",
    "d2h_bytes",     "stop_reason", "host_blk_used", "host_blk_total", "n_loading"};
constexpr std::string_view kJobs[] = {"id",         "t_arrive_s", "t_finish_s", "n_turns",
                                      "jct_wall_s", "queue_s",    "preemptions"};
constexpr std::string_view kTurns[] = {"job",
                                       "turn",
                                       "t_arrive_s",
                                       "t_admit_s",
                                       "t_first_token_s",
                                       "t_finish_s",
                                       "prompt_tok",
                                       "output_tok",
                                       "cached_gpu_tok",
                                       "cached_host_tok",
                                       "recomputed_tok",
                                       "queue_s",
                                       "load_stall_s",
                                       "recompute_s",
                                       "prefill_s",
                                       "decode_s",
                                       "gap_s",
                                       "tool"};
constexpr std::string_view kEvents[] = {"step",   "t_s",     "job",       "turn",
                                        "kind",   "reason",  "blocks",    "bytes",
                                        "by_job", "by_turn", "deadline_s"};

template <class Row, class Get>
void add_member(JsonLine& line, std::string_view name, const std::vector<Row>& rows, Get get) {
  std::vector<std::int64_t> values(rows.size());
  std::ranges::transform(rows, values.begin(),
                         [&](const Row& row) { return std::int64_t(get(row)); });
  add_numbers(line, name, values);
}

void begin_rows(JsonLine& line, std::string_view name, std::size_t rows) {
  line.key(name).open('{').key("rows").integer(static_cast<std::int64_t>(rows));
  line.key("columns").open('{');
}

void add_shares(JsonLine& line, const std::vector<TurnShare>& shares) {
  begin_rows(line, "shares", shares.size());
  add_member(line, "turn", shares, [](const TurnShare& share) { return share.turn; });
  add_member(line, "kind", shares, [](const TurnShare& share) { return share.kind; });
  add_member(line, "first", shares, [](const TurnShare& share) { return share.first; });
  add_member(line, "count", shares, [](const TurnShare& share) { return share.count; });
  add_member(line, "tokens", shares, [](const TurnShare& share) { return share.tokens; });
  add_member(line, "before", shares, [](const TurnShare& share) { return share.before; });
  line.close('}').close('}');
}

void add_stays(JsonLine& line, const std::vector<TurnStay>& stays) {
  begin_rows(line, "stays", stays.size());
  add_member(line, "turn", stays, [](const TurnStay& stay) { return stay.turn; });
  add_member(line, "running", stays, [](const TurnStay& stay) { return stay.running; });
  add_member(line, "first", stays, [](const TurnStay& stay) { return stay.first; });
  add_member(line, "last", stays, [](const TurnStay& stay) { return stay.last; });
  line.close('}').close('}');
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
  add_table(line, "steps", traced.result.steps, kSteps);
  add_table(line, "jobs", traced.result.jobs, kJobs);
  add_table(line, "turns", traced.result.turns, kTurns);
  add_table(line, "kv_events", traced.result.kv_events, kEvents);
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
