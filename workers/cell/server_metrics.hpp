#pragma once
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "sweeps/tables/result.hpp"
#include "workers/server/dialect/dialect.hpp"

namespace worker {

/// The metrics of a server under a load. What they say is held against the load: what it cannot
/// cause is not observed.
class ServerMetrics {
 public:
  /// Counters are told since `before`, a sample from before the load.
  explicit ServerMetrics(const server::ServerSample& before) : before_(before) {}

  /// Prompts and answers that the server is asked for.
  void add_load(std::int64_t tokens) { load_ += static_cast<double>(tokens); }
  sweep::TelemetryRow row(const server::ServerSample& now) {
    constexpr double kWholePool = 1.01, kMostRequests = 1e6;  // a share is rounded
    // A step computes a token at least, and each start of a request finds its tokens at most.
    sweep::TelemetryRow row;
    row.kv_used_pct = 100 * gauge("share of KV in use", now.kv_used, kWholePool);
    row.n_running = gauge("running requests", now.running, kMostRequests);
    row.n_waiting = gauge("waiting requests", now.waiting, kMostRequests);
    row.preemptions = counted("preemptions", before_.preemptions, now.preemptions, load_);
    forwards_ = counted("forwards", before_.forwards, now.forwards, load_);
    const double starts = 1 + (std::isnan(row.preemptions) ? 0 : row.preemptions);
    row.cached_tok =
        counted("cached tokens", before_.cached_tokens, now.cached_tokens, starts * load_);
    row.host_cached_tok =
        counted("tokens from host memory", before_.host_tokens, now.host_tokens, starts * load_);
    return row;
  }
  double forwards() const { return forwards_; }
  /// Lists the metrics that were not taken over, for people; empty: none.
  std::string left_out() const {
    if (refused_.empty()) return {};
    std::ostringstream text;
    text << "left out, since " << load_ << " tokens of load cannot cause it:";
    for (const char* separator = " "; const auto& [name, value] : refused_)
      text << std::exchange(separator, ", ") << name << ' ' << value;
    return text.str();
  }

 private:
  double gauge(const char* name, double value, double most) {
    if (std::isnan(value) || (value >= 0 && value <= most)) return value;
    refused_.try_emplace(name, value);
    return sweep::kNotObserved;
  }
  /// Some servers name a counter when they first count.
  double counted(const char* name, double before, double now, double most) {
    constexpr double kExact = 0x1p53;  // above it a difference is none
    if (std::isnan(now)) return now;
    const double since = std::isnan(before) ? now : now - before;
    const double so_far = std::exchange(counted_[name], since);
    if (!(since >= so_far && since <= most && now <= kExact)) refused_.try_emplace(name, since);
    return refused_.contains(name) ? sweep::kNotObserved : since;
  }

  server::ServerSample before_;
  double load_ = 0, forwards_ = sweep::kNotObserved;
  std::map<std::string, double> counted_, refused_;  // by name
};

}  // namespace worker
