// What a server's events say: counts that contradict the request, and when tokens came.
#include "tests/support/catch.hpp"
#include "workers/server/arrivals.hpp"

using Catch::Matchers::Contains;
using server::Kind;

namespace {

const std::string kText = R"({"choices":[{"text":"x","finish_reason":null}]})",
                  kBlank = R"({"choices":[{"text":"","finish_reason":null}]})",
                  kEnd = R"({"choices":[{"text":"","finish_reason":"length"}]})",
                  kPing = R"({"choices":[]})";

std::string usage(const std::string& counts) {
  return R"({"choices":[],"usage":{)" + counts + "}}";
}
std::string counted(int tokens) {
  return R"({"choices":[{"text":"x"}],"usage":{"completion_tokens":)" + std::to_string(tokens) +
         "}}";
}

/// An answer whose events come 10 ms apart, to a prompt of 100 tokens.
class Heard {
 public:
  Heard(int wanted, const std::vector<std::string>& events, Kind kind = Kind::openai)
      : arrivals_(wanted) {
    const auto dialect = server::make_dialect(kind);
    int at = 0;
    for (const std::string& event : events) {
      dialect->take(event, answer_);
      arrivals_.add(answer_, std::chrono::milliseconds(10 * ++at));
    }
  }
  server::TokenTimes times() const { return arrivals_.settle(answer_); }
  bool too_many() const { return arrivals_.too_many(); }
  std::string contradiction() const { return server::contradiction(answer_, 100); }

 private:
  server::Answer answer_;
  server::Arrivals arrivals_;
};

/// What is wrong with the events, to a prompt of 100 tokens; "nothing".
std::string wrong(int wanted, const std::vector<std::string>& events, Kind kind = Kind::openai) {
  try {
    const Heard heard(wanted, events, kind);
    heard.times();
    const std::string contradiction = heard.contradiction();
    return contradiction.empty() ? "nothing" : contradiction;
  } catch (const server::BadAnswer& error) {
    return error.what();
  }
}

std::string wrong_usage(const std::string& counts) {
  return wrong(2, {kText, kText, usage(counts)});
}

int ms(engine::Nanos time) { return static_cast<int>(time / std::chrono::milliseconds(1)); }

}  // namespace

TEST_CASE("counts that contradict the request, or that are none, are told") {
  CHECK(wrong_usage(R"("prompt_tokens":100,"completion_tokens":2,"total_tokens":102)") ==
        "nothing");
  CHECK(wrong_usage(R"("prompt_tokens_details":{"cached_tokens":100})") == "nothing");
  CHECK(wrong_usage(R"("prompt_tokens_details":null,"total_tokens":null)") == "nothing");
  CHECK_THAT(wrong_usage(R"("prompt_tokens":64)"),
             Contains("it reports 64 prompt tokens, and 100 were sent: it truncated the prompt"));
  CHECK_THAT(wrong_usage(R"("prompt_tokens":101)"), Contains("it added to the prompt"));
  CHECK_THAT(wrong_usage(R"("prompt_tokens":100,"total_tokens":101)"),
             Contains("101 tokens in all"));
  CHECK_THAT(wrong_usage(R"("completion_tokens":3)"),
             Contains("it has 3 tokens, and 2 were asked"));
  CHECK_THAT(wrong_usage(R"("prompt_tokens_details":{"cached_tokens":101})"),
             Contains("101 cached tokens of a prompt of 100"));
  CHECK_THAT(wrong_usage(R"("prompt_tokens":100,"completion_tokens":2,
                            "completion_tokens_details":{"reasoning_tokens":200})"),
             Contains("reasoning_tokens as 200, more than prompt and answer have"));
  for (const char* none : {"-8", "1e300", "1000000000000", "2.5", "\"2\"", "[]", "true"}) {
    INFO(none);
    CHECK_THAT(wrong_usage(R"("prompt_tokens":)" + std::string(none)), Contains("no count"));
    CHECK_THAT(wrong_usage(R"("completion_tokens":)" + std::string(none)), Contains("no count"));
    CHECK_THAT(wrong_usage(R"("total_tokens":)" + std::string(none)), Contains("no count"));
    CHECK_THAT(
        wrong_usage(R"("prompt_tokens_details":{"cached_tokens":)" + std::string(none) + "}"),
        Contains("no count"));
  }
}

