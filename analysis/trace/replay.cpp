#include "analysis/trace/replay.hpp"

#include <cmath>
#include <tuple>

namespace analysis {
namespace {

std::uint64_t key_of(std::int32_t job, std::int32_t turn) {
  return std::uint64_t{static_cast<std::uint32_t>(job)} << 32 | static_cast<std::uint32_t>(turn);
}

std::string numbered(std::int32_t job, std::int32_t turn) {
  return "turn " + std::to_string(turn) + " of job " + std::to_string(job);
}

constexpr auto kNoShare = std::numeric_limits<std::size_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfNanosecond = 0.5e-9;

}  // namespace

TurnNames::TurnNames(const sweep::CellResult& result)
    : job_of_turn_(result.turns.values<std::int32_t>("job")) {
  const auto& numbers = result.jobs.values<std::int32_t>("job");
  const auto& ids = result.jobs.values<std::string>("id");
  for (std::size_t i = 0; i < numbers.size(); ++i) jobs_[numbers[i]] = ids[i];
  const auto& turns = result.turns.values<std::int32_t>("turn");
  for (std::size_t row = 0; row < turns.size(); ++row) {
    if (!rows_.emplace(key_of(job_of_turn_[row], turns[row]), row).second)
      throw std::logic_error("turns holds " + numbered(job_of_turn_[row], turns[row]) + " twice");
    requests_.push_back(request(job_of_turn_[row], turns[row]));
  }
}

std::optional<std::size_t> TurnNames::find(std::int32_t job, std::int32_t turn) const {
  const auto found = rows_.find(key_of(job, turn));
  if (found == rows_.end()) return std::nullopt;
  return found->second;
}

std::size_t TurnNames::row_of(std::int32_t job, std::int32_t turn) const {
  if (const auto row = find(job, turn)) return *row;
  throw std::logic_error("sched names " + numbered(job, turn) + ", which turns lacks");
}

const std::string& TurnNames::job(std::int32_t job) const {
  const auto found = jobs_.find(job);
  if (found != jobs_.end()) return found->second;
  throw std::logic_error("a table names job " + std::to_string(job) + ", which jobs lacks");
}

std::string TurnNames::request(std::int32_t job_number, std::int32_t turn) const {
  return job(job_number) + ':' + std::to_string(turn);
}

void KvReplay::advance_to(std::size_t step_row) {
  const sweep::TableRow step{result_.steps, step_row};
  const auto number = step.at<std::int64_t>("step");
  for (; event_.row < events_; ++event_.row) {
    const auto of_step = event_.at<std::int64_t>("step");
    if (of_step > number || (of_step == number && event_.number("t_s") > step.number("t_s"))) break;
    apply();
  }
  const std::int64_t held = std::ssize(pinned_), said = step.count("pinned_jobs");
  if (held == said) return;
  throw std::logic_error("step " + std::to_string(number) + ": pinned_jobs is " +
                         std::to_string(said) + ", but kv_events give " + std::to_string(held));
}

void KvReplay::apply() {
  const std::int32_t job = event_.count("job");
  const auto kind = static_cast<sweep::KvEventKind>(event_.at<std::int8_t>("kind"));
  if (kind == sweep::KvEventKind::pin) pinned_.insert(job);
  if (kind == sweep::KvEventKind::unpin) pinned_.erase(job);
  if (kind == sweep::KvEventKind::evict_gpu) evicted_from_gpu_s_[job] = event_.number("t_s");
  if (kind == sweep::KvEventKind::evict_host) evicted_from_host_s_[job] = event_.number("t_s");
}

LostFrom KvReplay::lost_since(std::int32_t job, double time_s) const {
  const auto later = [&](const auto& last) {
    const auto found = last.find(job);
    return found != last.end() && found->second >= time_s;
  };
  if (later(evicted_from_host_s_)) return LostFrom::host;
  return later(evicted_from_gpu_s_) ? LostFrom::gpu : LostFrom::nowhere;
}

QueueReplay::QueueReplay(const sweep::CellResult& result, const TurnNames& names)
    : names_(names),
      result_(result),
      is_logged_(sweep::find_named(result.notes, "server_steps") != nullptr),
      sched_step_(result.sched.values<std::int64_t>("step")),
      arrive_s_(result.turns.values<double>("t_arrive_s")),
      finish_s_(result.turns.values<double>("t_finish_s")),
      kind_(result.sched.values<std::int8_t>("kind")),
      last_share_(names.size(), kNoShare),
      state_(names.size(), State::not_there),
      place_(names.size()) {
  const auto &jobs = result.sched.values<std::int32_t>("job"),
             &turns = result.sched.values<std::int32_t>("turn"),
             &job_of_turn = result.turns.values<std::int32_t>("job");
  for (std::size_t row = 0; row < jobs.size(); ++row) {
    turn_of_sched_.push_back(names.row_of(jobs[row], turns[row]));
    last_share_[turn_of_sched_.back()] = row;
  }
  for (std::size_t turn = 0; turn < arrive_s_.size(); ++turn)
    if (!std::isnan(arrive_s_[turn])) arrivals_.push_back(turn);
  // Turns with the same arrival time arrive in the order of their jobs.
  std::ranges::stable_sort(arrivals_, {}, [&](std::size_t turn) {
    return std::tuple(arrive_s_[turn], job_of_turn[turn]);
  });
}

bool QueueReplay::next() {
  if (steps_done_ == result_.steps.rows()) {
    if (next_sched_ == sched_step_.size()) return false;
    throw std::logic_error("sched goes on after the last step");
  }
  step_row_ = steps_done_++;
  remove_finished();
  add_arrivals();
  apply_schedule();
  check_counts();
  return true;
}

void QueueReplay::remove_finished() {
  for (const std::size_t turn : finished_) {
    running_.erase(place_[turn]);
    state_[turn] = State::done;
  }
  finished_.clear();
}

/// Adds requests that had arrived when the preceding step ended. With a wall clock, time passes
/// from then until this step starts; only the counts tell which later arrivals the scheduler saw.
void QueueReplay::add_arrivals() {
  const sweep::TableRow now = step(), before{result_.steps, step_row_ - 1};
  const double start = now.number("t_s"),
               seen_until = step_row_ == 0
                                ? -kInfinity
                                : before.number("t_s") + before.number("dur_s") - kHalfNanosecond;
  const auto there = static_cast<std::size_t>(now.count("n_running")) +
                     static_cast<std::size_t>(expected_to_wait());
  for (; next_arrival_ < arrivals_.size(); ++next_arrival_) {
    const std::size_t turn = arrivals_[next_arrival_];
    const double at = arrive_s_[turn];
    const bool expected = running_.size() + waiting_.size() < there;
    if (state_[turn] != State::not_there) continue;
    if (at > start || (at > seen_until && !expected)) return;
    arrive(turn);
  }
}

void QueueReplay::arrive(std::size_t turn) {
  place_[turn] = waiting_.insert(waiting_.end(), turn);
  state_[turn] = State::waiting;
}

void QueueReplay::apply_schedule() {
  first_sched_ = next_sched_;
  const auto step = number();
  if (next_sched_ < sched_step_.size() && sched_step_[next_sched_] < step)
    fail("sched has rows of step " + std::to_string(sched_step_[next_sched_]) + " before it");
  while (next_sched_ < sched_step_.size() && sched_step_[next_sched_] == step) apply(next_sched_++);
}

void QueueReplay::apply(std::size_t sched_row) {
  const std::size_t turn = turn_of_sched_[sched_row];
  const auto kind = static_cast<sweep::SchedKind>(kind_[sched_row]);
  if (kind == sweep::SchedKind::preempted) {
    require(turn, State::running);
    waiting_.splice(waiting_.begin(), running_, place_[turn]);
    state_[turn] = State::waiting;
    return;
  }
  if (kind == sweep::SchedKind::running) {
    require(turn, State::running);
  } else {
    // Turns reach a server in another order than its client sends them.
    if (is_logged_ && state_[turn] == State::not_there) arrive(turn);
    require(turn, State::waiting);
    running_.splice(running_.end(), waiting_, place_[turn]);
    state_[turn] = State::running;
  }
  if (last_share_[turn] == sched_row && !std::isnan(finish_s_[turn])) finished_.push_back(turn);
}

void QueueReplay::require(std::size_t turn, State state) const {
  if (state_[turn] == state) return;
  fail("sched says that request " + names_.request_of_row(turn) +
       (state == State::waiting ? " waited" : " ran") + " before it, which it did not");
}

void QueueReplay::check_counts() const {
  if (is_logged_) return;
  const auto compare = [&](const char* column, std::int32_t says, std::size_t replayed) {
    if (static_cast<std::int64_t>(replayed) == says) return;
    fail(std::string(column) + " is " + std::to_string(says) + ", but sched and turns give " +
         std::to_string(replayed));
  };
  compare("n_running", step().count("n_running"), running_.size());
  compare("n_waiting + n_loading", expected_to_wait(), waiting_.size());
}

void QueueReplay::fail(const std::string& what) const {
  throw std::logic_error("step " + std::to_string(number()) + ": " + what);
}

}  // namespace analysis
