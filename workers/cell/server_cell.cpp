#include "workers/cell/server_cell.hpp"

#include <algorithm>
#include <cmath>

#include "workers/cell/client.hpp"
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
      : http_(http), session_(session), before_(before) {}
  ~MetricsReader() override {
    if (asked_) http_.cancel(*asked_);
  }

  /// When to call read_if_due() at the latest.
  Nanos due() const { return !session_.has_metrics() || asked_ ? Nanos::max() : due_; }
  void read_if_due(Nanos now) {
    if (now < due()) return;
    due_ = now + kPeriod;
    page_.clear();
    asked_ = http_.start({session_.url() + "/metrics", {}}, *this);
  }
  /// Waits for one more sample.
  void read_last(const engine::Clock& clock) {
    if (!session_.has_metrics()) return;
    const Nanos deadline = clock.now() + std::chrono::seconds(5);
    while (asked_ && clock.now() < deadline) http_.run_until(deadline);
    due_ = Nanos{0};
    read_if_due(clock.now());
    while (asked_ && clock.now() < deadline) http_.run_until(deadline);
  }

  void on_bytes(int, std::string_view bytes, Nanos) override { page_ += bytes; }
  void on_end(const server::HttpEnd& end, Nanos at) override {
    asked_.reset();
    if (end.status != 200 || !end.error.empty()) return;
    const server::ServerSample now = session_.dialect().sample(server::MetricsPage(page_));
    sweep::TelemetryRow& row = rows_.emplace_back();
    row.t_s = engine::to_seconds(at);
    row.kv_used_pct = 100 * now.kv_used;
    row.n_running = now.running;
    row.n_waiting = now.waiting;
    row.preemptions = since(before_.preemptions, now.preemptions);
    row.cached_tok = since(before_.cached_tokens, now.cached_tokens);
    row.host_cached_tok = since(before_.host_tokens, now.host_tokens);
    forwards_ = since(before_.forwards, now.forwards);
  }

  std::vector<sweep::TelemetryRow> take() { return std::move(rows_); }
  double forwards() const { return forwards_; }

 private:
  static constexpr Nanos kPeriod = std::chrono::milliseconds(200);

  /// Some servers name a counter when they first count.
  static double since(double before, double now) { return std::isnan(before) ? now : now - before; }

  server::HttpLoop& http_;
  const server::Session& session_;
  std::optional<server::HttpLoop::Id> asked_;
  std::string page_;
  server::ServerSample before_;
  std::vector<sweep::TelemetryRow> rows_;
  double forwards_ = sweep::kNotObserved;
  Nanos due_{0};
};

/// The prompts of jobs whose earlier answers are those that the server generated.
class GeneratedChains {
 public:
  explicit GeneratedChains(const workload::Workload& workload) {
    if (workload.prompts)
      throw InputError(
          "server.chain \"generated\" needs a workload whose turns extend one "
          "another; " +
          workload.source + " makes its prompts otherwise");
    for (const workload::Job& job : workload.jobs) tokens_.push_back(job.tokens);
  }

  std::span<const engine::TokenId> prompt(const engine::RequestSpec& spec) const {
    return std::span(tokens_[index(spec.job)]).first(spec.prompt.size());
  }
  void add(const engine::RequestSpec& spec, const std::vector<engine::TokenId>& answer) {
    const std::span own = std::span(tokens_[index(spec.job)]).subspan(spec.prompt.size());
    for (std::size_t i = 0; i < std::min(answer.size(), own.size()); ++i) {
      if (answer[i] == server::kUnknownToken)
        ++unknown_;
      else
        own[i] = answer[i];
    }
  }
  /// Tokens whose ids the server did not send: recorded ones stand in their place.
  int unknown() const { return unknown_; }

