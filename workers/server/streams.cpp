#include "workers/server/streams.hpp"

#include <utility>

namespace server {

using engine::Nanos;

class TurnStreams::Stream final : public HttpHandler {
 public:
  Stream(TurnStreams& all, const TurnCall& call, std::uint64_t tag, Nanos now)
      : all_(all),
        name_("turn " + std::to_string(call.turn + 1) + " of job " + call.job_id),
        wanted_(call.max_tokens),
        last_heard_(now) {
    turn_.tag = tag;
    turn_.sent = now;
  }

  void on_bytes(int status, std::string_view bytes, Nanos at) override {
    last_heard_ = at;
    begun_ = true;
    bytes_ += bytes.size();
    if (status != 200) {
      refusal_.body += bytes;
      return;
    }
    if (!problem_.empty()) return;
    try {
      events_.feed(bytes, [&](std::string_view data) { take(data, at); });
    } catch (const std::exception& error) {
      problem_ = error.what();
    }
  }

  void on_end(const HttpEnd& end, Nanos) override {
    refusal_.end = end;
    if (end.status != 200 && end.error.empty()) problem_ = refusal_.problem();
    const bool stopped = end.status == 200 && (!turn_.answer.closed || !end.error.empty());
    if (problem_.empty() && stopped)
      problem_ = "the stream stopped after " + std::to_string(turn_.answer.tokens) + " of " +
                 std::to_string(wanted_) + " tokens, " + std::to_string(bytes_) + " bytes" +
                 (end.error.empty() ? "" : ": " + end.error);
    if (problem_.empty() && !end.error.empty()) problem_ = end.error;
    if (problem_.empty() && turn_.answer.tokens != wanted_)
      problem_ = "it has " + std::to_string(turn_.answer.tokens) + " tokens, and " +
                 std::to_string(wanted_) + " were asked for (finish_reason " +
                 turn_.answer.finish_reason + ')';
    all_.end(*this);
  }

  HttpLoop::Id id = 0;
  const std::string& name() const { return name_; }
  const std::string& problem() const { return problem_; }
  Nanos last_heard() const { return last_heard_; }
  bool has_begun() const { return begun_; }
  EndedTurn& turn() { return turn_; }

 private:
  void take(std::string_view data, Nanos at) {
    const int before = turn_.answer.tokens;
    all_.dialect_.take(data, turn_.answer);
    const int tokens = turn_.answer.tokens - before;
    if (tokens <= 0) return;
    ++all_.token_events_;
    if (before == 0) {
      turn_.first_token = at;
    } else {
      all_.token_gaps_s_.push_back(engine::to_seconds(at - turn_.last_token) / tokens);
    }
    turn_.last_token = at;
  }

  TurnStreams& all_;
  std::string name_;
  int wanted_;
  Nanos last_heard_;
  bool begun_ = false;
  std::size_t bytes_ = 0;
  SseParser events_;
  EndedTurn turn_;
  HttpAnswer refusal_;
  std::string problem_;
};

TurnStreams::TurnStreams(HttpLoop& http, const Dialect& dialect, const ServerConfig& config,
                         std::string url)
    : http_(http), dialect_(dialect), config_(config), url_(std::move(url)) {}

TurnStreams::~TurnStreams() {
  for (const auto& [tag, stream] : streams_) http_.cancel(stream->id);
}

void TurnStreams::start(const TurnCall& call, std::uint64_t tag, Nanos now) {
  auto stream = std::make_unique<Stream>(*this, call, tag, now);
  stream->id =
      http_.start({url_ + dialect_.turn_path(), dialect_.turn_body(call, config_), true}, *stream);
  streams_.emplace(tag, std::move(stream));
}

void TurnStreams::end(Stream& stream) {
  if (!stream.problem().empty() && failure_.empty())
    failure_ = stream.name() + ": " + stream.problem();
  ended_.push_back(std::move(stream.turn()));
}

std::vector<EndedTurn> TurnStreams::take_ended() {
  for (const EndedTurn& each : ended_) streams_.erase(each.tag);
  if (!failure_.empty()) throw TurnFailed(failure_);
  return std::exchange(ended_, {});
}

void TurnStreams::check_silence(Nanos now) const {
  for (const auto& [tag, stream] : streams_) {
    const double silent_s = engine::to_seconds(now - stream->last_heard());
    if (silent_s <= config_.silent_s) continue;
    const std::string what = stream->has_begun() ? "its stream has stood still for "
                                                 : "nothing received since it was sent, for ";
    throw TurnFailed(stream->name() + ": " + what + std::to_string(static_cast<int>(silent_s)) +
                     " s (server.silent_s)");
  }
}

}  // namespace server
