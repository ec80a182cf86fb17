#pragma once
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/admission/rule.hpp"
#include "workers/policies/estimators/by_id.hpp"

namespace policies {

/// Holds back turns of programs that a rule does not admit: they wait in an order of the same kind,
/// invisible to the scheduler. Turns of subagents, which the program's root may wait for, are never
/// held back.
class AdmittedPrograms final : public engine::QueueOrder {
 public:
  /// `served` and `held` are two orders of one kind. Where `block_size` is not 0, what contexts
  /// have in common in blocks of that many tokens counts once.
  AdmittedPrograms(std::unique_ptr<AdmissionRule> rule, std::unique_ptr<engine::QueueOrder> served,
                   std::unique_ptr<engine::QueueOrder> held, int block_size);

  void push(engine::Request& request) override;
  void push_preempted(engine::Request& request) override;
  void put_back(engine::Request& request) override;
  bool overtakes(const engine::Request& a, const engine::Request& b) const override {
    return served_->overtakes(a, b);
  }
  void begin_step(engine::Nanos now, const engine::PrefixCache& cache) override;
  void on_turn_end(const engine::Request& request, engine::Nanos now) override;
  engine::Request* front() const override {
    decide_if_due();
    return served_->front();
  }
  void remove(engine::Request& request) override;
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
  void on_pin_changed(engine::JobId job, bool pinned) override;
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
  void set_tokens(Job& job, int tokens);
  void note_context(const engine::Request& request);
  void count_common_once(const std::vector<Program*>& all) const;
  void move(const engine::Request& request, Place to) const;
  std::vector<Program*> programs() const;
  void ask_rule(const std::vector<Program*>& all, bool timer) const;
  void decide(bool timer) const;
  void decide_if_due() const {
    if (turn_ended_) decide(false);
  }
  void serve(engine::Request& request) const;
  void serve_smallest() const;

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

}  // namespace policies
