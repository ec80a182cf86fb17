#include "workers/workload/trace/write_trace.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <sstream>

#include "workers/engine/base/block_hash.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/json_lines.hpp"
#include "workers/workload/trace/builder.hpp"
#include "workers/workload/trace/documents.hpp"
#include "workers/workload/trace/formats.hpp"

namespace workload {
namespace {

constexpr int kIdlessBlock = 16;
constexpr int kWekaBlock = 64;

/// Ids of whole prompts. Those of a trace without ids are made up: its prompts share whole blocks.
class WrittenIds {
 public:
  explicit WrittenIds(const TraceSession& session) : session_(session) {
    if (session.block_tokens > 0) return;
    for (const TraceTurn& turn : session.turns) make(turn);
  }

  int block_tokens() const {
    return session_.block_tokens > 0 ? session_.block_tokens : kIdlessBlock;
  }
  std::vector<std::uint64_t> of(int turn) const {
    return session_.block_tokens > 0 ? ids_of(session_, turn)
                                     : made_[static_cast<std::size_t>(turn)];
  }

 private:
  void make(const TraceTurn& turn) {
    std::vector<std::uint64_t> ids;
    if (turn.base >= 0) {
      ids = made_[static_cast<std::size_t>(turn.base)];
      ids.resize(std::min(ids.size(), static_cast<std::size_t>(turn.shared_tokens / kIdlessBlock)));
    }
    while (ids.size() < static_cast<std::size_t>(turn.prompt_tokens / kIdlessBlock))
      ids.push_back(++next_);
    made_.push_back(std::move(ids));
  }

  const TraceSession& session_;
  std::vector<std::vector<std::uint64_t>> made_;
  std::uint64_t next_ = 0;
};

void set_time(Json& row, const char* key, double value_s, double unit) {
  if (!std::isnan(value_s)) row[key] = value_s * unit;
}

/// Ids that mean the same in every session, as Mooncake's do: numbered in order of first use.
class SharedIds {
 public:
  std::uint64_t of(std::uint64_t scope, std::uint64_t id) {
    return numbers_.try_emplace({scope, id}, numbers_.size()).first->second;
  }

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> numbers_;
};

void write_mooncake(const TraceSet& set, std::ostream& out) {
  SharedIds shared;
  for (const TraceSession& session : set.sessions) {
    const WrittenIds ids(session);
    const std::uint64_t scope = session.block_tokens > 0 ? session.scope : local_scope(session.id);
    const auto name = [&](std::size_t turn) { return session.id + "/" + std::to_string(turn); };
    for (std::size_t t = 0; t < session.turns.size(); ++t) {
      const TraceTurn& turn = session.turns[t];
      Json row{{"request_id", name(t)}, {"session_id", session.id}};
      set_time(row, "timestamp", session.arrival_s + turn.start_s, 1e3);
      set_time(row, "start_ms", turn.start_s, 1e3);
      row["input_length"] = turn.prompt_tokens;
      row["output_length"] = turn.output_tokens;
      row["wait_for"] = Json::array();
      for (const int wait : turn.waits_for)
        row["wait_for"].push_back(name(static_cast<std::size_t>(wait)));
      set_time(row, "tool_wait_ms", turn.think_s, 1e3);
      set_time(row, "api_ms", turn.api_s, 1e3);
      if (turn.agent > 0) row["agent"] = session.agents[static_cast<std::size_t>(turn.agent)].name;
      if (turn.tool >= 0) row["tool"] = set.tools[static_cast<std::size_t>(turn.tool)];
      row["block_size"] = ids.block_tokens();
      row["hash_ids"] = Json::array();
      for (const std::uint64_t id : ids.of(static_cast<int>(t)))
        row["hash_ids"].push_back(shared.of(scope, id));
      out << row.dump() << '\n';
    }
  }
}

/// Writes one program as nested lists of requests.
class WekaWriter {
 public:
  explicit WekaWriter(const TraceSession& session)
      : session_(session), ids_(session), end_(session.agents.size(), -1) {
    for (std::size_t t = 0; t < session.turns.size(); ++t)
      end_[static_cast<std::size_t>(session.turns[t].agent)] = static_cast<int>(t);
  }

