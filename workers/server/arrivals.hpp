#pragma once
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
/// tokens there are is the server's count, which it may tell at the end alone. Where events do not
/// tell what they bring, those with text bring the tokens, or all where none has a text.
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
  struct Event {
    engine::Nanos at;
    int tokens;  // 0: not told
    bool has_text;
  };
  /// Every event with text tells its tokens.
  bool is_counted() const;
  /// Events that bring the tokens, where they do not tell how many.
  int bringing() const { return texts_ > 0 ? texts_ : blanks_; }
  /// The tokens that the answer has.
  int length(const Answer& answer) const;

  int wanted_;
  std::vector<Event> events_;
  int tokens_ = 0, texts_ = 0, blanks_ = 0;  // so far, as in Answer
};

}  // namespace server
