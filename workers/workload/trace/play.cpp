#include "workers/workload/trace/play.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "workers/engine/base/errors.hpp"
#include "workers/workload/random.hpp"
#include "workers/workload/trace/prompts.hpp"

namespace workload {
namespace {

using engine::Nanos;

/// Uniform in [0, bound), with the same result for every standard library, unlike
/// std::uniform_int_distribution.
std::uint64_t uniform_below(std::uint64_t bound, std::mt19937_64& generator) {
  const std::uint64_t rejected_from = std::numeric_limits<std::uint64_t>::max() / bound * bound;
  std::uint64_t drawn = generator();
  while (drawn >= rejected_from) drawn = generator();
  return drawn % bound;
}

void shuffle(std::vector<std::size_t>& positions, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  for (std::size_t left = positions.size(); left > 1; --left) {
    std::swap(positions[left - 1], positions[uniform_below(left, generator)]);
  }
}

/// The part of a session that the rules keep: which turns, and where they stand.
struct Excerpt {
  std::vector<bool> kept;   // by turn
  int prefix_turn = -1;     // replayed with an answer of one token, to compute the prefix
  std::vector<int> number;  // by turn: among the kept ones
  std::vector<int> job;     // by agent: which of the session's jobs; -1: none
  int jobs = 0;
  bool empty() const { return jobs == 0; }
};

bool fits(const TraceTurn& turn, const PlayRules& rules) {
  return std::int64_t{turn.prompt_tokens} + turn.output_tokens <= rules.max_context;
}

/// Chooses the turns of one session.
class Excerpting {
 public:
  Excerpting(const TraceSession& session, const PlayRules& rules, std::uint64_t replay)
      : session_(session), rules_(rules), replay_(replay) {}

  Excerpt make() {
    made_.kept.assign(session_.turns.size(), false);
    made_.job.assign(session_.agents.size(), -1);
    made_.number.assign(session_.turns.size(), -1);
    if (rules_.too_long == TooLong::drop &&
        !std::ranges::all_of(session_.turns, [&](const TraceTurn& t) { return fits(t, rules_); }))
      return made_;
    choose_root_turns();
    choose_turns_of_subagents();
    return made_;
  }

 private:
  void choose_root_turns() {
    std::vector<int> root;
    for (std::size_t t = 0; t < session_.turns.size(); ++t)
      if (session_.turns[t].agent == 0) root.push_back(static_cast<int>(t));
    const auto too_long = std::ranges::find_if(
        root, [&](int t) { return !fits(session_.turns[static_cast<std::size_t>(t)], rules_); });
    root.erase(too_long, root.end());
    if (root.empty()) return;
    std::size_t first = 0;
    if (rules_.random_start && root.size() > 1) {
      const auto seed =
          mixed(mixed(rules_.seed, key_of(session_.id)), mixed(session_.turns.size(), replay_));
      first = Random(static_cast<std::int64_t>(seed >> 1)).below(root.size());
    }
    const std::size_t most =
        static_cast<std::size_t>(rules_.turns.value_or(std::numeric_limits<int>::max()));
    for (std::size_t i = first; i < root.size() && i - first < most; ++i) keep(root[i]);
    if (first == 0) return;
    made_.prefix_turn = root[first - 1];
    keep(made_.prefix_turn);
  }

  /// Keeps the turns of a subagent up to the first that does not fit or waits for no kept turn.
  void choose_turns_of_subagents() {
    std::vector<bool> ended(session_.agents.size(), false);
    for (std::size_t t = 0; t < session_.turns.size(); ++t) {
      const TraceTurn& turn = session_.turns[t];
      const auto agent = static_cast<std::size_t>(turn.agent);
      if (turn.agent != 0 && !ended[agent]) {
        // Agents spawned by the computed prefix alone are over when the excerpt begins.
        const bool plays = std::ranges::any_of(turn.waits_for, [&](int wait) {
          return made_.kept[static_cast<std::size_t>(wait)] && wait != made_.prefix_turn;
        });
        ended[agent] = !plays || !fits(turn, rules_);
        if (!ended[agent]) keep(static_cast<int>(t));
      }
      if (made_.kept[t]) place(t);
    }
  }

  void keep(int turn) { made_.kept[static_cast<std::size_t>(turn)] = true; }

  void place(std::size_t t) {
    made_.number[t] = count_++;
    int& job = made_.job[static_cast<std::size_t>(session_.turns[t].agent)];
    if (job < 0) job = made_.jobs++;
  }

  const TraceSession& session_;
  const PlayRules& rules_;
  std::uint64_t replay_;
  Excerpt made_;
  int count_ = 0;
};

/// Times before turns.
class Pace {
 public:
  Pace(const TraceSession& session, const PlayRules& rules) : session_(session), rules_(rules) {}

  /// After what the turn waits for has ended.
  Nanos gap(int turn) const {
    return time(std::min(uncapped_s(turn) * rules_.time_scale, rules_.gap_cap_s));
  }