TEST_CASE("counts of SGLang and llama-server are checked as well") {
  const auto sglang = [](const std::string& counts) {
    return wrong(1, {R"({"meta_info":{"completion_tokens":1,)" + counts + "}}"}, Kind::sglang);
  };
  CHECK(sglang(R"("prompt_tokens":100,"cached_tokens":60,
                  "cached_tokens_details":{"device":40,"host":20,"storage_backend":"x"})") ==
        "nothing");
  CHECK_THAT(sglang(R"("cached_tokens":500)"), Contains("500 cached tokens"));
  CHECK_THAT(sglang(R"("cached_tokens":-1)"), Contains("no count"));
  CHECK_THAT(sglang(R"("prompt_tokens":64)"), Contains("truncated"));
  CHECK_THAT(
      sglang(R"("cached_tokens":9,"cached_tokens_details":{"host":10})"),
      Contains("0 cached tokens on the GPU, 10 in host memory and 0 in storage, and 9 in all"));
  CHECK_THAT(sglang(R"("cached_tokens":9,"cached_tokens_details":{"device":10})"),
             Contains("10 cached tokens on the GPU, "));
  CHECK_THAT(
      sglang(R"("cached_tokens":60,"cached_tokens_details":{"device":40,"host":40})"),
      Contains("40 cached tokens on the GPU, 40 in host memory and 0 in storage, and 60 in all"));
  CHECK_THAT(sglang(R"("cached_tokens":60,"cached_tokens_details":{"host":40,"storage":21})"),
             Contains("60 in all"));
  CHECK_THAT(sglang(R"("num_retractions":-1)"), Contains("no count"));
  CHECK_THAT(sglang(R"("num_retractions":100000000)"),
             Contains("100000000 preemptions of a turn of 101 tokens"));
  CHECK_THAT(sglang(R"("finish_reason":{"type":"abort","message":"no memory"})"),
             Contains("reports an error: ") && Contains("no memory"));
  const auto llama = [](const std::string& counts) {
    return wrong(1, {R"({"stop_type":"limit","tokens_predicted":1,)" + counts + "}"},
                 Kind::llamacpp);
  };
  CHECK(llama(R"("tokens_evaluated":100,"timings":{"cache_n":99})") == "nothing");
  CHECK_THAT(llama(R"("tokens_evaluated":64,"timings":{"cache_n":3})"), Contains("truncated"));
  CHECK_THAT(llama(R"("timings":{"cache_n":101})"), Contains("101 cached tokens"));
  CHECK_THAT(llama(R"("timings":{"cache_n":-1})"), Contains("no count"));
}

TEST_CASE("an error that says nothing is none") {
  for (const char* nothing : {"null", "false", "\"\"", "{}", "[]", "0"}) {
    INFO(nothing);
    const std::string event =
        R"({"error":)" + std::string(nothing) + R"(,"choices":[{"text":"x"}]})";
    CHECK(wrong(1, {event}) == "nothing");
  }
  CHECK_THAT(wrong(1, {R"({"error":{"code":500}})"}), Contains("reports an error: {\"code\":500}"));
  CHECK_THAT(wrong(1, {R"({"error":"dead"})"}), Contains("reports an error: \"dead\""));
  CHECK_THAT(wrong(1, {R"({"object":"error","message":"dead"})"}), Contains("reports an error: "));
}

TEST_CASE("an error is told in the server's words wherever it stands in an event") {
  for (const char* event :
       {R"({"detail":"dead"})", R"({"detail":[{"msg":"dead"}]})", R"({"message":"dead","code":5})",
        R"({"type":"error","x":"dead"})", R"({"errors":["dead"]})",
        R"({"choices":[{"text":"","finish_reason":"error","error":{"message":"dead"}}]})",
        R"({"choices":[{"text":"x","error":"dead"}]})",
        R"({"choices":[{"text":"dead","finish_reason":"error"}]})",
        R"({"choices":[{"text":"dead","finish_reason":"abort"}]})"}) {
    INFO(event);
    CHECK_THAT(wrong(1, {event, kText}), Contains("it reports an error: ") && Contains("dead"));
  }
  CHECK(wrong(1, {R"({"choices":[{"text":"x","error":null}],"detail":"none"})"}) == "nothing");
  const std::string long_error = R"({"detail":"\u001b)" + std::string(10'000, 'x') + "\"}";
  CHECK(wrong(1, {long_error}).size() < 400);
  CHECK_THAT(wrong(1, {long_error}), !Contains("\x1b"));
}

TEST_CASE("an answer of the chat route is told by what was received") {
  for (const char* choice : {R"({"delta":{"content":"x"}})", R"({"delta":{"tool_calls":[1]}})",
                             R"({"message":{"content":"x"}})"})
    CHECK_THAT(wrong(1, {R"({"choices":[)" + std::string(choice) + "]}"}),
               Contains("as /v1/chat/completions does") && Contains(choice));
}

TEST_CASE("ids of tokens are whole numbers from 0 to 2^31 - 1") {
  for (const char* id :
       {"-5", "1.5", "1099511627776", "2147483648", "null", "true", "\"a\"", "[1]"}) {
    INFO(id);
    const std::string told = "it sends " + std::string(id) + " as the id of a token, which is none";
    const std::string ids = '[' + std::string(id) + ']';
    CHECK_THAT(wrong(1, {R"({"choices":[{"text":"","token_ids":)" + ids + "}]}"}, Kind::vllm),
               Contains(told));
    CHECK_THAT(wrong(1, {R"({"meta_info":{"completion_tokens":1},"output_ids":)" + ids + '}'},
                     Kind::sglang),
               Contains(told));
    CHECK_THAT(wrong(1, {R"({"tokens_predicted":1,"tokens":)" + ids + '}'}, Kind::llamacpp),
               Contains(told));
  }
  CHECK(wrong(1, {R"({"choices":[{"text":"","token_ids":[2147483647]}]})"}, Kind::vllm) ==
        "nothing");
  CHECK_THAT(
      wrong(1, {R"({"choices":[{"text":"x","finish_reason":"stop"}],"usage":[1]})"}, Kind::sglang),
      !Contains("json.exception"));
  CHECK_THAT(wrong(1, {R"({"stop_type":5,"timings":{}})"}, Kind::llamacpp),
             Contains("is not as expected: {\"stop_type\":5") && !Contains("json.exception"));
}