  Json write() {
    const bool global = session_.block_tokens > 0 && session_.scope == kGlobalScope;
    return {{"id", session_.id},
            {"block_size", ids_.block_tokens()},
            {"hash_id_scope", global ? "global" : "local"},
            {"requests", requests(0, 0)}};
  }

 private:
  [[noreturn]] void refuse_graph() const {
    throw engine::InputError(session_.file + ": session \"" + session_.id +
                             "\" is no tree of subagents, which is all that format weka can say; "
                             "allowed: --to mooncake");
  }

  Json requests(int agent, double origin_s) {
    Json list = Json::array();
    int last = -1;
    for (std::size_t t = 0; t < session_.turns.size(); ++t) {
      const TraceTurn& turn = session_.turns[t];
      if (turn.agent != agent) continue;
      if (last >= 0) add_subagents(turn, last, list);
      list.push_back(request(turn, static_cast<int>(t), origin_s));
      last = static_cast<int>(t);
    }
    if (last >= 0) add_unjoined(last, list);
    return list;
  }

  Json request(const TraceTurn& turn, int number, double origin_s) const {
    Json row{{"type", "n"}, {"in", turn.prompt_tokens}, {"out", turn.output_tokens}};
    row["t"] = std::isnan(turn.start_s) ? 0 : turn.start_s - origin_s;
    set_time(row, "api_time", turn.api_s, 1);
    set_time(row, "think_time", turn.think_s, 1);
    row["hash_ids"] = ids_.of(number);
    return row;
  }

  /// The subagents between two turns of their parent: the later one waits for them.
  void add_subagents(const TraceTurn& turn, int before, Json& list) {
    for (const int wait : turn.waits_for) {
      if (wait == before) continue;
      const int agent = session_.turns[static_cast<std::size_t>(wait)].agent;
      if (agent == turn.agent || end_[static_cast<std::size_t>(agent)] != wait) refuse_graph();
      // Subagents that are joined together end together: think time counts from there.
      list.push_back(subagent(agent, before, turn.start_s - turn.think_s));
    }
  }

  /// The subagents that nothing waits for come last.
  void add_unjoined(int last, Json& list) {
    for (std::size_t agent = 1; agent < session_.agents.size(); ++agent)
      if (!written(agent) && spawner(static_cast<int>(agent)) == last)
        list.push_back(subagent(static_cast<int>(agent), last, kUnrecorded));
  }

  bool written(std::size_t agent) const {
    return std::ranges::find(done_, static_cast<int>(agent)) != done_.end();
  }

  int spawner(int agent) const {
    const auto first = std::ranges::find(session_.turns, agent, &TraceTurn::agent);
    return first->waits_for.size() == 1 ? first->waits_for.front() : -1;
  }

  Json subagent(int agent, int before, double end_s) {
    if (spawner(agent) != before) refuse_graph();
    done_.push_back(agent);
    const auto first = std::ranges::find(session_.turns, agent, &TraceTurn::agent);
    const double start_s = std::isnan(first->start_s) ? 0 : first->start_s;
    Json marker{{"type", "subagent"},
                {"agent_id", session_.agents[static_cast<std::size_t>(agent)].name},
                {"t", start_s}};
    if (end_s >= start_s) marker["duration_ms"] = (end_s - start_s) * 1e3;
    marker["requests"] = requests(agent, start_s);
    return marker;
  }

  const TraceSession& session_;
  WrittenIds ids_;
  std::vector<int> end_;   // by agent: its last turn
  std::vector<int> done_;  // agents written
};

void write_weka(const TraceSet& set, std::ostream& out) {
  for (const TraceSession& session : set.sessions)
    out << WekaWriter(session).write().dump() << '\n';
}

const char* name_of(Role role) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
    case Role::tool:
      break;
  }
  return "tool";
}