  /// The time from the start of `before` to that of `turn`, with idle time beyond the cap left out:
  /// of 100 s with 90 s idle and a cap of 60 s, 70 s remain. Unset if the turn starts after its
  /// gap.
  std::optional<Nanos> since(int before, int turn) const {
    const bool has_gap = !std::isnan(at(turn).think_s) || !std::isnan(idle_s(turn));
    const bool goes_on = at(turn).agent == at(before).agent;
    const bool starts_after_gap = has_gap && !(goes_on && rules_.pacing == Pacing::recorded);
    const double between = at(turn).start_s - at(before).start_s;
    if (std::isnan(between) || starts_after_gap) return {};
    const double idle = uncapped_s(turn) * rules_.time_scale;
    return time(std::max(0.0, between * rules_.time_scale - idle) +
                std::min(idle, rules_.gap_cap_s));
  }

 private:
  const TraceTurn& at(int t) const { return session_.turns[static_cast<std::size_t>(t)]; }
  static Nanos time(double s) { return engine::from_seconds(std::min(s, 1e9)); }

  double uncapped_s(int turn) const {
    const double think = at(turn).think_s, idle = idle_s(turn);
    const bool by_think = rules_.pacing == Pacing::think;
    const double first = by_think ? think : idle, second = by_think ? idle : think;
    return !std::isnan(first) ? first : !std::isnan(second) ? second : rules_.unrecorded_gap_s;
  }

  /// From the last end of what the turn waits for to its start; unknown without their durations.
  double idle_s(int turn) const {
    double idle = at(turn).waits_for.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (const int wait : at(turn).waits_for) {
      const double after = at(turn).start_s - (at(wait).start_s + at(wait).api_s);
      if (std::isnan(after)) return kUnrecorded;
      idle = std::min(idle, std::max(0.0, after));
    }
    return idle;
  }

  const TraceSession& session_;
  const PlayRules& rules_;
};

/// Adds the programs of sessions, one after the other.
class Player {
 public:
  Player(std::shared_ptr<const TraceSet> set, const PlayRules& rules)
      : set_(std::move(set)), rules_(rules) {
    Workload& workload = played_.workload;
    workload.source = set_->source;
    workload.tokenizer = set_->tokenizer;
    workload.assumed = set_->assumed;
    workload.tools = set_->tools;
  }

  /// False when nothing of the session is left.
  bool add(std::size_t session, std::uint64_t replay) {
    const TraceSession& from = set_->sessions[session];
    const Excerpt excerpt = Excerpting(from, rules_, replay).make();
    if (excerpt.empty()) return false;
    add_jobs(from, excerpt, session, replay);
    const Pace pace(from, rules_);
    for (std::size_t t = 0; t < from.turns.size(); ++t)
      if (excerpt.kept[t]) add_turn(from, excerpt, static_cast<int>(t), pace);
    played_.arrivals_s.push_back(from.arrival_s * rules_.time_scale);
    ++played_.workload.num_programs;
    return true;
  }

  PlayedTrace take(std::uint32_t vocabulary, std::string left_out) && {
    played_.workload.prompts =
        std::make_shared<TracePrompts>(set_, std::move(replayed_), vocabulary);
    played_.left_out = std::move(left_out);
    return std::move(played_);
  }

 private:
  void add_jobs(const TraceSession& from, const Excerpt& excerpt, std::size_t session,
                std::uint64_t replay) {
    Workload& workload = played_.workload;
    first_job_ = static_cast<std::uint32_t>(workload.jobs.size());
    const auto count = static_cast<std::size_t>(excerpt.jobs);
    workload.jobs.resize(first_job_ + count);
    workload.agents.resize(first_job_ + count);
    replayed_.resize(first_job_ + count);
    last_turn_.assign(count, -1);
    for (std::size_t agent = 0; agent < excerpt.job.size(); ++agent) {
      if (excerpt.job[agent] < 0) continue;
      const std::size_t job = first_job_ + static_cast<std::size_t>(excerpt.job[agent]);
      const std::string again = replay > 0 ? "#" + std::to_string(replay + 1) : "";
      const std::string& name = from.agents[agent].name;
      workload.jobs[job].id = from.id + again + (agent > 0 ? "/" + name : "");
      AgentPlace& place = workload.agents[job];
      place.program = static_cast<std::uint32_t>(workload.num_programs);
      place.root = first_job_;
      place.agent = static_cast<int>(agent);
      place.parent = from.agents[agent].parent;
      replayed_[job] = {session, replay, {}, {}};
    }
  }

  std::uint32_t job_of(const Excerpt& excerpt, int agent) const {
    return first_job_ + static_cast<std::uint32_t>(excerpt.job[static_cast<std::size_t>(agent)]);
  }

