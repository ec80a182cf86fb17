#pragma once
#include <map>
#include <string>

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
  sweep::TelemetryRow row(const server::ServerSample& now);
  double forwards() const { return forwards_; }
  /// Lists the metrics that were not taken over, for people; empty: none.
  std::string left_out() const;

 private:
  double gauge(const char* name, double value, double most);
  double counted(const char* name, double before, double now, double most);

  server::ServerSample before_;
  double load_ = 0, forwards_ = sweep::kNotObserved;
  std::map<std::string, double> counted_, refused_;  // by name
};

}  // namespace worker
