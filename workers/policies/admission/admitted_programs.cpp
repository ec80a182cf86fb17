#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <ranges>
#include <utility>
#include <vector>

#include "workers/policies/admission/config.hpp"
#include "workers/policies/estimators/by_id.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::Request;
using Phase = Program::Phase;

class AdmittedPrograms final : public engine::QueueOrder {
 public:
  AdmittedPrograms(std::unique_ptr<AdmissionRule> rule, std::unique_ptr<engine::QueueOrder> served,
                   std::unique_ptr<engine::QueueOrder> held, int block_size)
      : rule_(std::move(rule)),
        served_(std::move(served)),
        held_(std::move(held)),
        block_size_(block_size) {}

  void push(Request& request) override {
    now_ = std::max(now_, request.spec.arrival);
    Job& job = job_of(request);
    job.root = request.spec.subagent_of.value_or(request.spec.job);
    job.turn = &request;
    bool admitted = true;
    if (!request.spec.subagent_of) {
      Program& program = members_[job.root].program;
      program.root = job.root;
      ++program.turns;
      admitted = program.admitted;
    }
    set_tokens(job, request.num_tokens());
    note_context(request);
    move(request, admitted ? Place::queued : Place::held);
    (admitted ? served_ : held_)->push(request);
    decide(false);
  }
  void push_preempted(Request& request) override {
    move(request, Place::queued);
    served_->push_preempted(request);
  }
  void put_back(Request& request) override {
    move(request, Place::queued);
    served_->put_back(request);
  }
  bool overtakes(const engine::Request& a, const engine::Request& b) const override {
    return served_->overtakes(a, b);
  }
  void begin_step(Nanos now, const engine::PrefixCache& cache) override {
    now_ = now;
    served_->begin_step(now, cache);
    held_->begin_step(now, cache);
    if (rule_->period() == Nanos{0} || now < next_timer_) return;
    next_timer_ = now + rule_->period();
    decide(true);
  }
  void on_turn_end(const Request& request, Nanos now) override {
    now_ = now;
    served_->on_turn_end(request, now);
    held_->on_turn_end(request, now);
    move(request, Place::none);
    Job& job = job_of(request);
    set_tokens(job, request.num_tokens());
    note_context(request);
    const bool aborted = request.status == engine::RequestStatus::aborted;
    if (aborted || request.spec.last_turn) {
      const auto member = members_.find(request.spec.job);
      if (member == members_.end()) {
        set_tokens(job, 0);  // a subagent
        if (const auto root = members_.find(job.root); root != members_.end())
          root->second.contexts.erase(request.spec.job);
      } else {
        if (block_size_ > 0) count_common_once(programs());  // on_end() is told its tokens
        if (!aborted) rule_->on_end(member->second.program);
        members_.erase(member);
      }
    }
    turn_ended_ = true;
  }
  engine::Request* front() const override {
    decide_if_due();
    return served_->front();
  }
  void remove(Request& request) override {
    (job_of(request).place == Place::held ? held_ : served_)->remove(request);
    move(request, Place::running);
  }
  int size() const override {
    decide_if_due();
    return served_->size();
  }
  int held_back() const override {
    decide_if_due();
    return held_->size();
  }
  engine::Request& choose_victim(const engine::RunningList& running) const override {
    return served_->choose_victim(running);
  }
  void on_pin_changed(engine::JobId job, bool pinned) override {
    served_->on_pin_changed(job, pinned);
    held_->on_pin_changed(job, pinned);
  }
  std::vector<const engine::Request*> in_service_order() const override {
    decide_if_due();
    return served_->in_service_order();
  }

 private:
  enum class Place : std::uint8_t { none, held, queued, running };
  struct Job {
    engine::JobId root{};
    Place place = Place::none;  // of its turn
    engine::Request* turn = nullptr;
    int tokens = 0;  // of its context
  };
  struct Member {
    Program program;
    std::array<int, 4> turns{};  // by place, subagents' included
    std::map<engine::JobId, std::vector<engine::BlockHash>> contexts{};  // where block_size_ > 0
  };

