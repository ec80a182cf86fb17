// llama-server of llama.cpp, by its own route, which sends the id of every token.
#include <algorithm>

#include "workers/server/dialect/json_parts.hpp"
#include "workers/server/dialect/kinds.hpp"

namespace server {
namespace {

using nlohmann::json;

/// A grammar that allows these tokens and nothing else.
std::string grammar_of(std::span<const engine::TokenId> ids) {
  std::string rule = "root ::=";
  for (const engine::TokenId id : ids) rule += " <[" + std::to_string(id) + "]>";
  return rule;
}

bool has_word(const ServerConfig& config, std::string_view one, std::string_view other) {
  return std::ranges::any_of(config.command,
                             [&](const std::string& word) { return word == one || word == other; });
}

/// Tokens that stand for part of a character wait for those behind them, and their ids are not
/// sent.
void grow(Answer& answer, int tokens) {
  constexpr int kMostAtOnce = 100'000;
  if (tokens < answer.tokens || tokens > answer.tokens + kMostAtOnce)
    throw BadAnswer("its count of tokens goes from " + std::to_string(answer.tokens) + " to " +
                    std::to_string(tokens));
  answer.tokens = tokens;
  answer.ids.resize(static_cast<std::size_t>(tokens), kUnknownToken);
}

class LlamaCpp final : public Dialect {
 public:
  std::string turn_path() const override { return "/completion"; }

  std::string turn_body(const TurnCall& turn, const ServerConfig& config) const override {
    json body{{"n_predict", turn.max_tokens},
              {"ignore_eos", true},
              {"cache_prompt", true},
              {"temperature", 0},
              {"seed", 1},
              {"stream", true},
              {"return_tokens", true}};
    // Fields of the last event, which would otherwise repeat the prompt as text.
    body["response_fields"] = {"stop", "stop_type", "tokens_predicted", "tokens_evaluated",
                               "timings"};
    if (!turn.forced.empty()) body["grammar"] = grammar_of(turn.forced);
    return body_with(std::move(body), turn, config, "prompt");
  }

  std::string closing() const override { return "event with stop_type"; }

  /// Its grammars let no token through that stands for part of a character or ends a text.
  bool forces_every_token() const override { return false; }

  /// The stream ends with an event of its own and without [DONE].
  void take_event(std::string_view data, Answer& answer) const override {
    const json event = event_of(data);
    const auto timings = event.find("timings");
    const auto reason = event.find("stop_type");
    if (reason != event.end() && timings != event.end()) {
      answer.closed = true;
      if (const auto tokens = count_at(event, "tokens_predicted")) grow(answer, *tokens);
      answer.finish_reason = *reason;
      answer.prompt_tokens = count_at(event, "tokens_evaluated");
      answer.cached_tokens = count_at(*timings, "cache_n");
      return;
    }
    const auto ids = event.find("tokens");
    const auto tokens = count_at(event, "tokens_predicted");
    if (ids == event.end() || !ids->is_array() || !tokens)
      throw BadAnswer("an event of its stream has no tokens: " + shown(data));
    grow(answer, *tokens - static_cast<int>(ids->size()));
    answer.tokens = *tokens;
    append_ids(*ids, answer.ids);
  }

  /// Slots of a unified pool (-kvu) report the whole of it, others their own part.
  ServerFacts ask_facts(const Fetch& fetch, const ServerConfig& config) const override {
    const json props = fetched(fetch, "/props");
    ServerFacts facts;
    facts.version = props.value("build_info", "");
    facts.models = {props.value("model_path", "")};
    const std::string alias = props.value("model_alias", "");
    if (!alias.empty() && alias != facts.models.front()) facts.models.push_back(alias);
    const auto context = number_at(props.value("default_generation_settings", json()), "n_ctx");
    const auto slots = number_at(props, "total_slots");
    if (!context || !slots) return facts;
    const bool unified = has_word(config, "-kvu", "--kv-unified");
    const std::string shared =
        config.url.empty() ? (unified ? "for" : "in each of") : "for, or in each of,";
    facts.pool =
        std::to_string(*context) + " tokens " + shared + ' ' + std::to_string(*slots) + " slots";
    facts.sizes.max_num_seqs = *slots;
    if (config.url.empty()) facts.sizes.kv_tokens = std::int64_t{*context} * (unified ? 1 : *slots);
    return facts;
  }

  /// Slots can be erased where they can be saved; prompts in host memory stay.
  bool reset(const Fetch& fetch) const override {
    const auto slots = number_at(fetched(fetch, "/props"), "total_slots").value_or(0);
    for (int slot = 0; slot < slots; ++slot)
      if (!fetch("/slots/" + std::to_string(slot) + "?action=erase", "").ok()) return false;
    return slots > 0;
  }
  std::string reset_needs() const override { return "--slot-save-path DIR and -cram 0"; }
  /// A slot's prompt goes to host memory when another prompt takes the slot.
  int prompts_to_displace(const ServerFacts& facts) const override {
    return static_cast<int>(facts.sizes.max_num_seqs.value_or(0));
  }

  std::vector<std::string> required_metrics() const override {
    return {"llamacpp:requests_processing", "llamacpp:requests_deferred"};
  }

  ServerSample sample(const MetricsPage& page) const override {
    ServerSample sample;
    sample.running = page.sum("llamacpp:requests_processing");
    sample.waiting = page.sum("llamacpp:requests_deferred");
    sample.cached_tokens = page.sum("llamacpp:prompt_tokens_cached_total");
    sample.forwards = page.sum("llamacpp:n_decode_total");
    return sample;
  }
};

}  // namespace

std::unique_ptr<Dialect> make_llamacpp() { return std::make_unique<LlamaCpp>(); }

}  // namespace server
