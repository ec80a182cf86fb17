// Least remaining work first: of this turn and all later ones of the job, as recorded (oracle), as
// the client says, which may be wrong (hint), or as jobs that have ended had left at the same turn
// (history, and where the client says nothing). The work is what is left if no KV is
// lost, in seconds by the mean times of a token in the turns that have ended. It is ranked when the
// turn arrives. The victim is the running request of the most remaining work.
#include <functional>
#include <memory>
#include <optional>
#include <tuple>

#include "workers/policies/estimators/by_id.hpp"
#include "workers/policies/estimators/estimator_error.hpp"
#include "workers/policies/order/config.hpp"
#include "workers/policies/order/ranked_queue.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::Request;
using engine::to_seconds;

constexpr const char* kSources[] = {"history", "oracle", "hint"};
constexpr Parameter kRemainingWork = {
    .name = "remaining_work",
    .words = kSources,
    .says =
        "What a job has left: what jobs that have ended had left at the same turn, what "
        "is recorded of it, or what the client says (hint: the same, with the errors of "
        "policy.error_*)."};

/// Seconds a token; one second before the first turn has ended.
class MeanTime {
 public:
  void add(Nanos time, double tokens) {
    seconds_ += to_seconds(time);
    tokens_ += tokens;
  }
  double seconds_of(double tokens) const {
    return tokens_ > 0 ? tokens * seconds_ / tokens_ : tokens;
  }

 private:
  double seconds_ = 0, tokens_ = 0;
};

/// The work that is left, if it is known.
using ToldWork = std::function<std::optional<Work>(engine::JobId, int turn)>;

class Srpt final : public RankedOrder<Srpt> {
 public:
  explicit Srpt(ToldWork told) : told_(std::move(told)) {}

  void push(Request& request) override {
    const auto told = told_(request.spec.job, request.spec.turn);
    const Work left = told ? *told : history_.remaining(request.spec.turn);
    remaining_s_[request.spec.job] =
        prompts_.seconds_of(left.prompt) + outputs_.seconds_of(left.output);
    RankedOrder::push(request);
  }

  void on_turn_end(const Request& request, Nanos) override {
    if (request.status != engine::RequestStatus::finished) return;
    const Work done{
        static_cast<double>(request.num_prompt() - request.spec.computed_by_earlier_turns),
        static_cast<double>(request.num_outputs())};
    prompts_.add(request.time.prefill, done.prompt);
    outputs_.add(request.time.decode, done.output);
    history_.on_turn_end(request.spec.job, done);
    if (request.spec.last_turn) history_.on_job_end(request.spec.job);
  }

  std::tuple<double, Nanos, Nanos, engine::RequestId> rank(const Request& r) const {
    return {remaining_s_[r.spec.job], r.spec.job_arrival, r.spec.arrival, r.id};
  }

 private:
  ToldWork told_;  // empty: by history
  WorkHistory history_;
  MeanTime prompts_, outputs_;
  ByJob<double> remaining_s_;  // of a job's turn in the engine and later ones
};

std::unique_ptr<engine::QueueOrder> make_srpt(const OrderConfig& config) {
  const std::string source = word_of(kRemainingWork, config.parameters);
  if (source == "history")
    return std::make_unique<Srpt>([](engine::JobId, int) { return std::nullopt; });
  if (!config.true_work)
    throw engine::InputError("policy.remaining_work \"" + source +
                             "\" needs recorded jobs to look at");
  const bool exact = source == "oracle";
  return std::make_unique<Srpt>([truth = config.true_work, exact, error = config.error](
                                    engine::JobId job, int turn) -> std::optional<Work> {
    const auto factor = exact ? std::optional<double>(1) : error_factor(error, job, turn);
    if (!factor) return std::nullopt;
    const Work work = truth(job, turn);
    return Work{work.prompt * *factor, work.output * *factor};
  });
}

}  // namespace

OrderEntry srpt_order() { return {"srpt", make_srpt, {kRemainingWork}}; }

}  // namespace policies