 private:
  std::vector<std::vector<engine::TokenId>> tokens_;  // by job
  int unknown_ = 0;
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
    if (config.server->chain == server::Chain::generated) chains_.emplace(load.workload);
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
    report(false);
  }

  sweep::CellResult result() {
    sweep::CellResult result = recorder_.take(streams_.token_gaps_s(), metrics_.take());
    const auto events = static_cast<double>(streams_.token_events());
    result.figures.push_back({"token_events", events, "", true});
    if (chains_ && chains_->unknown() > 0)
      result.notes.push_back({"server_chain",
                              "the server did not send the ids of " +
                                  std::to_string(chains_->unknown()) +
                                  " generated tokens; recorded ids stand in their place",
                              true});
    result.figures.push_back({"forwards", metrics_.forwards(), "", true});
    return result;
  }

 private:
  void send(const engine::RequestSpec& spec) {
    const workload::Job& job = load_.workload.jobs[index(spec.job)];
    server::TurnCall call;
    call.job_id = job.id;
    call.turn = spec.turn;
    call.last = spec.last_turn;
    if (spec.tool != engine::ToolId::none)
      call.tool = load_.workload.tools[static_cast<std::size_t>(spec.tool)];
    call.gap_s = engine::to_seconds(job.turns[static_cast<std::size_t>(spec.turn)].gap);
    call.max_tokens = spec.max_tokens;
    call.prompt = chains_ ? chains_->prompt(spec) : spec.prompt;
    if (config_.server->chain == server::Chain::forced) call.forced = spec.forced;
    const std::uint64_t tag = ++last_tag_;
    running_.emplace(tag, spec);
    streams_.start(call, tag, clock_.now());
  }

  void end(const server::EndedTurn& turn) {
    const auto found = running_.find(turn.tag);
    const engine::RequestSpec spec = found->second;
    running_.erase(found);
    if (chains_) chains_->add(spec, turn.answer.ids);
    const server::Answer& answer = turn.answer;
    recorder_.add({spec, turn.sent, turn.first_token, turn.last_token,
                   static_cast<int>(spec.prompt.size()), answer.tokens, answer.cached_tokens,
                   answer.host_tokens, answer.preemptions});
    ++ended_;
    client_.on_finished(spec, turn.last_token);
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
  server::HttpLoop http_{clock_};
  MetricsReader metrics_;
  ClientRecorder recorder_;
  std::optional<GeneratedChains> chains_;
  Client client_;
  std::map<std::uint64_t, engine::RequestSpec> running_;  // by tag
  std::uint64_t last_tag_ = 0, ended_ = 0;
  server::TurnStreams streams_{http_, session_.dialect(), *config_.server, session_.url()};
};

server::ServerSample sample_of(server::Session& session) {
  if (!session.has_metrics()) return {};
  return session.dialect().sample(server::MetricsPage(session.fetch("/metrics").body));
}

/// Of a turn that failed where tokens were forced.
constexpr const char* kForced =
    " (server.chain is \"forced\": llama-server cannot be made to generate a token whose text is "
    "no "
    "whole character, or ends a text)";

/// What a reader must know of the figures beside their values.
void add_notes(const server::ServerConfig& config, const server::Session& session,
               sweep::CellResult& result) {
  const server::ServerFacts& facts = session.facts();
  result.notes.push_back({"server", config.kind_name + ' ' + config.version});
  if (facts.version.empty())
    result.notes.push_back({"server_version", "as the sweep file says; the server reports none"});
  if (!facts.pool.empty()) result.notes.push_back({"server_pool", facts.pool});
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
  ServerCell cell(config, load, session, sample_of(session), hooks);
  try {
    cell.play();
  } catch (const server::TurnFailed& failed) {
    constexpr std::chrono::milliseconds kUntilItsEndIsKnown{500};
    session.require_alive(kUntilItsEndIsKnown);
    const bool forced = config.server->chain == server::Chain::forced;
    throw server::ServerFailed(
        session.with_log(failed.what() + std::string(forced ? kForced : "")));
  }
  sweep::CellResult result = cell.result();
  add_notes(*config.server, session, result);
  return result;
}

}  // namespace worker