  Job& job_of(const engine::Request& request) const { return jobs_[request.spec.job]; }
  void set_tokens(Job& job, int tokens) {
    if (const auto member = members_.find(job.root); member != members_.end())
      member->second.program.tokens += tokens - job.tokens;
    job.tokens = tokens;
  }
  /// The hashes of its full blocks.
  void note_context(const Request& request) {
    if (block_size_ == 0) return;
    const auto member = members_.find(job_of(request).root);
    if (member == members_.end()) return;
    const auto known = request.block_hashes();
    const auto full = static_cast<std::size_t>(request.num_tokens() / block_size_);
    const auto blocks = known.first(std::min(known.size(), full));
    member->second.contexts[request.spec.job].assign(blocks.begin(), blocks.end());
  }
  /// A prefix that several contexts of programs counted in the pool have counts for the first of
  /// them: they are admitted or in the engine. Of any other program counts what it would add.
  void count_common_once(const std::vector<Program*>& all) const {
    std::vector<std::span<const engine::BlockHash>> counted;
    for (const bool in_pool : {true, false})
      for (Program* program : all) {
        if ((program->admitted || program->in_engine()) != in_pool) continue;
        const std::size_t before = counted.size();
        program->tokens = program->common = 0;
        for (const auto& [job, context] : members_.at(program->root).contexts) {
          std::size_t common = 0;
          for (const auto& other : counted) {
            // A block's hash is that of all before it, too: the first that differs ends what is
            // equal.
            const auto longest = std::max(common, std::min(other.size(), context.size()));
            const auto blocks = std::views::iota(common, longest);
            const auto equal = [&](std::size_t i) { return other[i] == context[i]; };
            common += static_cast<std::size_t>(std::ranges::partition_point(blocks, equal) -
                                               blocks.begin());
          }
          const int shared = static_cast<int>(common) * block_size_;
          program->tokens += jobs_[job].tokens - shared;
          program->common += shared;
          counted.emplace_back(context);
        }
        if (!in_pool) counted.resize(before);
      }
  }

  void move(const Request& request, Place to) const {
    Job& job = job_of(request);
    const Place from = std::exchange(job.place, to);
    num_running_ += (to == Place::running ? 1 : 0) - (from == Place::running ? 1 : 0);
    const auto found = members_.find(job.root);
    if (found == members_.end()) return;  // a subagent that outlives its program
    auto& [program, turns, contexts] = found->second;
    --turns[static_cast<std::size_t>(from)];
    ++turns[static_cast<std::size_t>(to)];
    const auto any = [&](Place place) { return turns[static_cast<std::size_t>(place)] > 0; };
    const Phase phase = any(Place::held)      ? Phase::held
                        : any(Place::running) ? Phase::running
                        : any(Place::queued)  ? Phase::queued
                                              : Phase::tool;
    if (phase != program.phase || program.turns == 1) program.since = now_;
    program.phase = phase;
  }
  std::vector<Program*> programs() const {
    std::vector<Program*> all;
    for (const Request* held : held_->in_service_order())
      all.push_back(&members_.at(held->spec.job).program);
    for (auto& [root, member] : members_)
      if (!member.program.held()) all.push_back(&member.program);
    return all;
  }
  void ask_rule(const std::vector<Program*>& all, bool timer) const {
    timer ? rule_->on_timer(all, now_) : rule_->on_change(all, now_);
  }

  void decide(bool timer) const {
    const std::vector<Program*> all = programs();
    if (!timer) turn_ended_ = false;  // a look at the clock leaves it for the next front()
    if (block_size_ == 0) {
      ask_rule(all, timer);
    } else {
      // Each program that is admitted may make others smaller.
      const auto admitted = [&] {
        return std::ranges::count_if(
            all, [](const Program* p) { return p->admitted && !p->in_engine(); });
      };
      for (std::ptrdiff_t before = -1; admitted() > before;) {
        before = admitted();
        count_common_once(all);
        ask_rule(all, timer);
      }
    }
    for (const Program* program : all)
      if (program->held() && program->admitted) serve(*jobs_[program->root].turn);
    const bool idle = num_running_ == 0 && served_->size() == 0;
    if (idle && held_->size() > 0 && !rule_->may_idle()) serve_smallest();
  }
  void decide_if_due() const {
    if (turn_ended_) decide(false);
  }
  void serve(Request& request) const {
    held_->remove(request);
    move(request, Place::queued);
    served_->push(request);
  }
  /// The oldest of equals.
  void serve_smallest() const {
    const auto rank = [](const Request* r) {
      return std::tuple(r->num_tokens(), r->spec.job_arrival, r->id);
    };
    const std::vector<const Request*> held = held_->in_service_order();
    const Request& smallest = **std::ranges::min_element(held, {}, rank);
    members_.at(smallest.spec.job).program.admitted = true;
    serve(*job_of(smallest).turn);
  }

  std::unique_ptr<AdmissionRule> rule_;
  std::unique_ptr<engine::QueueOrder> served_, held_;
  int block_size_;
  engine::Nanos now_{0}, next_timer_{0};
  // When a turn has ended, the rule decides at the next query: a turn that arrives before it, at
  // the same time, is ahead of those that were held back.
  mutable bool turn_ended_ = false;
  mutable ByJob<Job> jobs_;
  mutable std::map<engine::JobId, Member> members_;  // programs that are not over, by root
  mutable int num_running_ = 0;                      // turns in the engine that do not wait
};

}  // namespace

std::unique_ptr<engine::QueueOrder> holding_back(std::unique_ptr<AdmissionRule> rule,
                                                 std::unique_ptr<engine::QueueOrder> served,
                                                 std::unique_ptr<engine::QueueOrder> held,
                                                 int block_size) {
  return std::make_unique<AdmittedPrograms>(std::move(rule), std::move(served), std::move(held),
                                            block_size);
}

}  // namespace policies
