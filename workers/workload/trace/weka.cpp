#include <algorithm>
#include <cmath>
#include <optional>

#include "workers/workload/trace/builder.hpp"
#include "workers/workload/trace/formats.hpp"

namespace workload {
namespace {

bool is_subagent(const JsonField& request) {
  const auto type = request.find("type");
  return type && type->text() == "subagent";
}

/// What the time of a subagent's marker is, and what its requests' times count from. Releases of
/// the corpus differ.
struct MarkerTimes {
  std::optional<bool> absolute;  // requests count from the session's start, not the subagent's
  bool marks_end = false;        // the marker has the time of the subagent's end

  double start(double marker, double duration, double first) const {
    if (absolute.value_or(false)) return first;
    return marks_end ? std::max(0.0, marker - duration) : marker;
  }
};

/// Reads the marker times of a session off its markers: a subagent ends before its parent goes on.
class MarkerSurvey {
 public:
  void add(const JsonField& requests) {
    const std::size_t count = requests.array_size("a list of requests");
    for (std::size_t i = 0; i < count; ++i)
      if (is_subagent(requests.at(i))) add_marker(requests, i);
  }

  MarkerTimes times(const InputPlace& place) const {
    if (absolute_ && relative_)
      refuse(place,
             "mixes subagents whose requests count from the session's start with others whose "
             "requests count from the subagent's start; allowed: one of them in a file");
    if (absolute_) return {true, false};
    return {relative_ ? std::optional(false) : std::nullopt, marks_end_};
  }

 private:
  void add_marker(const JsonField& requests, std::size_t i) {
    const JsonField marker = requests.at(i);
    const auto inner = marker.find("requests");
    if (!inner || inner->array_size("a list of requests") == 0) return;
    const double t = seconds(marker, "t"), first = seconds(inner->at(0), "t");
    if (t > 0 && first >= t) absolute_ = true;
    if (first < t) relative_ = true;
    const std::size_t count = requests.array_size();
    while (i < count && is_subagent(requests.at(i))) ++i;
    if (i == count) return;
    const double next = seconds(requests.at(i), "t");
    if (t + seconds(marker, "duration_ms", 1e-3) > next + 1) marks_end_ = true;
  }

  bool absolute_ = false, relative_ = false, marks_end_ = false;
};

class WekaSession {
 public:
  WekaSession(const TraceDocument& document, const JsonField& session, MarkerTimes times,
              SessionBuilder& made)
      : document_(document), times_(times), made_(made) {
    read_requests(*session.find("requests"), 0, {}, 0);
  }

  int subagents() const { return subagents_; }

 private:
  /// A subagent that its parent's next request waits for.
  struct Pending {
    int last_turn;
    double end_s;
  };

  /// `spawner`: the turn that the first request waits for. Times of the requests count from
  /// `origin_s`.
  void read_requests(const JsonField& requests, int agent, std::optional<int> spawner,
                     double origin_s) {
    const std::size_t count = requests.array_size("a list of requests");
    IdLists lists;
    std::vector<Pending> pending;
    double before_s = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const JsonField request = requests.at(i);
      if (is_subagent(request)) {
        pending.push_back(read_subagent(request, agent, origin_s));
        continue;
      }
      TraceTurn turn = turn_of(request, agent, origin_s);
      if (turn.start_s < before_s)
        request.refuse_value(
            "starts before the request in front of it; allowed: times that never "
            "decrease within an agent");
      before_s = turn.start_s;
      const int last = made_.last_turn(agent);
      if (last >= 0) turn.waits_for = {last};
      if (last < 0 && spawner) turn.waits_for = {*spawner};
      join(pending, turn);
      if (last < 0 && spawner) turn.think_s = lead_s(*spawner, turn.start_s);
      const auto list = id_list(document_, request);
      made_.add_turn(std::move(turn), last,
                     lists.read(list, request.path() + ".hash_ids", document_.place),
                     document_.place);
    }
  }

  TraceTurn turn_of(const JsonField& request, int agent, double origin_s) const {
    TraceTurn turn;
    turn.agent = agent;
    turn.prompt_tokens = token_count(request, {"in", "input_length"}, 1);
    turn.output_tokens = token_count(request, {"out", "output_length"}, 1);
    turn.start_s = origin_s + seconds(request, "t");
    if (std::isnan(turn.start_s)) request.refuse_value("has no time t");
    turn.api_s = seconds(request, "api_time");
    turn.think_s = seconds(request, "think_time");
    return turn;
  }

