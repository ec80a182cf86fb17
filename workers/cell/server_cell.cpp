#include "workers/cell/server_cell.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "workers/cell/client.hpp"
#include "workers/cell/server_metrics.hpp"
#include "workers/record/client_recorder.hpp"
#include "workers/server/streams.hpp"

namespace worker {
namespace {

using engine::index;
using engine::Nanos;

/// Reads a server's metrics five times per second, beside the load.
class MetricsReader final : public server::HttpHandler {
 public:
  /// Counters are told since `before`, a sample from before the load.
  MetricsReader(server::HttpLoop& http, const server::Session& session,
                const server::ServerSample& before)
      : http_(http), session_(session), metrics_(before) {}
  ~MetricsReader() override {
    if (asked_) http_.cancel(*asked_);
  }

  void add_load(std::int64_t tokens) { metrics_.add_load(tokens); }
  /// When to call read_if_due() at the latest.
  Nanos due() const { return !session_.has_metrics() || asked_ ? Nanos::max() : due_; }
  void read_if_due(Nanos now) {
    if (now < due()) return;
    due_ = now + kPeriod;
    page_ = {};
    asked_ = http_.start({session_.url() + "/metrics", {}}, *this);
  }
  void read_last(const engine::Clock& clock) {
    if (!session_.has_metrics()) return;
    const Nanos deadline = clock.now() + std::chrono::seconds(5);
    while (asked_ && clock.now() < deadline) http_.run_until(deadline);
    due_ = Nanos{0};
    read_if_due(clock.now());
    while (asked_ && clock.now() < deadline) http_.run_until(deadline);
  }

  bool on_bytes(int status, std::string_view bytes, Nanos) override {
    return page_.add(status, bytes);
  }
  void on_end(const server::HttpEnd& end, Nanos at) override {
    asked_.reset();
    page_.close(end);
    if (!page_.ok()) {
      ++failed_;
      problem_ = page_.problem();
      return;
    }
    rows_.push_back(metrics_.row(session_.dialect().sample(server::MetricsPage(page_.body))));
    rows_.back().t_s = engine::to_seconds(at);
  }

  std::vector<sweep::TelemetryRow> take() { return std::move(rows_); }
  /// Lists missing metrics and why; empty: none.
  std::string problem() const {
    std::string text = metrics_.left_out();
    if (!text.empty() && (asked_ || failed_ > 0)) text += "; ";
    if (asked_) return text + "the last sample was not answered within 5 s";
    return failed_ == 0 ? text
                        : text + std::to_string(failed_) + " samples are missing: " + problem_;
  }
  double forwards() const { return metrics_.forwards(); }

 private:
  static constexpr Nanos kPeriod = std::chrono::milliseconds(200);

  server::HttpLoop& http_;
  const server::Session& session_;
  std::optional<server::HttpLoop::Id> asked_;
  server::HttpAnswer page_;
  ServerMetrics metrics_;
  std::vector<sweep::TelemetryRow> rows_;
  Nanos due_{0};
  int failed_ = 0;
  std::string problem_;  // of the last that failed
};

/// The tokens of jobs whose answers are not the recorded ones throughout: the server's own, or ones
/// that it can be made to generate. A prompt has them where it holds what the job's turn before
/// has.
class OwnChains {
 public:
  explicit OwnChains(const workload::Workload& workload)
      : workload_(workload), tokens_(workload.jobs.size()) {}

