#include "workers/server/streams.hpp"

#include <algorithm>
#include <utility>

namespace server {

using engine::Nanos;

class TurnStreams::Stream final : public HttpHandler {
 public:
  Stream(TurnStreams& all, const TurnCall& call, std::uint64_t tag, Nanos now, Nanos patience)
      : all_(all),
        name_("turn " + std::to_string(call.turn + 1) + " of job " + call.job_id),
        sent_tokens_(static_cast<int>(call.prompt.size())),
        wanted_(call.max_tokens),
        last_token_(now),
        patience_(patience),
        arrivals_(call.max_tokens) {
    turn_.tag = tag;
    turn_.sent = now;
  }

  bool on_bytes(int status, std::string_view bytes, Nanos at) override {
    if (closed_) return true;
    if (begin_.size() <= kMostBegin) begin_ += bytes.substr(0, kMostBegin + 1 - begin_.size());
    bytes_ += bytes.size();
    bytes_since_token_ += bytes.size();
    if (status != 200) {
      refused_.emplace(refused_.value_or(at));
      return refusal_.add(status, bytes);
    }
    try {
      events_.feed(bytes, [&](std::string_view data) { take(data, at); });
    } catch (const std::exception& error) {
      problem_ = error.what();
    }
    if (problem_.empty() && turn_.answer.closed) {  // the connection may stay open
      closed_ = at;
      end({status, ""});
    }
    return problem_.empty();
  }

  void on_end(const HttpEnd& with, Nanos) override {
    if (!closed_) end(with);
    over_ = true;
  }

  /// The connection has ended, or does not although its answer has.
  bool is_over(Nanos now) const {
    constexpr Nanos kForEnd = std::chrono::seconds(1);
    return over_ || (closed_ && now - *closed_ > kForEnd);
  }

  /// Why it is not waited for any longer; empty where it is.
  std::string impatience(Nanos now, Nanos silent) const {
    constexpr Nanos kForReasons = std::chrono::seconds(5);  // of a refusal
    if (closed_) return {};
    if (refused_ && now - *refused_ > std::min(silent, kForReasons)) return refusal_.problem();
    const Nanos waited = now - last_token_;
    if (waited <= (bytes_ == 0 ? std::max(silent, patience_) : silent)) return {};
    const std::string for_s =
        std::to_string(waited / std::chrono::seconds(1)) + " s (server.silent_s)";
    if (bytes_ == 0) return "nothing received since it was sent, for " + for_s;
    return "no token for " + for_s + ' ' + progress() + "; " + std::to_string(bytes_since_token_) +
           " bytes came without one" + not_events();
  }

  TurnFailed failure(const std::string& problem) const {
    return {name_ + ": " + problem, turn_.answer.tokens};
  }
  const std::string& problem() const { return problem_; }
  const TokenTimes& times() const { return times_; }
  EndedTurn& turn() { return turn_; }

 private:
  static constexpr std::size_t kMostBegin = 300;  // shown of what is no stream of events

  void end(const HttpEnd& with) {
    refusal_.close(with);
    if (problem_.empty()) problem_ = problem_at(with);
    all_.end(*this);
  }

  void take(std::string_view data, Nanos at) {
    const Answer& answer = turn_.answer;
    heard_ = true;
    if (answer.closed) return;  // nothing belongs to it behind its end
    all_.dialect_.take(data, turn_.answer);
    if (arrivals_.add(answer, at)) {
      last_token_ = at;
      bytes_since_token_ = 0;
    }
    if (arrivals_.too_many())
      throw BadAnswer("it sends more tokens than the " + std::to_string(wanted_) +
                      " that were asked for");
  }

  std::string progress() const {
    return "after " + std::to_string(std::max(turn_.answer.tokens, turn_.answer.texts)) + " of " +
           std::to_string(wanted_) + " tokens";
  }

  /// The text that came in place of events; empty where events came.
  std::string not_events() const {
    return heard_ ? "" : "; no event is in it: " + shown(begin_, kMostBegin);
  }

  /// The problem of an answer that has ended; empty where there is none, and its times are known.
  std::string problem_at(const HttpEnd& end) {
    if (end.status != 200) return refusal_.problem();
    if (!turn_.answer.closed)
      return "the stream stopped " + progress() + ", " + std::to_string(bytes_) +
             " bytes, without the " + all_.dialect_.closing() + " that closes it" +
             (heard_ && events_.inside_event() ? ": no empty line ends its last event" : "") +
             (end.error.empty() ? "" : ": " + end.error) + not_events();
    try {
      const std::string wrong = contradiction(turn_.answer, sent_tokens_);
      if (!wrong.empty()) return wrong;
      times_ = arrivals_.settle(turn_.answer);
    } catch (const BadAnswer& error) {
      return error.what();
    }
    turn_.answer.tokens = wanted_;
    turn_.first_token = times_.first;
    turn_.last_token = times_.last;
    turn_.tokens_at_first = times_.at_first;
    return {};
  }

  TurnStreams& all_;
  std::string name_;
  int sent_tokens_, wanted_;
  Nanos last_token_, patience_;  // before any token: when it was sent
  std::size_t bytes_ = 0, bytes_since_token_ = 0;
  std::string begin_;   // of all that came
  bool heard_ = false;  // an event
  std::optional<Nanos> refused_, closed_;
  bool over_ = false;
  SseParser events_;
  Arrivals arrivals_;
  TokenTimes times_;
  EndedTurn turn_;
  HttpAnswer refusal_;
  std::string problem_;
};

TurnStreams::TurnStreams(HttpLoop& http, const Dialect& dialect, const ServerConfig& config,
                         std::string url)
    : http_(http), dialect_(dialect), config_(config), url_(std::move(url)) {}

TurnStreams::~TurnStreams() {
  for (const auto& [id, stream] : streams_) http_.cancel(id);
}

void TurnStreams::start(const TurnCall& call, std::uint64_t tag, Nanos now, Nanos patience) {
  auto stream = std::make_unique<Stream>(*this, call, tag, now, patience);
  const HttpLoop::Id id =
      http_.start({url_ + dialect_.turn_path(), dialect_.turn_body(call, config_), true}, *stream);
  streams_.emplace(id, std::move(stream));
}

void TurnStreams::end(Stream& stream) {
  if (!stream.problem().empty() && !failure_) failure_ = stream.failure(stream.problem());
  const TokenTimes& times = stream.times();
  token_gaps_s_.insert(token_gaps_s_.end(), times.gaps_s.begin(), times.gaps_s.end());
  token_events_ += times.events;
  untold_ += times.told_apart ? 0 : 1;
  ended_.push_back(std::move(stream.turn()));
}

std::vector<EndedTurn> TurnStreams::take_ended() {
  if (failure_) throw TurnFailed(*failure_);
  return std::exchange(ended_, {});
}

void TurnStreams::check_silence(Nanos now) {
  std::erase_if(streams_, [&](const auto& each) {
    if (!each.second->is_over(now)) return false;
    http_.cancel(each.first);
    return true;
  });
  for (const auto& [id, stream] : streams_) {
    const std::string why = stream->impatience(now, engine::from_seconds(config_.silent_s));
    if (!why.empty()) throw stream->failure(why);
  }
}

}  // namespace server
