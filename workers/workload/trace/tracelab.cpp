#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "workers/workload/input/csv.hpp"
#include "workers/workload/trace/builder.hpp"
#include "workers/workload/trace/formats.hpp"

namespace workload {
namespace {

double instant_s(const JsonField& field) {
  const auto t = date_time(field.text("a date and time"));
  if (!t) field.refuse_type("a date and time such as 2026-06-01T05:40:20.151Z");
  return engine::to_seconds(*t);
}

/// When a round's request was sent, and when its answer was complete.
struct RoundTimes {
  double sent_s = kUnrecorded, answered_s = kUnrecorded;
};

/// What the client had to know before it could ask: the last message or tool result in front of
/// the answer's first event.
RoundTimes times_of(const JsonField& round) {
  RoundTimes times;
  const auto events = round.find("timing_events");
  if (!events) return times;
  const std::size_t count = events->array_size();
  for (std::size_t i = 0; i < count; ++i) {
    const JsonField event = events->at(i);
    const auto type = event.find("event_type"), at = event.find("timestamp");
    if (!type || !at) event.refuse_value("needs event_type and timestamp");
    const double t_s = instant_s(*at);
    const std::string& name = type->text();
    if (name == "user_message" || name == "tool_result") {
      times.sent_s = std::isnan(times.sent_s) ? t_s : std::max(times.sent_s, t_s);
    } else if (name != "usage_report") {
      times.answered_s = std::isnan(times.answered_s) ? t_s : std::max(times.answered_s, t_s);
    }
  }
  if (std::isnan(times.sent_s)) times.sent_s = times.answered_s;
  return times;
}

/// The tool that the round waits for longest.
std::string tool_of(const JsonField& round) {
  const auto tools = round.find("tools");
  if (!tools) return {};
  std::string slowest;
  double longest_ms = -1;
  for (std::size_t i = 0, count = tools->array_size(); i < count; ++i) {
    const auto latency = tools->at(i).find("tool_wall_latency_ms");
    const double ms = latency ? latency->number(0, 1e12) : 0;
    if (ms <= longest_ms) continue;
    longest_ms = ms;
    slowest = name_in(tools->at(i), "tool_name", "");
  }
  return slowest;
}

class Rounds {
 public:
  explicit Rounds(TraceSet& set) : set_(set), tools_(set.tools) {}

  void add(const TraceDocument& document) {
    const JsonField round(document.json, "", document.place);
    const std::string id = name_in(round, "session_id", "");
    if (id.empty()) round.refuse_value("has no session_id");
    Open& session = open(id, document.place);
    const RoundTimes times = times_of(round);
    if (times.sent_s < session.sent_s)
      refuse(document.place, "the round begins before the one in front of it in session \"" + id +
                                 "\"; allowed: times that never decrease");
    TraceTurn turn;
    turn.prompt_tokens = token_count(round, {"input_tokens_total"}, 1);
    turn.output_tokens = token_count(round, {"output_tokens"}, 1);
    turn.tool = tools_.of(tool_of(round));
    turn.api_s = std::max(0.0, times.answered_s - times.sent_s);
    const int last = session.made.last_turn(0);
    if (last < 0) {
      session.made.session().arrival_s = times.sent_s;
      turn.think_s = 0;
    } else {
      turn.waits_for = {last};
      turn.think_s = std::max(0.0, times.sent_s - session.answered_s);
    }
    turn.start_s = times.sent_s - session.made.session().arrival_s;
    session.made.add_turn(std::move(turn), last, shared_tokens(round, session, last));
    session.sent_s = times.sent_s;
    session.answered_s = times.answered_s;
  }

  void finish() && {
    double first_s = std::numeric_limits<double>::infinity();
    for (Open& open : sessions_)
      if (const double t_s = open.made.session().arrival_s; t_s < first_s) first_s = t_s;
    for (Open& open : sessions_) {
      open.made.session().arrival_s -= first_s;
      set_.sessions.push_back(std::move(open.made).take());
    }
    std::ranges::stable_sort(set_.sessions, {}, &TraceSession::arrival_s);
  }

 private:
  struct Open {
    SessionBuilder made;
    double sent_s = -std::numeric_limits<double>::infinity(), answered_s = kUnrecorded;
  };

  Open& open(const std::string& id, const InputPlace& place) {
    const auto [entry, fresh] = by_id_.try_emplace(id, sessions_.size());
    if (fresh) sessions_.push_back({SessionBuilder(id, local_scope(id), 0, place)});
    return sessions_[entry->second];
  }

  /// The provider's cache had this much of the round's prompt; no more of it than the previous
  /// prompt can be of this session.
  int shared_tokens(const JsonField& round, Open& session, int last) const {
    const int cached = token_count(round, {"prefix_tokens"}, 0);
    const int prompt = token_count(round, {"input_tokens_total"}, 1);
    if (cached > prompt) round.refuse_value("has more prefix_tokens than input_tokens_total");
    if (last < 0) return 0;
    const TraceTurn& before = session.made.session().turns[static_cast<std::size_t>(last)];
    return std::min(cached, before.prompt_tokens);
  }

  TraceSet& set_;
  NameIndex tools_;
  std::vector<Open> sessions_;
  std::map<std::string, std::size_t> by_id_;
};

}  // namespace

void read_tracelab(const std::string& path, TraceSet& set) {
  Rounds rounds(set);
  visit_documents(path, [&](const TraceDocument& document) { rounds.add(document); });
  std::move(rounds).finish();
  set.notes.push_back(
      "no block ids: a round shares its prefix_tokens with the prompt in front of "
      "it, a session's first round shares nothing");
}

}  // namespace workload