  /// Once for each turn, before its answer.
  std::span<const engine::TokenId> prompt(const engine::RequestSpec& spec) {
    std::vector<engine::TokenId>& own = tokens_[index(spec.job)];
    const int reused =
        workload_.jobs[index(spec.job)].turns[static_cast<std::size_t>(spec.turn)].reused_tokens;
    if (spec.turn == 0) own.clear();
    if (reused >= 0) own.resize(std::min(own.size(), static_cast<std::size_t>(reused)));
    const auto fresh = spec.prompt.subspan(std::min(own.size(), spec.prompt.size()));
    own.insert(own.end(), fresh.begin(), fresh.end());
    for (const engine::TokenId id : spec.forced) own.push_back(forcible(id));
    return std::span(own).first(spec.prompt.size());
  }
  std::span<const engine::TokenId> answer(const engine::RequestSpec& spec) const {
    return std::span(tokens_[index(spec.job)]).subspan(spec.prompt.size(), spec.forced.size());
  }
  /// Later prompts hold this answer.
  void add(const engine::RequestSpec& spec, const std::vector<engine::TokenId>& answer) {
    const std::span own = std::span(tokens_[index(spec.job)]).subspan(spec.prompt.size());
    for (std::size_t i = 0; i < std::min(answer.size(), own.size()); ++i) {
      if (answer[i] == server::kUnknownToken)
        ++replaced_;
      else
        own[i] = answer[i];
    }
  }
  void release(engine::JobId job) { tokens_[index(job)] = {}; }
  /// Puts ids that the server can be made to generate in place of others, in answers and thereby
  /// in later prompts.
  void make_forcible(server::Session& session) {
    std::set<engine::TokenId> used;
    std::vector<engine::TokenId> made;
    for (std::uint32_t job = 0; job < workload_.jobs.size(); ++job)
      for (std::size_t turn = 0; turn < workload_.jobs[job].turns.size(); ++turn) {
        const workload::Turn& of = workload_.jobs[job].turns[turn];
        if (workload_.prompts) workload_.prompts->make(job, static_cast<int>(turn), made);
        const auto answer = std::span(workload_.prompts ? made : workload_.jobs[job].tokens)
                                .subspan(static_cast<std::size_t>(of.prompt_tokens),
                                         static_cast<std::size_t>(of.output_tokens));
        used.insert(answer.begin(), answer.end());
      }
    const std::vector<engine::TokenId> can = session.forcible({used.begin(), used.end()});
    if (can.empty() && !used.empty())
      throw server::ServerFailed(
          "server.chain \"forced\": the server cannot be made to generate "
          "any token of the recorded answers");
    const std::set<engine::TokenId> good(can.begin(), can.end());
    for (const engine::TokenId id : used)
      if (!good.contains(id)) instead_[id] = can[id % can.size()];
  }
  /// Tokens whose ids the server did not send, or cannot be made to generate: others stand in their
  /// place.
  int replaced() const { return replaced_; }

 private:
  engine::TokenId forcible(engine::TokenId id) {
    const auto found = instead_.find(id);
    if (found == instead_.end()) return id;
    ++replaced_;
    return found->second;
  }

  const workload::Workload& workload_;
  std::vector<std::vector<engine::TokenId>> tokens_;  // by job, of its last turn
  std::map<engine::TokenId, engine::TokenId> instead_;
  int replaced_ = 0;
};

class ServerCell {
 public:
  ServerCell(const ExperimentConfig& config, const Load& load, server::Session& session,
             const server::ServerSample& before, const RunHooks& hooks)
      : config_(config),
        load_(load),
        session_(session),
        hooks_(hooks),
        metrics_(http_, session, before),
        recorder_(load.workload),
        client_(load.workload, load.arrivals, config.workload.arrivals.most_live,
                config.engine.kv.block_size, TokenUse::read,
                [this](const engine::RequestSpec& spec) { send(spec); }) {
    if (config.server->chain == server::Chain::recorded) return;
    forced_ = config.server->chain == server::Chain::forced;
    chains_.emplace(load.workload);
    if (forced_) chains_->make_forcible(session);
  }

  void play() {
    constexpr Nanos kLongestNap = std::chrono::milliseconds(500);
    report(true);
    while (!client_.done()) {
      if (hooks_.stop.stop_requested()) throw CellAbandoned();
      session_.require_alive();
      const Nanos now = clock_.now();
      client_.submit_due(now);
      metrics_.read_if_due(now);
      streams_.check_silence(now);
      const Nanos due = client_.next_due().value_or(Nanos::max());
      http_.run_until(std::min({due, metrics_.due(), now + kLongestNap}));
      for (const server::EndedTurn& turn : streams_.take_ended()) end(turn);
      report(true);
    }
    metrics_.read_last(clock_);
    read_steps();
    report(false);
  }