  /// The turn waits for subagents. Its think time counts from the end of the last one.
  static void join(std::vector<Pending>& pending, TraceTurn& turn) {
    if (pending.empty()) return;
    double end_s = 0;
    for (const Pending& child : pending) {
      turn.waits_for.push_back(child.last_turn);
      end_s = std::max(end_s, child.end_s);
    }
    turn.think_s = std::max(0.0, turn.start_s - end_s);
    pending.clear();
  }

  double lead_s(int spawner, double start_s) const {
    const TraceTurn& by = made_.session().turns[static_cast<std::size_t>(spawner)];
    return std::max(0.0, start_s - by.start_s - (std::isnan(by.api_s) ? 0 : by.api_s));
  }

  Pending read_subagent(const JsonField& marker, int parent, double origin_s) {
    const int spawner = made_.last_turn(parent);
    if (spawner < 0)
      marker.refuse_value("is a subagent without a request of its parent in front of it");
    const auto requests = marker.find("requests");
    if (!requests || requests->array_size("a list of requests") == 0)
      marker.refuse_value("is a subagent without requests");
    const double t = seconds(marker, "t"), duration = seconds(marker, "duration_ms", 1e-3);
    const double first = seconds(requests->at(0), "t");
    const bool absolute = times_.absolute.value_or(false);
    const double start = times_.start(t, std::isnan(duration) ? 0 : duration, first);
    const double own = absolute ? 0 : origin_s + (std::isnan(start) ? 0 : start);
    const int number = ++subagents_;
    const int agent =
        made_.add_agent(name_in(marker, "agent_id", "subagent " + std::to_string(number)), parent);
    read_requests(*requests, agent, spawner, own);
    const int last = made_.last_turn(agent);
    if (last < 0) marker.refuse_value("is a subagent without requests");
    const TraceTurn& end = made_.session().turns[static_cast<std::size_t>(last)];
    const double answered = end.start_s + (std::isnan(end.api_s) ? 0 : end.api_s);
    const double begun = absolute ? start : own;
    return {last, std::isnan(duration) ? answered : std::max(answered, begun + duration)};
  }

  const TraceDocument& document_;
  const MarkerTimes times_;
  SessionBuilder& made_;
  int subagents_ = 0;
};

/// Reads the sessions of a file.
class WekaFile {
 public:
  explicit WekaFile(TraceSet& set) : set_(set) {}

  void read(const TraceDocument& document) {
    const JsonField session(document.json, "", document.place);
    if (!session.find("requests")) session.refuse_value("has no requests");
    MarkerSurvey survey;
    survey.add(*session.find("requests"));
    const MarkerTimes times = survey.times(document.place);
    check(times, document.place);
    const std::string id =
        name_in(session, "id", "session " + std::to_string(set_.sessions.size() + 1));
    const bool global = scope_is_global(session);
    const auto size = session.find("block_size");
    const double block = size ? size->number(1, 1 << 20) : 64;
    SessionBuilder made(id, global ? kGlobalScope : local_scope(id), static_cast<int>(block),
                        document.place);
    subagents_ += WekaSession(document, session, times, made).subagents();
    marks_end_ |= times.marks_end;
    set_.sessions.push_back(std::move(made).take());
  }

  void note() const {
    if (subagents_ == 0) return;
    const std::string count = std::to_string(subagents_) + " subagents: ";
    set_.notes.push_back(
        absolute_.value_or(false)
            ? count + "times of their requests count from the session's start"
            : count + "times of their requests count from their own start, which is " +
                  (marks_end_ ? "their marker's time less their duration" : "their marker's time"));
  }

 private:
  static bool scope_is_global(const JsonField& session) {
    const auto scope = session.find("hash_id_scope");
    if (!scope || scope->text() == "local") return false;
    if (scope->text() != "global") scope->refuse_type("\"local\" or \"global\"");
    return true;
  }

  void check(const MarkerTimes& times, const InputPlace& place) {
    if (!times.absolute) return;
    if (absolute_ && *absolute_ != *times.absolute)
      refuse(place,
             "subagents count time from another start than those of earlier sessions; allowed: "
             "one convention in a file");
    absolute_ = times.absolute;
  }

  TraceSet& set_;
  std::optional<bool> absolute_;
  bool marks_end_ = false;
  int subagents_ = 0;
};

}  // namespace

void read_weka(const std::string& path, TraceSet& set) {
  WekaFile file(set);
  visit_documents(path, [&](const TraceDocument& document) { file.read(document); });
  file.note();
}

}  // namespace workload
