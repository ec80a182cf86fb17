#include "analysis/digest/gap.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/digest/digest.hpp"
#include "sweeps/tables/schema.hpp"

namespace analysis {
namespace {

using Values = std::vector<double>;
using sweep::KvEventKind;

/// Tokens of a job in one memory, as a step function of time.
class Level {
 public:
  Level(double most) : most_(most) {}
  void begin(double at_s, double tokens) { set(at_s, tokens); }
  void change(double by_tok) { now_ = std::clamp(now_ + by_tok, 0.0, most_); }
  void change(double at_s, double by_tok) { set(at_s, now_ + by_tok); }
  void set(double at_s, double tokens) {
    now_ = std::clamp(tokens, 0.0, most_);
    if (!line_.empty() && line_.back().second == now_) return;
    line_.emplace_back(at_s, now_);
  }
  double now() const { return now_; }
  std::vector<std::pair<double, double>> finish() { return std::move(line_); }

 private:
  double most_, now_ = 0;
  std::vector<std::pair<double, double>> line_;
};

/// The row of a turn; the number of rows if there is none.
std::size_t row_of(const sweep::Table& turns, int job, int turn) {
  const Values jobs = numbers_of(turns, "job"), indices = numbers_of(turns, "turn");
  std::size_t row = 0;
  while (row < jobs.size() && (jobs[row] != job || indices[row] != turn)) ++row;
  return row;
}

double at(const sweep::Table& table, const char* column, std::size_t row) {
  const Values values = numbers_of(table, column);
  return row < values.size() ? values[row] : sweep::kNotObserved;
}

void read_turns(const sweep::Table& turns, std::size_t left, std::size_t next, int block_tok,
                GapTimeline& timeline) {
  // The last generated token is never fed back, so it has no KV.
  const double context = at(turns, "prompt_tok", left) + at(turns, "output_tok", left) - 1;
  timeline.context_tok = std::floor(context / block_tok) * block_tok;
  timeline.finish_s = at(turns, "t_finish_s", left);
  timeline.return_s = at(turns, "t_arrive_s", next);
  timeline.admit_s = at(turns, "t_admit_s", next);
  timeline.first_s = at(turns, "t_first_token_s", next);
  timeline.end_s = at(turns, "t_finish_s", next);
  timeline.found_gpu_tok = at(turns, "cached_gpu_tok", next);
  timeline.found_host_tok = at(turns, "cached_host_tok", next);
  timeline.computed_tok = std::max(
      0.0, at(turns, "prompt_tok", next) - timeline.found_gpu_tok - timeline.found_host_tok);
}

/// Replays the events of one job between two instants.
class GapReplay {
 public:
  GapReplay(const ChosenGap& gap, int block_tok, GapTimeline& timeline)
      : gap_(gap),
        block_tok_(block_tok),
        timeline_(timeline),
        gpu_(timeline.context_tok),
        host_(timeline.context_tok) {}

  void follow(const sweep::Table& events) {
    const Values job = numbers_of(events, "job"), turn = numbers_of(events, "turn"),
                 time = numbers_of(events, "t_s"), kind = numbers_of(events, "kind"),
                 blocks = numbers_of(events, "blocks");
    for (std::size_t i = 0; i < job.size(); ++i) {
      if (job[i] != gap_.job || time[i] > until()) continue;
      begin_at(time[i]);
      take(static_cast<KvEventKind>(static_cast<int>(kind[i])), static_cast<int>(turn[i]), time[i],
           blocks[i] * block_tok_);
    }
    begin_at(until());
    if (pinned_from_ >= 0) timeline_.pinned.emplace_back(pinned_from_, until());
    meet_next_turn();
    timeline_.gpu = gpu_.finish();
    timeline_.host = host_.finish();
  }

 private:
  /// Before the end of the turn only the sums matter, not the times of events.
  double until() const {
    return std::isnan(timeline_.admit_s) ? timeline_.return_s : timeline_.admit_s;
  }
  void begin_at(double now_s) {
    if (begun_ || now_s < timeline_.finish_s) return;
    begun_ = true;
    gpu_.begin(timeline_.finish_s, timeline_.context_tok);
    host_.begin(timeline_.finish_s, host_.now());
  }

  void take(KvEventKind kind, int turn, double time_s, double tokens) {
    if (kind == KvEventKind::pin && turn == gap_.turn)
      pinned_from_ = std::max(time_s, timeline_.finish_s);
    if (kind == KvEventKind::unpin && turn == gap_.turn && pinned_from_ >= 0) {
      timeline_.pinned.emplace_back(pinned_from_, time_s);
      pinned_from_ = -1;
    }
    if (kind == KvEventKind::store || kind == KvEventKind::disk_load) change(host_, time_s, tokens);
    if (kind == KvEventKind::evict_host) change(host_, time_s, -tokens);
    if (!begun_) return;
    if (kind == KvEventKind::evict_gpu) change(gpu_, time_s, -tokens);
    if (kind == KvEventKind::prefetch) change(gpu_, time_s, tokens);
  }
  void change(Level& level, double time_s, double tokens) {
    if (begun_) {
      level.change(time_s, tokens);
    } else {
      level.change(tokens);
    }
  }

  /// The hits of the next turn are recorded; at its first token all its KV is on the GPU.
  void meet_next_turn() {
    if (std::isnan(timeline_.admit_s)) return;
    gpu_.set(timeline_.admit_s, timeline_.found_gpu_tok);
    if (std::isnan(timeline_.first_s)) return;
    gpu_.set(timeline_.first_s, timeline_.context_tok);
  }

  const ChosenGap& gap_;
  int block_tok_;
  GapTimeline& timeline_;
  Level gpu_, host_;
  bool begun_ = false;
  double pinned_from_ = -1;
};

}  // namespace

ChosenGap choose_gap(const sweep::Table& jobs, const sweep::Table& turns) {
  const Values number = numbers_of(jobs, "job"), job = numbers_of(turns, "job");
  std::vector<std::pair<int, std::size_t>> with_gap;  // job and its row
  for (std::size_t row = 0; row < number.size(); ++row) {
    if (std::ranges::count(job, number[row]) > 1)
      with_gap.emplace_back(static_cast<int>(number[row]), row);
  }
  if (with_gap.empty()) return {};
  std::ranges::sort(with_gap);
  const auto [chosen, row] = with_gap[with_gap.size() / 2];
  const auto n_turns = static_cast<int>(std::ranges::count(job, static_cast<double>(chosen)));
  return {chosen, (n_turns - 1) / 2, jobs.values<std::string>("id")[row]};
}

bool replay_gap(const ChosenGap& gap, const sweep::Table& turns, const sweep::Table& events,
                int block_tok, GapTimeline& timeline) {
  const std::size_t left = row_of(turns, gap.job, gap.turn),
                    next = row_of(turns, gap.job, gap.turn + 1);
  if (gap.turn < 0 || std::max(left, next) >= turns.rows()) return false;
  read_turns(turns, left, next, block_tok, timeline);
  if (std::isnan(timeline.finish_s) || std::isnan(timeline.return_s)) return false;
  GapReplay(gap, block_tok, timeline).follow(events);
  return true;
}

}  // namespace analysis