  sweep::CellResult result() {
    sweep::CellResult result = recorder_.take(streams_.token_gaps_s(), metrics_.take());
    const auto events = static_cast<double>(streams_.token_events());
    result.figures.push_back({"token_events", events, "", true});
    if (const std::string missing = metrics_.problem(); !missing.empty())
      result.notes.push_back({"server_metrics", session_.without_secrets(missing), true});
    if (const int untold = streams_.untold(); untold > 0)
      result.notes.push_back(
          {"token_times",
           "which event brought how many tokens is not told for " + std::to_string(untold) +
               " of " + std::to_string(ended_) +
               " turns: times are those of events, tokens are counted by the server, and TPOT and "
               "ITL spread them evenly over a turn's events",
           true});
    if (chains_) add_chains(result);
    const std::int64_t block = config_.server->match ? config_.bytes_per_block : 0;
    if (steps_) add_server_steps(*steps_, zero_s_, block, load_.workload, result);
    if (!steps_ || steps_->steps.empty())
      result.figures.push_back({"forwards", metrics_.forwards(), "", true});
    return result;
  }

 private:
  void add_chains(sweep::CellResult& result) const {
    const int replaced = chains_->replaced();
    result.figures.push_back({"chain_replaced_tok", static_cast<double>(replaced), "tokens", true});
    if (replaced == 0) return;
    const std::string tokens = std::to_string(replaced);
    result.notes.push_back(
        {"server_chain",
         forced_ ? "the server cannot be made to generate " + tokens +
                       " tokens of the recorded answers; others stand in their place, in later "
                       "prompts too"
                 : "the server did not send the ids of " + tokens +
                       " generated tokens; recorded ids stand in their place",
         true});
  }

  /// The last lines come when the server has seen that no request is left.
  void read_steps() {
    constexpr Nanos kPatience = std::chrono::seconds(5), kBetween = std::chrono::milliseconds(50);
    if (session_.step_log().empty() || hooks_.record < sweep::RecordLevel::all) return;
    const Nanos deadline = clock_.now() + kPatience;
    try {
      while (true) {
        steps_ = server::read_step_log(session_.step_log(), steps_from_, zero_s_);
        const Nanos now = clock_.now();
        if (steps_->idle || now > deadline) break;
        clock_.wait_until(now + kBetween);
      }
    } catch (const std::runtime_error& error) {  // the turns were measured all the same
      steps_.emplace().problem = error.what();
    }
    if (!steps_->idle && steps_->problem.empty())
      steps_->problem = "its last line is not of an idle server";
  }

  void send(const engine::RequestSpec& spec) {
    const workload::Job& job = load_.workload.jobs[index(spec.job)];
    server::TurnCall call;
    call.job_id = job.id;
    // Subagents have the place of the whole job, by which orders by job go.
    const engine::JobId whole = spec.subagent_of.value_or(spec.job);
    call.job_index = arrivals_.try_emplace(whole, static_cast<int>(arrivals_.size())).first->second;
    call.turn = spec.turn;
    call.last = spec.last_turn;
    if (spec.tool != engine::ToolId::none)
      call.tool = load_.workload.tools[static_cast<std::size_t>(spec.tool)];
    call.gap_s = engine::to_seconds(job.turns[static_cast<std::size_t>(spec.turn)].gap);
    call.max_tokens = spec.max_tokens;
    call.prompt = chains_ ? chains_->prompt(spec) : spec.prompt;
    if (forced_) call.forced = chains_->answer(spec);
    metrics_.add_load(std::int64_t{call.max_tokens} + std::ssize(call.prompt));
    const std::uint64_t tag = ++last_tag_;
    running_.emplace(tag, spec);
    streams_.start(call, tag, clock_.now());
  }

  void end(const server::EndedTurn& turn) {
    const auto found = running_.find(turn.tag);
    const engine::RequestSpec spec = found->second;
    running_.erase(found);
    if (forced_) require_forced(spec, turn.answer.ids);
    if (chains_ && !forced_) chains_->add(spec, turn.answer.ids);
    if (chains_ && spec.last_turn) chains_->release(spec.job);
    const server::Answer& answer = turn.answer;
    recorder_.add({spec, turn.sent, turn.first_token, turn.last_token,
                   static_cast<int>(spec.prompt.size()), answer.tokens, turn.tokens_at_first,
                   answer.cached_tokens, answer.host_tokens, answer.preemptions});
    ++ended_;
    client_.on_finished(spec, turn.last_token);
  }

  void require_forced(const engine::RequestSpec& spec,
                      const std::vector<engine::TokenId>& ids) const {
    const auto wanted = chains_->answer(spec);
    for (std::size_t i = 0; i < std::min(ids.size(), wanted.size()); ++i)
      if (ids[i] != server::kUnknownToken && ids[i] != wanted[i])
        throw server::TurnFailed("server.chain \"forced\": the server generated token " +
                                     std::to_string(ids[i]) + ", and " + std::to_string(wanted[i]) +
                                     " was demanded",
                                 static_cast<int>(i));
  }

