#pragma once
#include <string>

#include "tests/support/shared.hpp"
#include "workers/binding/binding.hpp"
#include "workers/cell/execution.hpp"

namespace support {

/// The keys of a cell of backend server: two agents of a few short turns.
class ServerKeys {
 public:
  ServerKeys() {
    set("gpu", "h100-80gb").set("model", "tiny-llama-3").set("workload.kind", "agent8");
    put("workload.jobs", std::int64_t{2}).put("workload.scale", 0.02).put("workload.gap_s", 0.01);
    put("jps", 100.0).put("server.silent_s", 20.0).put("engine.max_model_len", std::int64_t{4096});
  }

  ServerKeys& set(const std::string& key, const std::string& text) { return put(key, text); }
  ServerKeys& put(const std::string& key, sweep::Value value) {
    params_[key] = {std::move(value), {"cell.toml", static_cast<int>(params_.size()) + 1, 1}};
    return *this;
  }
  /// Takes keys that begin so away.
  ServerKeys& drop(const std::string& prefix) {
    std::erase_if(params_, [&](const auto& each) { return each.first.starts_with(prefix); });
    return *this;
  }
  const sweep::ParamMap& params() const { return params_; }

 private:
  sweep::ParamMap params_;
};

/// Cells of backend server, on one worker.
class ServerWorld : public ServerKeys {
 public:
  /// The scripted server, with more words behind its command.
  ServerWorld& scripted(const std::string& kind, const std::string& words = "") {
    set("server.kind", kind).set("server.version", "0.30.0").set("server.model", "m");
    set("server.command", std::string(KVSWEEP_PYTHON) +
                              " tests/server/scripted_server.py --port {port} --kind " + kind +
                              ' ' + words);
    return *this;
  }

  /// The real llama-server of a sandbox, with more words behind its command; false where there is
  /// none.
  bool llama(const std::string& words);

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string log() const { return file("server.log"); }

  sweep::CellResult run() {
    worker::Profiles profiles("sweeps");
    const worker::BoundCell bound = worker::bind(params(), "server", 42, profiles);
    return worker::run_experiment(bound.config, workloads_, executor_, {{}, {}, log()});
  }
  server::ServerConfig config() const {
    worker::Profiles profiles("sweeps");
    return *worker::bind(params(), "server", 42, profiles).config.server;
  }
  /// Starts of scripted servers that stand in the log.
  int starts() const;
  /// As if the next cell came to another worker.
  void forget_servers() { executor_.end_server(); }
  /// Why the cell fails; "ok" where it does not.
  std::string failure() {
    try {
      run();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "ok";
  }

 private:
  TempDir folder_;
  worker::WorkloadCache workloads_;
  worker::Executor executor_;
};

double figure(const sweep::CellResult& result, const std::string& name);
std::string note(const sweep::CellResult& result, const std::string& name);
/// In every row of a cell the times are in the order of events.
void check_times(const sweep::CellResult& cell);

}  // namespace support
