#include "analysis/trace/spans.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/trace/names.hpp"
#include "analysis/trace/replay.hpp"

namespace analysis {
namespace {

/// A turn has no range before its first one.
constexpr std::int32_t kNone = -1;

class SpanBuilder {
 public:
  explicit SpanBuilder(const sweep::CellResult& result)
      : result_(result),
        names_(result),
        queues_(result, names_),
        kind_(result.sched.values<std::int8_t>("kind")),
        tokens_(result.sched.values<std::int32_t>("tokens")),
        before_(result.sched.values<std::int32_t>("computed_before")),
        share_(names_.size(), kNone),
        stay_(names_.size(), kNone) {}

  TurnSpans build() {
    while (queues_.next()) {
      step_ = static_cast<std::int32_t>(queues_.step_row());
      add_arrivals();
      for (std::size_t row = queues_.first_sched(); row < queues_.last_sched(); ++row) add(row);
    }
    end_running();
    std::erase_if(spans_.stays, [](const TurnStay& stay) { return stay.last < stay.first; });
    return std::move(spans_);
  }

 private:
  /// Arrivals are at the end of the queue; preempted requests return to its front.
  void add_arrivals() {
    const QueueReplay::Requests& waiting = queues_.waiting();
    const auto is_known = [&](std::size_t turn) { return stay_[turn] != kNone; };
    auto arrival = std::find_if(waiting.rbegin(), waiting.rend(), is_known).base();
    for (; arrival != waiting.end(); ++arrival) begin_stay(*arrival, false);
  }

  void add(std::size_t row) {
    const std::size_t turn = queues_.turn_of_sched(row);
    const auto kind = static_cast<sweep::SchedKind>(kind_[row]);
    if (kind == sweep::SchedKind::preempted) {
      begin_stay(turn, false);
    } else if (kind != sweep::SchedKind::running) {
      begin_stay(turn, true);
    }
    if (kind != sweep::SchedKind::running || !lengthen(turn, row)) begin_share(turn, kind, row);
  }

  bool lengthen(std::size_t turn, std::size_t row) {
    if (share_[turn] == kNone) return false;
    TurnShare& share = spans_.shares[static_cast<std::size_t>(share_[turn])];
    const bool should_retry = share.kind == sweep::SchedKind::running &&
                              share.tokens == tokens_[row] && share.first + share.count == step_ &&
                              share.before + share.count * share.tokens == before_[row];
    if (should_retry) ++share.count;
    return should_retry;
  }

  void begin_share(std::size_t turn, sweep::SchedKind kind, std::size_t row) {
    share_[turn] = static_cast<std::int32_t>(spans_.shares.size());
    spans_.shares.push_back(
        {static_cast<std::int32_t>(turn), kind, step_, 1, tokens_[row], before_[row]});
  }

  void begin_stay(std::size_t turn, bool running) {
    if (stay_[turn] != kNone) spans_.stays[static_cast<std::size_t>(stay_[turn])].last = step_ - 1;
    stay_[turn] = static_cast<std::int32_t>(spans_.stays.size());
    const auto steps = static_cast<std::int32_t>(result_.steps.rows());
    spans_.stays.push_back({static_cast<std::int32_t>(turn), running, step_, steps - 1});
  }

  /// A turn that finished left after its last share.
  void end_running() {
    const auto& finish_s = result_.turns.values<double>("t_finish_s");
    for (std::size_t turn = 0; turn < stay_.size(); ++turn) {
      if (std::isnan(finish_s[turn]) || share_[turn] == kNone) continue;
      const TurnShare& share = spans_.shares[static_cast<std::size_t>(share_[turn])];
      spans_.stays[static_cast<std::size_t>(stay_[turn])].last = share.first + share.count - 1;
    }
  }

  const sweep::CellResult& result_;
  TurnNames names_;
  QueueReplay queues_;
  const std::vector<std::int8_t>& kind_;
  const std::vector<std::int32_t>&tokens_, &before_;
  TurnSpans spans_;
  std::vector<std::int32_t> share_, stay_;  // by turn: the latest
  std::int32_t step_ = 0;
};

}  // namespace

TurnSpans turn_spans(const sweep::CellResult& result) { return SpanBuilder(result).build(); }

}  // namespace analysis
