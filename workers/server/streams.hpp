#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workers/server/dialect/dialect.hpp"

namespace server {

/// A turn's answer was refused, broken, short or late; what() says which turn and why.
struct TurnFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A turn whose last token has come. Times are those of the clock of the HTTP loop.
struct EndedTurn {
  std::uint64_t tag = 0;
  Answer answer;
  engine::Nanos sent{0}, first_token{0}, last_token{0};
};

/// The turns in flight. A time is that of the arrival of the bytes with the token.
class TurnStreams {
 public:
  /// All references must outlive this.
  TurnStreams(HttpLoop& http, const Dialect& dialect, const ServerConfig& config, std::string url);
  ~TurnStreams();

  void start(const TurnCall& call, std::uint64_t tag, engine::Nanos now);
  /// The turns that have ended since the last call. Throws TurnFailed for the first that failed.
  std::vector<EndedTurn> take_ended();
  /// Throws TurnFailed when a turn has received nothing for config.silent_s.
  void check_silence(engine::Nanos now) const;
  /// Seconds between events with tokens, per token; over all turns.
  const std::vector<double>& token_gaps_s() const { return token_gaps_s_; }
  std::int64_t token_events() const { return token_events_; }

 private:
  class Stream;
  void end(Stream& stream);

  HttpLoop& http_;
  const Dialect& dialect_;
  const ServerConfig& config_;
  std::string url_;
  std::map<std::uint64_t, std::unique_ptr<Stream>> streams_;  // by tag
  std::vector<EndedTurn> ended_;
  std::string failure_;
  std::vector<double> token_gaps_s_;
  std::int64_t token_events_ = 0;
};

}  // namespace server
