#include "workers/server/arrivals.hpp"

#include <algorithm>

namespace server {
namespace {

constexpr int kEventsOfAToken = 16;  // the most: bytes of characters, one by one

}  // namespace

bool Arrivals::add(const Answer& answer, engine::Nanos at) {
  const Event event{at, answer.tokens - tokens_, answer.texts > texts_};
  const bool brought = event.tokens > 0 || event.has_text;
  const bool may_be_token = answer.blanks > blanks_ && answer.blanks <= wanted_;
  tokens_ = answer.tokens;
  texts_ = answer.texts;
  blanks_ = answer.blanks;
  if ((brought && !too_many()) || may_be_token) events_.push_back(event);
  return brought;
}

bool Arrivals::too_many() const { return tokens_ > wanted_ || texts_ / kEventsOfAToken > wanted_; }

bool Arrivals::is_counted() const {
  return tokens_ > 0 && std::ranges::none_of(events_, [](const Event& event) {
           return event.has_text && event.tokens == 0;
         });
}

int Arrivals::length(const Answer& answer) const {
  if (answer.reported_tokens) return *answer.reported_tokens;
  if (is_counted()) return tokens_;
  return answer.finish_reason == "length" && bringing() > 0 ? wanted_ : bringing();
}

TokenTimes Arrivals::settle(const Answer& answer) const {
  const bool counted = is_counted();
  if (counted && !answer.ids.empty() && answer.reported_tokens.value_or(tokens_) != tokens_)
    throw BadAnswer("it reports " + std::to_string(*answer.reported_tokens) +
                    " tokens, and ids of " + std::to_string(tokens_) + " came");
  if (const int tokens = length(answer); tokens != wanted_ || events_.empty())
    throw BadAnswer("it has " + std::to_string(tokens) + " tokens, and " + std::to_string(wanted_) +
                    " were asked for (finish_reason " +
                    (answer.finish_reason.empty() ? "not given" : answer.finish_reason) + ')' +
                    (events_.empty() ? "; no event of its stream brought one" : ""));
  const bool exact = counted && tokens_ == wanted_;
  const auto holds_tokens = [&](const Event& event) {
    return exact ? event.tokens > 0 : event.has_text || texts_ == 0;
  };
  const auto events = std::ranges::count_if(events_, holds_tokens);
  const double each = wanted_ / static_cast<double>(events);
  TokenTimes times;
  times.told_apart = exact || events == wanted_;
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

}  // namespace server
