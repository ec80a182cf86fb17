#include <algorithm>
#include <cmath>
#include <deque>
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
  std::vector<std::string> waits;
  std::vector<std::uint64_t> ids;
  TraceTurn turn;
  double arrival_s = kUnrecorded;
  int block = kMooncakeBlock;
};

int leading_equal(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  return static_cast<int>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// A session that grows row by row. A row without waits continues the root; one with waits
/// continues the agent of the turn among them which it shares most with and which nothing
/// continues yet, or it is a new agent's first.
class GrowingSession {
 public:
  GrowingSession(const Row& row, bool of_one_request)
      : made_(of_one_request ? row.id : row.session, kGlobalScope, row.block, row.place) {
    made_.session().arrival_s = row.arrival_s;
  }

  int add(Row row, const std::vector<int>& waits) {
    TraceSession& session = made_.session();
    if (!std::isnan(row.arrival_s)) row.turn.start_s = row.arrival_s - session.arrival_s;
    row.turn.waits_for = waits;
    const int before = before_of(row, waits);
    row.turn.agent = agent_of(row, before, waits);
    if (before >= 0 && row.turn.waits_for.empty()) row.turn.waits_for = {before};
    IdLists::Split split{0, std::move(row.ids)};
    if (before >= 0) {
      split.shared = leading_equal(split.fresh, ids_of(session, before));
      split.fresh.erase(split.fresh.begin(), split.fresh.begin() + split.shared);
    }
    continued_.push_back(false);
    if (before >= 0) continued_[static_cast<std::size_t>(before)] = true;
    return made_.add_turn(std::move(row.turn), before, split, row.place);
  }

  TraceSession take() && { return std::move(made_).take(); }

 private:
  bool made_empty() const { return continued_.empty(); }

  /// The turn that the row continues; -1: none.
  int before_of(const Row& row, const std::vector<int>& waits) const {
    if (made_empty()) return -1;
    if (waits.empty()) return made_.last_turn(0);
    int best = -1, most = -1;
    for (const int wait : waits) {
      if (continued_[static_cast<std::size_t>(wait)]) continue;
      const int same = leading_equal(row.ids, ids_of(session(), wait));
      if (same > most) best = wait, most = same;
    }
    return best;
  }

  int agent_of(const Row& row, int before, const std::vector<int>& waits) {
    if (made_empty()) return 0;
    if (before >= 0) return agent(before);
    return made_.add_agent(row.id, agent(waits.front()));
  }

  int agent(int turn) const { return session().turns[static_cast<std::size_t>(turn)].agent; }
  const TraceSession& session() const { return made_.session(); }

  SessionBuilder made_;
  std::vector<bool> continued_;  // by turn
};

/// Where a request that others may wait for has been put.
struct Placed {
  std::size_t session;
  int turn;
};

/// Collects rows into sessions: those of a session_id, and those which wait for each other.
class RequestRows {
 public:
  explicit RequestRows(TraceSet& set) : set_(set) {}

  void add(Row row) {
    if (row.waits.empty() && row.session.empty()) return open(std::move(row));
    std::vector<int> waits;
    std::optional<std::size_t> session;
    for (const std::string& wait : row.waits) {
      const Placed& placed = find(wait, row);
      if (session && *session != placed.session)
        refuse(row.place, "request " + row.id + " waits for requests of different sessions");
      session = placed.session;
      waits.push_back(placed.turn);
    }
    if (!session && !row.session.empty()) {
      const auto known = by_name_.find(row.session);
      if (known != by_name_.end()) session = known->second;
    }
    if (!session) return open(std::move(row));
    put(std::move(row), *session, waits);
  }

  void finish() && {
    for (GrowingSession& session : sessions_) set_.sessions.push_back(std::move(session).take());
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

  void open(Row row) {
    sessions_.emplace_back(row, row.session.empty());
    if (!row.session.empty()) by_name_.emplace(row.session, sessions_.size() - 1);
    put(std::move(row), sessions_.size() - 1, {});
  }

  void put(Row row, std::size_t session, const std::vector<int>& waits) {
    const InputPlace place = row.place;
    const std::string id = row.id;
    const Placed placed{session, sessions_[session].add(std::move(row), waits)};
    if (!placed_.emplace(id, placed).second)
      refuse(place, "request_id " + id + " stands on an earlier line already");
  }

  TraceSet& set_;
  std::deque<GrowingSession> sessions_;
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
    row.turn.prompt_tokens = token_count(line, {"input_length", "input_tokens", "in"}, 1);
    row.turn.output_tokens = token_count(line, {"output_length", "output_tokens", "out"}, 1);
    row.arrival_s = arrival(line);
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
