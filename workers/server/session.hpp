#pragma once
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "workers/server/dialect/dialect.hpp"
#include "workers/server/secrets.hpp"
#include "workers/server/supervisor/supervisor.hpp"

namespace server {

/// The server, or what it answers, makes the cell fail. what() quotes the end of the server's log.
struct ServerFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The server is of another version, serves another model or has other sizes than the sweep file
/// says: so would the next one started by the same words.
struct WrongServer : ServerFailed {
  using ServerFailed::ServerFailed;
};

/// A stop was requested while the server started.
struct StartAbandoned : std::exception {
  const char* what() const noexcept override { return "abandoned while the server started"; }
};

/// This worker's resources for its server.
struct Place {
  std::string log;            // file for the server's output
  std::string devices;        // CUDA_VISIBLE_DEVICES; empty: as it is
  std::stop_token stop = {};  // of the cell that it starts for
};

/// A server that is ready: started here and owned, or reached at a URL. It has said which version
/// and model it is, and has answered prompts of several sizes.
class Session {
 public:
  /// Throws ServerFailed, WrongServer and StartAbandoned. Without config.version any version will
  /// do.
  Session(const ServerConfig& config, const Place& place);

  /// Whether this server is the one that the cell describes, with the same flags.
  bool is_for(const ServerConfig& config) const { return config.start() == config_.start(); }
  /// Empties its caches before a cell; false where only a restart does. Throws StartAbandoned.
  bool empty_caches(Reset how, const std::stop_token& stop = {});
  /// Those of the ids, which differ, that the server can be made to generate (Chain::forced).
  std::vector<engine::TokenId> forcible(const std::vector<engine::TokenId>& ids);
  bool owned() const { return process_.has_value(); }
  const std::string& url() const { return url_; }
  const Dialect& dialect() const { return *dialect_; }
  const ServerFacts& facts() const { return facts_; }
  /// The file that its scheduler writes its steps to; empty where it writes none.
  const std::string& step_log() const { return step_log_; }
  /// Whether it has a page of metrics.
  bool has_metrics() const { return has_metrics_; }
  /// Time for a dying server to end after its last answer broke off, on a busy machine.
  static constexpr std::chrono::milliseconds kUntilItsEndIsKnown{2000};
  /// Throws ServerFailed when the server's process has ended, or does within `patience`.
  void require_alive(std::chrono::milliseconds patience = {});
  /// The lines "Name: value" of every request. Their values must not be told.
  const std::vector<std::string>& headers() const { return secrets_.lines(); }
  std::string without_secrets(const std::string& text) const { return secrets_.redacted(text); }
  /// `what`, with the end of the server's log behind it, and without secrets.
  std::string with_log(const std::string& what) const;
  HttpAnswer fetch(const std::string& path, const std::optional<std::string>& body = {});

 private:
  /// Throws StartAbandoned when the cell's stop is requested meanwhile.
  HttpAnswer fetch_for(engine::Nanos longest, const std::string& path,
                       const std::optional<std::string>& body);
  void launch();
  void wait_until_ready();
  /// Starts the server again where another process has taken its port. False: it has not.
  bool moved_to_another_port();
  void check_facts();
  void check_sizes();
  void check_metrics();
  void check_step_log();
  void warm_up();
  /// The answer to a prompt of its own, `tokens` long.
  Answer ask(int tokens, std::uint64_t seed);
  /// Throws TurnFailed.
  Answer answer_of(const TurnCall& call);
  /// How many of the ids it generates, in their order, until one that it cannot.
  std::size_t forced_until(std::span<const engine::TokenId> ids);

  ServerConfig config_;
  Place place_;
  Secrets secrets_;
  std::unique_ptr<Dialect> dialect_;
  engine::WallClock clock_;
  HttpLoop http_;
  std::string url_, step_log_;
  int port_ = 0, launches_ = 0;
  std::int64_t log_start_ = 0;
  std::optional<SupervisedServer> process_;
  ServerFacts facts_;
  bool has_metrics_ = false;
  std::uint64_t probes_ = 0;
  std::map<engine::TokenId, bool> forcible_;  // ids that have been tried
};

}  // namespace server
