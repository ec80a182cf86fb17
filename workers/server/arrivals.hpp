#pragma once
#include <array>
#include <vector>

#include "workers/server/dialect/dialect.hpp"

namespace server {

/// When the tokens of an answer came.
struct TokenTimes {
  engine::Nanos first{0}, last{0};
  double at_first = 1;         // tokens that came together first
  std::vector<double> gaps_s;  // between events with tokens, per token
  int events = 0;              // with tokens
  bool told_apart = true;      // false: only the sum of the events' tokens is known
};

/// The events of an answer that may hold tokens. Times are those of events that came; how many
/// tokens there are is the server's count, which it may tell at the end alone.
class Arrivals {
 public:
  explicit Arrivals(int wanted) : wanted_(wanted) {}

  /// Called after each event, with the answer so far. True when tokens came for sure: an event
  /// without text may be one, or none.
  bool add(const Answer& answer, engine::Nanos at);
  /// More has come than an answer of the wanted length can have.
  bool too_many() const;
  /// The times of the whole answer. Throws BadAnswer for another length than the wanted.
  TokenTimes settle(const Answer& answer) const;

 private:
  enum Kind : std::uint8_t { kText, kBlank, kBlankEnd, kNoChoice };
  struct Event {
    engine::Nanos at;
    int tokens;  // 0: not told
    Kind kind;
  };
  bool each_text_is_counted() const;
  /// The tokens that the answer has.
  int length(const Answer& answer) const;
  /// The kind up to which as many events came as tokens are wanted; kNoChoice: there is none.
  Kind kind_that_fits() const;

  int wanted_;
  std::vector<Event> events_;
  int tokens_ = 0;
  std::array<int, 3> seen_{};  // events of each kind
  int early_ = 0;              // without text, before the first with text: no tokens
};

}  // namespace server