  void report(bool serving) {
    if (!hooks_.progress) return;
    hooks_.progress({client_.finished_programs(), client_.programs(), ended_,
                     engine::to_seconds(clock_.now()), serving});
  }

  const ExperimentConfig& config_;
  const Load& load_;
  server::Session& session_;
  const RunHooks& hooks_;
  engine::WallClock clock_;
  double zero_s_ = server::monotonic_s() - engine::to_seconds(clock_.now());
  std::int64_t steps_from_ = server::end_of_lines(session_.step_log());
  server::HttpLoop http_{clock_, session_.headers()};
  MetricsReader metrics_;
  ClientRecorder recorder_;
  std::optional<OwnChains> chains_;
  bool forced_ = false;  // chains_ are demanded of the server
  Client client_;
  std::map<std::uint64_t, engine::RequestSpec> running_;  // by tag
  std::map<engine::JobId, int> arrivals_;                 // a job's place in order of arrival
  std::uint64_t last_tag_ = 0, ended_ = 0;
  std::optional<server::StepLog> steps_;
  server::TurnStreams streams_{http_, session_.dialect(), *config_.server, session_.url()};
};

server::ServerSample sample_of(server::Session& session) {
  if (!session.has_metrics()) return {};
  return session.dialect().sample(server::MetricsPage(session.fetch("/metrics").body));
}

/// The sizes that the server reports, and with server.match those that its flags alone say.
void add_sizes(const server::ServerConfig& config, const server::EngineSizes& reported,
               sweep::CellResult& result) {
  std::string unreported;
  const auto wanted = config.match.value_or(server::EngineSizes()).named();
  for (std::size_t i = 0; const auto& [name, size] : reported.named()) {
    const double value = size ? static_cast<double>(*size) : sweep::kNotObserved;
    result.figures.push_back({std::string("server_") + name, value, "", true});
    if (wanted[i++].second && !size)
      unreported += (unreported.empty() ? "" : ", ") + std::string(name);
  }
  if (!config.match) return;
  result.notes.push_back(
      {"server_match", unreported.empty()
                           ? "as engine.* says, and as the server reports"
                           : "as engine.* says; the server does not report " + unreported});
}

/// Adds notes that a reader of the figures needs.
void add_notes(const server::ServerConfig& config, const server::Session& session,
               sweep::CellResult& result) {
  const server::ServerFacts& facts = session.facts();
  result.notes.push_back({"server", config.kind_name + ' ' + config.version});
  if (facts.version.empty())
    result.notes.push_back({"server_version", "as the sweep file says; the server reports none"});
  if (!facts.pool.empty()) result.notes.push_back({"server_pool", facts.pool});
  add_sizes(config, facts.sizes, result);
  if (!session.has_metrics())
    result.notes.push_back({"server_metrics", "none: the server has no page /metrics", true});
  if (config.reset == server::Reset::none)
    result.notes.push_back({"server_reset", "caches were not emptied before the cell"});
  double late_s = 0, ttft_s = 0;
  for (const sweep::Figure& figure : result.figures) {
    if (figure.name == "client_late_p99_s") late_s = figure.value;
    if (figure.name == "ttft_mean_s") ttft_s = figure.value;
  }
  constexpr double kLateAtLeast_s = 2e-3, kLateShare = 0.01;
  if (late_s > std::max(kLateAtLeast_s, kLateShare * ttft_s))
    result.notes.push_back(
        {"client_late",
         "the client sent requests late: p99 " + std::to_string(late_s * 1e3) + " ms", true});
}

}  // namespace

sweep::CellResult run_server_cell(const ExperimentConfig& config, const Load& load,
                                  server::Session& session, const RunHooks& hooks) {
  try {
    ServerCell cell(config, load, session, sample_of(session), hooks);
    cell.play();
    sweep::CellResult result = cell.result();
    add_notes(*config.server, session, result);
    return result;
  } catch (const server::TurnFailed& failed) {
    session.require_alive(session.kUntilItsEndIsKnown);
    throw server::ServerFailed(session.with_log(failed.what()));
  }
}

}  // namespace worker