/// A message holds its calls as {"name", "arguments"}, one a line.
Json calls_of(const ChatMessage& message) {
  Json calls = Json::array();
  std::istringstream lines(message.tool_calls);
  for (std::string line; std::getline(lines, line);) {
    const Json call = Json::parse(line);
    calls.push_back(
        {{"type", "function"},
         {"function", {{"name", call.at("name")}, {"arguments", call.at("arguments").dump()}}}});
  }
  return calls;
}

Json row_of(const ChatMessage& message) {
  Json row{{"role", name_of(message.role)}, {"content", message.text}};
  if (!message.tool_calls.empty()) row["tool_calls"] = calls_of(message);
  if (message.is_demo) row["is_demo"] = true;
  return row;
}

Json row_of(const RecordedTurn& turn) {
  Json row = Json::object();
  if (!turn.tool.empty()) row["tool"] = turn.tool;
  if (turn.exec_s) row["exec_s"] = *turn.exec_s;
  return row;
}

void write(const RecordedJob& chat, std::ostream& out) {
  Json row{{"id", chat.id}, {"messages", Json::array()}, {"turns", Json::array()}};
  for (const ChatMessage& message : chat.messages) row["messages"].push_back(row_of(message));
  for (const RecordedTurn& turn : chat.turns) row["turns"].push_back(row_of(turn));
  out << row.dump() << '\n';
}

}  // namespace

TraceSet trace_of(const Workload& workload) {
  TraceSet set;
  set.source = workload.source;
  set.format = "tokens";
  set.tools = workload.tools;
  for (const Job& job : workload.jobs) {
    SessionBuilder made(job.id, kGlobalScope, kWekaBlock, {workload.source, 0});
    std::vector<std::uint64_t> all;
    for (const engine::BlockHash& hash : engine::hash_blocks(job.tokens, kWekaBlock))
      all.push_back(hash.low);
    int before = 0;
    for (std::size_t t = 0; t < job.turns.size(); ++t) {
      TraceTurn turn;
      turn.prompt_tokens = job.turns[t].prompt_tokens;
      turn.output_tokens = job.turns[t].output_tokens;
      turn.tool = static_cast<int>(job.turns[t].tool);
      turn.think_s = t == 0 ? 0 : engine::to_seconds(job.turns[t - 1].gap);
      if (t > 0) turn.waits_for = {static_cast<int>(t) - 1};
      const int blocks = turn.prompt_tokens / kWekaBlock;
      IdLists::Split ids{std::min(before, blocks), {}};
      ids.fresh.assign(all.begin() + ids.shared, all.begin() + blocks);
      made.add_turn(std::move(turn), static_cast<int>(t) - 1, ids, {workload.source, 0});
      before = blocks;
    }
    set.sessions.push_back(std::move(made).take());
  }
  return set;
}

void write_trace(const TraceSet& set, const std::string& format, std::ostream& out) {
  if (format == "mooncake") return write_mooncake(set, out);
  if (format == "weka") return write_weka(set, out);
  throw engine::InputError("--to must be weka, mooncake or messages, found \"" + format + '"');
}

void write_messages(const std::string& path, const std::string& format, std::ostream& out) {
  const auto write_chat = [&](const RecordedJob& chat, const InputPlace&) { write(chat, out); };
  for (const std::string& file : trace_files(path)) {
    const std::string found = format_of(file, format);
    if (found == "messages") {
      visit_messages(file, write_chat);
    } else if (found == "sharegpt") {
      visit_sharegpt(file, write_chat);
    } else {
      refuse({file, 0}, "is " + found +
                            ", which holds no text, and format messages is text; "
                            "allowed: --to mooncake or weka");
    }
  }
}

}  // namespace workload
