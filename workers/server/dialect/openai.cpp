// The OpenAI completions API, and vLLM's extensions of it.
#include <algorithm>
#include <limits>
#include <system_error>

#include "sweeps/text/text.hpp"
#include "workers/server/dialect/json_parts.hpp"
#include "workers/server/dialect/kinds.hpp"

namespace server {
namespace {

using nlohmann::json;

class OpenAi : public Dialect {
 public:
  std::string turn_body(const TurnCall& turn, const ServerConfig& config) const override {
    return body_with(fields_of(turn, config), turn, config, "prompt");
  }

  void take_event(std::string_view data, Answer& answer) const override {
    if (data == "[DONE]") {
      answer.closed = true;
      return;
    }
    const json event = event_of(data);
    const auto choices = event.find("choices");
    const json usage = event.value("usage", json());
    take_usage(usage, answer);
    if (choices != event.end() && choices->is_array() && !choices->empty())
      take_choice(choices->front(), count_at(usage, "completion_tokens"), answer);
  }

  ServerFacts ask_facts(const Fetch& fetch, const ServerConfig&) const override {
    ServerFacts facts;
    facts.models = listed_models(fetch);
    return facts;
  }
  std::string health_path() const override { return "/v1/models"; }
  bool reset(const Fetch&) const override { return false; }

 protected:
  virtual json fields_of(const TurnCall& turn, const ServerConfig& config) const {
    json body{{"max_tokens", turn.max_tokens},
              {"temperature", 0},
              {"seed", 1},
              {"ignore_eos", true},
              {"stream", true},
              {"stream_options", {{"include_usage", true}}}};
    if (!config.model.empty()) body["model"] = config.model;
    return body;
  }

  /// Takes the ids of a choice's tokens; false where it has none.
  virtual bool take_ids(const json&, Answer&) const { return false; }

 private:
  /// `count`: of the tokens so far, where the event tells it.
  void take_choice(const json& choice, std::optional<int> count, Answer& answer) const {
    if (!choice.is_object())
      throw BadAnswer("an event of its stream has a choice that is no object");
    refuse_error(choice);
    refuse_chat(choice);
    const json reason = choice.value("finish_reason", json()), text = choice.value("text", json());
    if (reason.is_string()) answer.finish_reason = reason;
    if (!take_ids(choice, answer) && count && answer.ids.empty())
      answer.tokens = std::max(answer.tokens, *count);
    if (text.is_string() && !text.get_ref<const std::string&>().empty())
      ++answer.texts;
    else if (choice.contains("text"))
      ++(reason.is_string() ? answer.blank_ends : answer.blanks);
  }

  /// A chunk of /v1/chat/completions in place of one of /v1/completions.
  static void refuse_chat(const json& choice) {
    const json delta = choice.value("delta", json::object());
    const bool has_content = std::ranges::any_of(delta.items(), [](const auto& each) {
      return each.key() != "role" && !each.value().empty();
    });
    if (!choice.contains("text") && (has_content || choice.contains("message")))
      throw BadAnswer(
          "it answers as /v1/chat/completions does, without the \"text\" of "
          "/v1/completions: " +
          shown(choice.dump()));
  }

  static void take_usage(const json& usage, Answer& answer) {
    if (!usage.is_object()) return;
    const json details = usage.value("prompt_tokens_details", json());
    const auto most = std::int64_t{number_at(usage, "prompt_tokens").value_or(kNoLimit)} +
                      number_at(usage, "completion_tokens").value_or(kNoLimit);
    refuse_impossible(usage, most);
    take(answer.prompt_tokens, count_at(usage, "prompt_tokens"));
    take(answer.reported_tokens, count_at(usage, "completion_tokens"));
    take(answer.total_tokens, count_at(usage, "total_tokens"));
    take(answer.cached_tokens, count_at(details, "cached_tokens"));
  }
  static void take(std::optional<int>& kept, std::optional<int> given) {
    if (given) kept = given;
  }

  /// Counts of tokens, also those of details, are none above `most`, all of the prompt and of the
  /// answer. The total is checked at the end: some servers send that of the end from the start on.
  static void refuse_impossible(const json& counts, std::int64_t most) {
    for (const auto& [key, value] : counts.items()) {
      if (value.is_object()) refuse_impossible(value, most);
      if (!key.ends_with("_tokens") || count_at(counts, key.c_str()).value_or(0) <= most) continue;
      if (key != "total_tokens" && key != "cached_tokens")
        throw BadAnswer("it reports " + key + " as " + value.dump() +
                        ", more than prompt and answer have");
    }
  }