  void add_turn(const TraceSession& from, const Excerpt& excerpt, int turn_index,
                const Pace& pace) {
    const TraceTurn& recorded = from.turns[static_cast<std::size_t>(turn_index)];
    const std::uint32_t index = job_of(excerpt, recorded.agent);
    Job& job = played_.workload.jobs[index];
    AgentPlace& place = played_.workload.agents[index];
    int& last = last_turn_[index - first_job_];
    Turn turn{recorded.prompt_tokens, recorded.output_tokens, engine::ToolId::none, Nanos{0}};
    if (recorded.tool >= 0) turn.tool = engine::ToolId{recorded.tool};
    if (turn_index == excerpt.prefix_turn) turn.output_tokens = 1;
    turn.reused_tokens = last >= 0 ? recorded.same_as_before : 0;
    const auto position = static_cast<int>(job.turns.size());
    if (last >= 0) {
      job.turns.back().gap = pace.gap(turn_index);
    } else if (index != place.root) {
      place.lead = pace.gap(turn_index);
    }
    const int spawner = add_waits(from, excerpt, recorded, last, position, place);
    const int before = last >= 0 ? last : spawner;
    place.since_start.push_back(before >= 0 ? pace.since(before, turn_index) : std::nullopt);
    job.turns.push_back(turn);
    place.numbers.push_back(excerpt.number[static_cast<std::size_t>(turn_index)]);
    replayed_[index].turns.push_back(turn_index);
    replayed_[index].outputs.push_back(turn.output_tokens);
    last = turn_index;
  }

  /// Waits for kept turns of other agents. Returns the first of them, or -1.
  int add_waits(const TraceSession& from, const Excerpt& excerpt, const TraceTurn& turn, int last,
                int position, AgentPlace& place) const {
    int first = -1;
    for (const int wait : turn.waits_for) {
      if (wait == last || !excerpt.kept[static_cast<std::size_t>(wait)]) continue;
      const int agent = from.turns[static_cast<std::size_t>(wait)].agent;
      if (agent == turn.agent) continue;  // an earlier turn of its own chain
      const std::uint32_t job = job_of(excerpt, agent);
      const auto& turns = replayed_[job].turns;
      const auto on = std::ranges::lower_bound(turns, wait) - turns.begin();
      place.waits.push_back({position, job, static_cast<int>(on)});
      if (first < 0) first = wait;
    }
    return first;
  }

  std::shared_ptr<const TraceSet> set_;
  const PlayRules& rules_;
  PlayedTrace played_;
  std::vector<ReplayedAgent> replayed_;
  std::uint32_t first_job_ = 0;
  std::vector<int> last_turn_;  // of the session, by its jobs; -1: none yet
};

std::string left_out(std::size_t too_long, std::size_t by_turns) {
  std::string text = too_long > 0 ? std::to_string(too_long) + " too long" : "";
  if (by_turns > 0)
    text += (text.empty() ? "" : ", ") + std::to_string(by_turns) +
            " by workload.min_turns and max_turns";
  return text.empty() ? "none left out" : text;
}

}  // namespace

PlayedTrace play(std::shared_ptr<const TraceSet> set, const PlayRules& rules,
                 std::uint32_t vocabulary) {
  std::vector<std::string> ids;
  for (const TraceSession& session : set->sessions) ids.push_back(session.id);
  std::vector<std::size_t> order = order_of_choice(rules.order, rules.seed, ids);
  const std::size_t by_turns = std::erase_if(order, [&](std::size_t session) {
    const auto turns = static_cast<int>(set->sessions[session].turns.size());
    return turns < rules.min_turns || turns > rules.max_turns.value_or(turns);
  });
  const std::size_t wanted =
      static_cast<std::size_t>(rules.sessions.value_or(static_cast<int>(order.size())));
  Player player(set, rules);
  std::size_t added = 0, too_long = 0;
  for (std::uint64_t replay = 0; replay == 0 || added < wanted; ++replay) {
    std::vector<std::size_t> playable;
    for (const std::size_t session : order) {
      if (added == wanted) break;
      if (!player.add(session, replay)) {
        ++too_long;
        continue;
      }
      playable.push_back(session);
      ++added;
    }
    order = std::move(playable);
    if (order.empty())
      throw engine::InputError(set->source + ": no session fits into " +
                               std::to_string(rules.max_context) +
                               " tokens; allow more, or set workload.too_long = \"cut\"" +
                               (by_turns > 0 ? "; " + left_out(too_long, by_turns) : ""));
    if (!rules.sessions) break;
  }
  return std::move(player).take(vocabulary, left_out(too_long, by_turns));
}

std::vector<std::size_t> order_of_choice(JobOrder order, std::uint64_t seed,
                                         const std::vector<std::string>& ids) {
  std::vector<std::size_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  if (order == JobOrder::file) return positions;
  std::sort(positions.begin(), positions.end(),
            [&](std::size_t a, std::size_t b) { return ids[a] < ids[b]; });
  if (order == JobOrder::shuffled) shuffle(positions, seed);
  return positions;
}

}  // namespace workload
