#pragma once
#include <algorithm>
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
  bool add(const Answer& answer, engine::Nanos at) {
    if (answer.texts > 0 && seen_[kText] == 0) {
      std::erase_if(events_,
                    [](const Event& each) { return each.kind == kBlank && each.tokens == 0; });
      early_ = seen_[kBlank];
      seen_[kBlank] = 0;
    }
    const std::array<int, 3> seen = {answer.texts, answer.blanks - early_, answer.blank_ends};
    Event event{at, answer.tokens - tokens_, kNoChoice};
    for (const Kind kind : {kText, kBlank, kBlankEnd})
      if (seen[kind] != seen_[kind]) event.kind = kind;
    tokens_ = answer.tokens;
    seen_ = seen;
    const bool brought = event.tokens > 0 || event.kind == kText;
    const bool may_be_token = event.kind != kNoChoice && seen_[event.kind] <= wanted_;
    if ((brought && !too_many()) || may_be_token) events_.push_back(event);
    return brought;
  }
  /// More has come than an answer of the wanted length can have.
  bool too_many() const { return tokens_ > wanted_ || seen_[kText] / kEventsOfAToken > wanted_; }
  /// The times of the whole answer. Throws BadAnswer for another length than the wanted.
  TokenTimes settle(const Answer& answer) const {
    const bool counted = each_text_is_counted();
    if (counted && !answer.ids.empty() && answer.reported_tokens.value_or(tokens_) != tokens_)
      throw BadAnswer("it reports " + std::to_string(*answer.reported_tokens) +
                      " tokens, and ids of " + std::to_string(tokens_) + " came");
    if (const int tokens = length(answer); tokens != wanted_ || events_.empty())
      throw BadAnswer("it has " + std::to_string(tokens) + " tokens, and " +
                      std::to_string(wanted_) + " were asked for (finish_reason " +
                      (answer.finish_reason.empty() ? "not given" : answer.finish_reason) + ')' +
                      (events_.empty() ? "; no event of its stream brought one" : ""));
    const bool exact = counted && tokens_ == wanted_;
    const Kind last = kind_that_fits();
    const bool fits = last != kNoChoice;
    const Kind most = fits ? last : seen_[kText] > 0 ? kText : kNoChoice;
    const auto holds_tokens = [&](const Event& event) {
      return exact ? event.tokens > 0 : event.kind <= most;
    };
    const auto events = std::ranges::count_if(events_, holds_tokens);
    const double each = fits ? 1 : wanted_ / static_cast<double>(events);
    TokenTimes times;
    times.told_apart = exact || fits;
    for (const Event& event : events_) {
      if (!holds_tokens(event)) continue;
      const double tokens = exact ? event.tokens : each;
      if (times.events++ == 0) {
        times.first = event.at;
        times.at_first = std::max(1.0, tokens);
      } else {
        times.gaps_s.push_back(engine::to_seconds(event.at - times.last) / tokens);
      }
      times.last = event.at;
    }
    return times;
  }

 private:
  static constexpr int kEventsOfAToken = 16;  // the most: bytes of characters, one by one

  enum Kind : std::uint8_t { kText, kBlank, kBlankEnd, kNoChoice };
  struct Event {
    engine::Nanos at;
    int tokens;  // 0: not told
    Kind kind;
  };
  bool each_text_is_counted() const {
    return tokens_ > 0 && std::ranges::none_of(events_, [](const Event& event) {
             return event.kind == kText && event.tokens == 0;
           });
  }
  /// The tokens that the answer has.
  int length(const Answer& answer) const {
    if (answer.reported_tokens) return *answer.reported_tokens;
    if (each_text_is_counted()) return tokens_;
    const bool full = answer.finish_reason == "length" && seen_[kText] > 0;
    return full || kind_that_fits() != kNoChoice ? wanted_ : seen_[kText];
  }
  /// The kind up to which as many events came as tokens are wanted; kNoChoice: there is none.
  Kind kind_that_fits() const {
    int events = 0;
    for (const Kind kind : {kText, kBlank, kBlankEnd})
      if ((events += seen_[kind]) == wanted_) return kind;
    return kNoChoice;
  }

  int wanted_;
  std::vector<Event> events_;
  int tokens_ = 0;
  std::array<int, 3> seen_{};  // events of each kind
  int early_ = 0;              // without text, before the first with text: no tokens
};

}  // namespace server