  static constexpr int kNoLimit = std::numeric_limits<int>::max();
};

/// As analysis/python/kvsweep_forced.py reads them, which runs within the server.
std::string words_of(std::span<const engine::TokenId> ids) {
  std::string words;
  for (const engine::TokenId id : ids) words += (words.empty() ? "" : " ") + std::to_string(id);
  return words;
}

/// The KV pool as the metrics tell it. Block 0 is the null block, which holds no tokens.
EngineSizes pool_of(const HttpAnswer& answer) {
  if (!answer.ok()) return {};
  const MetricsPage page(answer.body);
  const std::string name = "vllm:cache_config_info";
  const auto blocks = sweep::number_from<std::int64_t>(page.label(name, "num_gpu_blocks"));
  EngineSizes sizes;
  sizes.block_size = sweep::number_from<std::int64_t>(page.label(name, "block_size"));
  if (blocks && sizes.block_size) sizes.kv_tokens = (*blocks - 1) * *sizes.block_size;
  return sizes;
}

std::optional<std::int64_t> longest_of(const json& models) {
  const json list = models.value("data", json::array());
  if (!list.is_array() || list.empty()) return std::nullopt;
  return number_at(list.front(), "max_model_len");
}

class Vllm final : public OpenAi {
 public:
  std::string health_path() const override { return "/health"; }

  ServerFacts ask_facts(const Fetch& fetch, const ServerConfig&) const override {
    ServerFacts facts;
    facts.models = listed_models(fetch);
    facts.sizes = pool_of(fetch("/metrics", std::nullopt));
    facts.sizes.max_model_len = longest_of(fetched(fetch, "/v1/models"));
    if (const auto tokens = facts.sizes.kv_tokens)
      facts.pool = std::to_string(*tokens) + " tokens in blocks of " +
                   std::to_string(*facts.sizes.block_size);
    facts.version = fetched(fetch, "/version").value("version", "");
    return facts;
  }

  /// Answers 200 even when it failed.
  bool reset(const Fetch& fetch) const override {
    return fetch("/reset_prefix_cache?reset_external=true", "").ok();
  }
  std::string reset_needs() const override {
    return "VLLM_SERVER_DEV_MODE=1 and --enable-prompt-tokens-details";
  }

  std::vector<std::string> required_metrics() const override {
    return {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"};
  }

  ServerSample sample(const MetricsPage& page) const override {
    ServerSample sample;
    sample.kv_used = page.sum("vllm:kv_cache_usage_perc");
    sample.running = page.sum("vllm:num_requests_running");
    sample.waiting = page.sum("vllm:num_requests_waiting");
    sample.preemptions = page.sum("vllm:num_preemptions_total");
    const std::string by_source = "vllm:prompt_tokens_by_source_total";
    sample.cached_tokens = page.sum(by_source, "source=\"local_cache_hit\"");
    sample.host_tokens = page.sum(by_source, "source=\"external_kv_transfer\"");
    sample.forwards = page.sum("vllm:iteration_tokens_total_count");
    return sample;
  }

 protected:
  json fields_of(const TurnCall& turn, const ServerConfig& config) const override {
    json body = OpenAi::fields_of(turn, config);
    body["min_tokens"] = turn.max_tokens;
    body["return_token_ids"] = true;
    if (!turn.forced.empty()) body["vllm_xargs"]["kvsweep_forced"] = words_of(turn.forced);
    body["request_id"] = turn.job_id + "-t" + std::to_string(turn.turn);
    return body;
  }

  bool take_ids(const json& choice, Answer& answer) const override {
    const auto ids = choice.find("token_ids");
    if (ids == choice.end() || !ids->is_array()) return false;
    append_ids(*ids, answer.ids);
    answer.tokens += static_cast<int>(ids->size());
    return true;
  }
};

}  // namespace

std::unique_ptr<Dialect> make_openai() { return std::make_unique<OpenAi>(); }
std::unique_ptr<Dialect> make_vllm() { return std::make_unique<Vllm>(); }

}  // namespace server
