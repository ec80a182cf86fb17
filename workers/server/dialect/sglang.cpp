// SGLang, by its own route /generate.
#include "workers/server/dialect/json_parts.hpp"
#include "workers/server/dialect/kinds.hpp"

namespace server {
namespace {

using nlohmann::json;

class SgLang final : public Dialect {
 public:
  std::string turn_path() const override { return "/generate"; }

  std::string turn_body(const TurnCall& turn, const ServerConfig& config) const override {
    json body{{"stream", true}, {"rid", turn.job_id + "-t" + std::to_string(turn.turn)}};
    body["sampling_params"] = {
        {"max_new_tokens", turn.max_tokens}, {"ignore_eos", true}, {"temperature", 0}};
    return body_with(std::move(body), turn, config, "input_ids");
  }

  /// Counts and ids of an event are those of the answer so far.
  void take_event(std::string_view data, Answer& answer) const override {
    if (data == "[DONE]") {
      answer.closed = true;
      return;
    }
    const json event = event_of(data);
    const json meta = event.value("meta_info", json());
    const auto tokens = count_at(meta, "completion_tokens");
    if (!tokens)
      throw BadAnswer("an event of its stream has no meta_info.completion_tokens: " + shown(data));
    if (*tokens < answer.tokens)
      throw BadAnswer("its count of tokens goes from " + std::to_string(answer.tokens) + " to " +
                      std::to_string(*tokens));
    answer.tokens = *tokens;
    take_ids(event, answer);
    const json details = meta.value("cached_tokens_details", json());
    answer.prompt_tokens = count_at(meta, "prompt_tokens");
    answer.cached_tokens = count_at(meta, "cached_tokens");
    answer.host_tokens = count_at(details, "host");
    const std::int64_t device = count_at(details, "device").value_or(0),
                       host = answer.host_tokens.value_or(0),
                       storage = count_at(details, "storage").value_or(0);
    if (const int all = answer.cached_tokens.value_or(0); device + host + storage > all)
      throw BadAnswer("it reports " + std::to_string(device) + " cached tokens on the GPU, " +
                      std::to_string(host) + " in host memory and " + std::to_string(storage) +
                      " in storage, and " + std::to_string(all) + " in all");
    answer.preemptions = count_at(meta, "num_retractions");
    const json reason = meta.value("finish_reason", json());
    if (!reason.is_object()) return;
    answer.finish_reason = reason.value("type", "");
    if (answer.finish_reason == "abort")
      throw BadAnswer("it reports an error: " + shown(reason.dump()));
  }

  ServerFacts ask_facts(const Fetch& fetch, const ServerConfig&) const override {
    ServerFacts facts;
    const json info = fetched(fetch, "/get_server_info");
    facts.version = info.value("version", "");
    if (const auto pool = number_at(info, "max_total_num_tokens"))
      facts.pool = std::to_string(*pool) + " tokens";
    facts.sizes = {.kv_tokens = number_at(info, "max_total_num_tokens"),
                   .block_size = number_at(info, "page_size"),
                   .max_num_seqs = number_at(info, "max_running_requests"),
                   .max_num_batched_tokens = number_at(info, "chunked_prefill_size"),
                   .max_model_len = number_at(info, "context_length")};
    facts.models = {fetched(fetch, "/get_model_info").value("model_path", "")};
    return facts;
  }

  bool reset(const Fetch& fetch) const override { return fetch("/flush_cache", "").ok(); }
  std::string reset_needs() const override { return "no storage behind its radix cache"; }

  std::vector<std::string> required_metrics() const override {
    return {"sglang:num_running_reqs", "sglang:num_queue_reqs"};
  }

  ServerSample sample(const MetricsPage& page) const override {
    ServerSample sample;
    sample.kv_used = page.sum("sglang:token_usage");
    sample.running = page.sum("sglang:num_running_reqs");
    sample.waiting = page.sum("sglang:num_queue_reqs");
    sample.preemptions = page.sum("sglang:num_retracted_requests_total");
    sample.cached_tokens = page.sum("sglang:cached_tokens_total", "cache_source=\"device\"");
    sample.host_tokens = page.sum("sglang:cached_tokens_total", "cache_source=\"host\"");
    return sample;
  }

 private:
  static void take_ids(const json& event, Answer& answer) {
    const auto ids = event.find("output_ids");
    if (ids == event.end() || !ids->is_array()) return;
    // With --stream-output they are the new ones alone.
    if (static_cast<int>(ids->size()) == answer.tokens) answer.ids.clear();
    append_ids(*ids, answer.ids);
  }
};

}  // namespace

std::unique_ptr<Dialect> make_sglang() { return std::make_unique<SgLang>(); }

}  // namespace server
