#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workers/server/arrivals.hpp"

namespace server {

/// A turn's answer was refused, broken, short or late; what() says which turn and why.
struct TurnFailed : std::runtime_error {
  TurnFailed(const std::string& what, int received) : runtime_error(what), tokens(received) {}
  int tokens;  // that came before
};

/// A turn whose answer is whole. Times are those of the clock of the HTTP loop.
struct EndedTurn {
  std::uint64_t tag = 0;
  Answer answer;
  engine::Nanos sent{0}, first_token{0}, last_token{0};
  double tokens_at_first = 1;  // that came together first
};

/// The turns in flight. A time is that of the arrival of the bytes with the token. What is wrong
/// with a stream ends it at once. A turn ends with the last event of its answer.
class TurnStreams {
 public:
  /// All references must outlive this.
  TurnStreams(HttpLoop& http, const Dialect& dialect, const ServerConfig& config, std::string url);
  ~TurnStreams();

  /// `patience`: for its first byte, where that is longer than config.silent_s.
  void start(const TurnCall& call, std::uint64_t tag, engine::Nanos now,
             engine::Nanos patience = {});
  /// The turns that have ended since the last call. Throws TurnFailed for the first that failed.
  std::vector<EndedTurn> take_ended();
  /// Throws TurnFailed when a turn has received no token for config.silent_s, whatever else came.
  /// Closes connections that stay open behind an answer.
  void check_silence(engine::Nanos now);
  /// Seconds between events with tokens, per token; over all turns.
  const std::vector<double>& token_gaps_s() const { return token_gaps_s_; }
  std::int64_t token_events() const { return token_events_; }
  /// Turns of whose events only the sum of tokens is known.
  int untold() const { return untold_; }

 private:
  class Stream;
  void end(Stream& stream);

  HttpLoop& http_;
  const Dialect& dialect_;
  const ServerConfig& config_;
  std::string url_;
  std::map<HttpLoop::Id, std::unique_ptr<Stream>> streams_;  // by exchange
  std::vector<EndedTurn> ended_;
  std::optional<TurnFailed> failure_;
  std::vector<double> token_gaps_s_;
  std::int64_t token_events_ = 0;
  int untold_ = 0;
};

}  // namespace server
