#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workers/engine/base/ids.hpp"
#include "workers/server/dialect/config.hpp"
#include "workers/server/http/bodies.hpp"
#include "workers/server/http/loop.hpp"

namespace server {

/// One turn to be requested.
struct TurnCall {
  std::string job_id;
  int job_index = 0;  // in order of arrival
  int turn = 0;
  bool last = false;
  std::string tool;    // empty: none
  double gap_s = 0;    // until the next turn
  int max_tokens = 1;  // exactly so many are wanted
  std::span<const engine::TokenId> prompt;
  std::span<const engine::TokenId> forced;  // empty: the server samples
};

/// Stands for the id of a token that the server did not send.
inline constexpr engine::TokenId kUnknownToken = std::numeric_limits<engine::TokenId>::max();

/// A turn's answer as far as received. Fields that the server does not report stay empty.
struct Answer {
  int tokens = 0;                      // that came, as far as events tell how many they bring
  int texts = 0, blanks = 0;           // events with text, and without
  int blank_ends = 0;                  // those without text that say why the answer ends
  std::vector<engine::TokenId> ids;    // of the tokens, where the server sends them
  std::optional<int> reported_tokens;  // the server's count at the end
  std::optional<int> prompt_tokens;
  std::optional<int> total_tokens;   // of prompt and answer
  std::optional<int> cached_tokens;  // prompt tokens found in its caches
  std::optional<int> host_tokens;    // those of them that came from host memory
  std::optional<int> preemptions;
  std::string finish_reason;
  bool closed = false;  // the last event has come
};

/// How a server's counts contradict the request, of `sent` prompt tokens; empty where
/// nothing does.
std::string contradiction(const Answer& answer, int sent);

/// A server's own description.
struct ServerFacts {
  std::string version;              // empty: it does not say
  std::vector<std::string> models;  // names, or the path of its weights
  std::string pool;                 // of KV, for people: "4096 tokens in each of 4 slots"
  EngineSizes sizes;                // as far as it reports them
};

/// A sample of a server's metrics; NaN where it has none.
struct ServerSample {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double kv_used = kNone;  // share of the pool
  double running = kNone, waiting = kNone;
  // Counters since the start of the server.
  double preemptions = kNone, cached_tokens = kNone, host_tokens = kNone, forwards = kNone;
};

/// Sends a request to the server and waits for the answer: a path, and a body for POST.
using Fetch =
    std::function<HttpAnswer(const std::string& path, const std::optional<std::string>& body)>;

/// The routes and messages of one kind of server.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string turn_path() const { return "/v1/completions"; }
  virtual std::string turn_body(const TurnCall& turn, const ServerConfig& config) const = 0;
  /// Takes the data of one event of a turn's stream. Throws BadAnswer.
  void take(std::string_view data, Answer& answer) const;
  /// The end of a stream, for people.
  virtual std::string closing() const { return "[DONE]"; }
  /// Whether each token of a vocabulary can be demanded (TurnCall::forced).
  virtual bool forces_every_token() const { return true; }
  virtual std::string health_path() const { return "/health"; }
  /// Throws BadAnswer when a route that this kind of server has does not answer.
  ServerFacts facts(const Fetch& fetch, const ServerConfig& config) const;
  /// Empties the server's caches; false where it cannot. The answer is not proof: probe it.
  virtual bool reset(const Fetch& fetch) const = 0;
  /// Flags that a server must be started with for reset().
  virtual std::string reset_needs() const { return {}; }
  /// So many other prompts move a prompt to the caches that reset() may miss.
  virtual int prompts_to_displace(const ServerFacts&) const { return 0; }
  /// Names that a page of metrics must have, besides which sample() may use others.
  virtual std::vector<std::string> required_metrics() const { return {}; }
  virtual ServerSample sample(const MetricsPage&) const { return {}; }

 protected:
  // May also throw exceptions of the JSON library.
  virtual void take_event(std::string_view data, Answer& answer) const = 0;
  virtual ServerFacts ask_facts(const Fetch& fetch, const ServerConfig& config) const = 0;
};

std::unique_ptr<Dialect> make_dialect(Kind kind);

}  // namespace server