TEST_CASE("JSON of 256 levels is read, of more is refused") {
  const auto event = [](std::size_t levels) {
    return R"({"choices":[{"text":"x"}],"x":)" + std::string(levels - 1, '[') +
           std::string(levels - 1, ']') + '}';
  };
  CHECK(wrong(1, {event(256)}) == "nothing");
  CHECK_THAT(wrong(1, {event(257)}), Contains("more than 256 levels"));
  CHECK_THAT(wrong(1, {event(1'000'000)}), Contains("more than 256 levels"));
}

TEST_CASE("tokens without text are tokens where the server's count says so, at their own times") {
  const auto times =
      Heard(4, {kText, kBlank, kText, kBlank, kPing, kPing, usage(R"("completion_tokens":4)")})
          .times();
  CHECK(times.told_apart);
  CHECK(times.events == 4);
  CHECK(ms(times.first) == 10);
  CHECK(ms(times.last) == 40);  // and not that of the count
  CHECK(times.gaps_s == std::vector<double>{0.01, 0.01, 0.01});
}

TEST_CASE("an event without text before the first token is no token, although the sum would fit") {
  const std::string count = usage(R"("completion_tokens":4)");
  for (const auto& events : {std::vector{kBlank, kText, kText, kText, count},
                             std::vector{kBlank, kBlank, kText, kText, kEnd, count},
                             std::vector{kBlank, kBlank, kBlank, kText, count}}) {
    const auto times = Heard(4, events).times();
    CHECK_FALSE(times.told_apart);
    CHECK(ms(times.first) == 10 * (1 + std::ranges::find(events, kText) - events.begin()));
  }
  CHECK(ms(Heard(2, {kBlank, kText, kBlank, usage(R"("completion_tokens":2)")}).times().first) ==
        20);
  const auto silent = Heard(2, {kBlank, kBlank, usage(R"("completion_tokens":2)")}).times();
  CHECK(silent.told_apart);  // none of its tokens has a text
  CHECK(ms(silent.first) == 10);
}

TEST_CASE("events without text are no tokens where those with text are as many as were counted") {
  const auto times =
      Heard(2, {kBlank, kText, kText, kEnd, usage(R"("completion_tokens":2)")}).times();
  CHECK(times.told_apart);
  CHECK(ms(times.first) == 20);
  CHECK(ms(times.last) == 30);
}

TEST_CASE("several tokens an event have the event's time, and their number where it is told") {
  const auto told =
      Heard(10, {counted(5), counted(10), usage(R"("completion_tokens":10)")}).times();
  CHECK(told.told_apart);
  CHECK(told.at_first == 5);
  CHECK(told.gaps_s == std::vector<double>{0.002});
  const auto not_told = Heard(10, {kText, kText, usage(R"("completion_tokens":10)")}).times();
  CHECK_FALSE(not_told.told_apart);
  CHECK(not_told.at_first == 5);
  CHECK(not_told.gaps_s == std::vector<double>{0.002});
  CHECK(ms(not_told.last) == 20);
}

TEST_CASE(
    "without a count the events must be as many as tokens, or the answer ends by its length") {
  CHECK(Heard(2, {kText, kText}).times().told_apart);
  CHECK(Heard(2, {kText, kBlank}).times().told_apart);
  CHECK_FALSE(Heard(9, {kText, kText, kEnd}).times().told_apart);
  CHECK_THAT(wrong(9, {kText, kText}),
             Contains("2 tokens, and 9 were asked for (finish_reason not"));
  CHECK_THAT(wrong(1, {usage(R"("completion_tokens":1)")}), Contains("no event of its stream"));
}

TEST_CASE("a count in the last event alone does not say what each event brought") {
  const auto times =
      Heard(
          3,
          {kText, kText, kText,
           R"({"choices":[{"text":"","finish_reason":"length"}],"usage":{"completion_tokens":3}})"})
          .times();
  CHECK(times.told_apart);
  CHECK(ms(times.last) == 30);
}

TEST_CASE("ids that are not as many as the server counts are told, and so are too many tokens") {
  const std::string ids = R"({"choices":[{"text":"","token_ids":[5,6]}]})";
  CHECK(wrong(2, {ids, usage(R"("completion_tokens":2)")}, Kind::vllm) == "nothing");
  CHECK_THAT(wrong(3, {ids, usage(R"("completion_tokens":3)")}, Kind::vllm),
             Contains("it reports 3 tokens, and ids of 2 came"));
  CHECK(Heard(1, {ids}, Kind::vllm).too_many());
  CHECK_FALSE(Heard(2, {ids}, Kind::vllm).too_many());
}
