#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "workers/workload/trace/builder.hpp"
#include "workers/workload/trace/formats.hpp"

namespace workload {
namespace {

constexpr int kMooncakeBlock = 512;
constexpr int kQwenBlock = 16;

/// One line, before it is known which agent it belongs to.
struct Row {
  InputPlace place;
  std::string id;
  std::string session;
  std::string agent;               // as named; empty: not said
  std::vector<std::string> waits;  // ids of requests
  std::vector<int> waits_for;      // rows of its session
  std::vector<std::uint64_t> ids;
  TraceTurn turn;
  double arrival_s = kUnrecorded;
  int block = kMooncakeBlock;
};
using Rows = std::vector<Row>;

int leading_equal(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  return static_cast<int>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// Which row each row continues, as the next turn of the same agent; -1: none. A named agent's rows
/// continue each other. Of those that wait for a row, the one that shares most with it continues
/// it, and it continues the one that it shares most with.
std::vector<int> continued_by(const Rows& rows) {
  const auto at = [&](int row) -> const Row& { return rows[static_cast<std::size_t>(row)]; };
  const auto shared = [&](int row, int wait) { return leading_equal(at(row).ids, at(wait).ids); };
  std::vector<int> claim(rows.size(), -1), before(rows.size(), -1);
  const int count = static_cast<int>(rows.size());
  for (int row = 0; row < count; ++row) {
    for (const int wait : at(row).waits_for) {
      int& best = claim[static_cast<std::size_t>(wait)];
      if (at(row).agent == at(wait).agent && (best < 0 || shared(row, wait) > shared(best, wait)))
        best = row;
    }
  }
  for (int row = 0; row < count; ++row) {
    int& best = before[static_cast<std::size_t>(row)];
    for (const int wait : at(row).waits_for)
      if (claim[static_cast<std::size_t>(wait)] == row &&
          (best < 0 || shared(row, wait) > shared(row, best)))
        best = wait;
  }
  return before;
}

TraceSession session_of(Rows rows) {
  const bool alone = rows.front().session.empty();
  SessionBuilder made(alone ? rows.front().id : rows.front().session, kGlobalScope,
                      rows.front().block, rows.front().place);
  made.session().arrival_s = rows.front().arrival_s;
  const std::vector<int> before = continued_by(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (std::isnan(row.turn.start_s)) row.turn.start_s = row.arrival_s - rows.front().arrival_s;
    row.turn.waits_for = row.waits_for;
    const auto agent_of = [&](int turn) {
      return made.session().turns[static_cast<std::size_t>(turn)].agent;
    };
    if (before[i] >= 0) {
      row.turn.agent = agent_of(before[i]);
    } else if (i > 0) {
      row.turn.agent =
          made.add_agent(row.agent.empty() ? row.id : row.agent, agent_of(row.waits_for.front()));
    }
    IdLists::Split split{0, row.ids};
    if (before[i] >= 0) {
      split.shared = leading_equal(row.ids, rows[static_cast<std::size_t>(before[i])].ids);
      split.fresh.erase(split.fresh.begin(), split.fresh.begin() + split.shared);
    }
    made.add_turn(std::move(row.turn), before[i], split, row.place);
  }
  return std::move(made).take();
}

/// Where a request that others may wait for has been put.
struct Placed {
  std::size_t session;
  int row;
};

/// Collects rows into sessions: those of a session_id, and those which wait for each other.
class RequestRows {
 public:
  explicit RequestRows(TraceSet& set) : set_(set) {}

  void add(Row row) {
    std::optional<std::size_t> session;
    for (const std::string& wait : row.waits) {
      const Placed& placed = find(wait, row);
      if (session && *session != placed.session)
        refuse(row.place, "request " + row.id + " waits for requests of different sessions");
      session = placed.session;
      if (std::ranges::find(row.waits_for, placed.row) == row.waits_for.end())
        row.waits_for.push_back(placed.row);
    }
    if (!session && !row.session.empty()) {
      const auto known = by_name_.find(row.session);
      if (known != by_name_.end()) session = known->second;
    }
    if (!session) session = open(row);
    Rows& rows = sessions_[*session];
    if (row.waits_for.empty() && !rows.empty()) row.waits_for = {static_cast<int>(rows.size()) - 1};
    if (!placed_.emplace(row.id, Placed{*session, static_cast<int>(rows.size())}).second)
      refuse(row.place, "request_id " + row.id + " stands on an earlier line already");
    rows.push_back(std::move(row));
  }

  void finish() && {
    for (Rows& rows : sessions_) set_.sessions.push_back(session_of(std::move(rows)));
  }

 private:
  const Placed& find(const std::string& wait, const Row& row) const {
    if (wait == row.id) refuse(row.place, "request " + row.id + " waits for itself");
    const auto placed = placed_.find(wait);
    if (placed == placed_.end())
      refuse(row.place, "request " + row.id + " waits for " + wait +
                            ", which no line above names; allowed: requests of earlier lines");
    return placed->second;
  }

  std::size_t open(const Row& row) {
    sessions_.emplace_back();
    if (!row.session.empty()) by_name_.emplace(row.session, sessions_.size() - 1);
    return sessions_.size() - 1;
  }

  TraceSet& set_;
  std::vector<Rows> sessions_;
  std::map<std::string, std::size_t> by_name_;
  std::map<std::string, Placed> placed_;
};

/// Lengths, ids and waits of a line.
class RowReader {
 public:
  RowReader(int block, double time_unit_s, NameIndex& tools)
      : block_(block), time_unit_s_(time_unit_s), tools_(tools) {}

  Row read(const TraceDocument& document) {
    const JsonField line(document.json, "", document.place);
    Row row;
    row.place = document.place;
    row.block = block_;
    const std::string number = std::to_string(document.place.line);
    row.id = name_in(line, "request_id", "line " + number);
    row.session = name_in(line, "session_id", "");
    row.agent = name_in(line, "agent", "");
    row.turn.prompt_tokens = token_count(line, {"input_length", "input_tokens", "in"}, 1);
    row.turn.output_tokens = token_count(line, {"output_length", "output_tokens", "out"}, 1);
    row.arrival_s = arrival(line);
    row.turn.start_s = seconds(line, "start_ms", 1e-3);
    row.turn.think_s = delay(line);
    row.turn.api_s = seconds(line, "api_ms", 1e-3);
    row.turn.tool = tools_.of(name_in(line, "tool", ""));
    row.ids = IdLists().read(id_list(document, line), "hash_ids", document.place).fresh;
    read_waits(line, row);
    return row;
  }

 private:
  double arrival(const JsonField& line) {
    const auto field = any_of(line, {"timestamp", "created_time"});
    if (!field) return kUnrecorded;
    const double t_s = field->number(0, 1e9 / time_unit_s_) * time_unit_s_;
    if (t_s < latest_s_ && line.find("session_id") == std::nullopt && !line.find("wait_for"))
      field->refuse_value(
          "lies before the time of the line above; allowed: times that never "
          "decrease");
    latest_s_ = t_s;
    return t_s;
  }

  static double delay(const JsonField& line) {
    for (const char* name : {"tool_wait_ms", "delay_ms", "delay"})
      if (line.find(name)) return seconds(line, name, 1e-3);
    return kUnrecorded;
  }

  static void read_waits(const JsonField& line, Row& row) {
    const auto waits = line.find("wait_for");
    if (!waits) return;
    const std::size_t count = waits->array_size("a list of request ids");
    for (std::size_t i = 0; i < count; ++i) {
      const JsonField wait = waits->at(i);
      row.waits.push_back(wait.value().is_number_integer()
                              ? wait.value().dump()
                              : wait.text("a request id: a string or a whole number"));
    }
  }

  int block_;
  double time_unit_s_;
  NameIndex& tools_;
  double latest_s_ = 0;
};

}  // namespace

void read_mooncake(const std::string& path, TraceSet& set) {
  NameIndex tools(set.tools);
  RequestRows rows(set);
  std::optional<int> block;
  std::optional<RowReader> reader;
  visit_documents(path, [&](const TraceDocument& document) {
    const JsonField line(document.json, "", document.place);
    const auto named = line.find("block_size");
    const int size = named ? static_cast<int>(named->number(1, 1 << 20)) : kMooncakeBlock;
    if (block.value_or(size) != size)
      refuse(document.place, "block_size differs from that of the lines above");
    block = size;
    if (!reader) reader.emplace(size, 1e-3, tools);
    rows.add(reader->read(document));
  });
  std::move(rows).finish();
  set.notes.push_back("ids name blocks of " + std::to_string(block.value_or(kMooncakeBlock)) +
                      " tokens and are shared by all sessions; times are in milliseconds");
}

void read_qwen(const std::string& path, TraceSet& set) {
  NameIndex tools(set.tools);
  RequestRows rows(set);
  RowReader reader(kQwenBlock, 1, tools);
  visit_documents(path, [&](const TraceDocument& document) {
    const JsonField line(document.json, "", document.place);
    Row row = reader.read(document);
    row.id = name_in(line, "chat_id", row.id);
    const std::string parent = name_in(line, "parent_chat_id", "-1");
    if (parent != "-1") row.waits = {parent};
    rows.add(std::move(row));
  });
  std::move(rows).finish();
  set.notes.push_back(
      "ids name blocks of 16 tokens and are shared by all sessions; a request "
      "waits for its parent_chat_id; times are in seconds");
}

}  // namespace workload
