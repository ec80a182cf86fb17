#include "analysis/compare/bench_export.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/cell/statistics.hpp"

namespace analysis {
namespace {

using Values = std::vector<double>;

/// What both benchmarks say of requests. One without a last token is none that was completed.
struct Requests {
  Values ttft_ms, latency_ms, per_token_ms, prompt, output;
  double first_s = 0, last_s = 0;           // of the first request's start and the last token
  double between_ms = 0, later_tokens = 0;  // of all requests: from the first token to the last

  double duration_s() const { return last_s - first_s; }
  double count() const { return static_cast<double>(latency_ms.size()); }
};

Requests requests_of(const sweep::Table& turns) {
  const auto &arrive = turns.values<double>("t_arrive_s"),
             &first = turns.values<double>("t_first_token_s"),
             &finish = turns.values<double>("t_finish_s");
  const auto &prompt = turns.values<std::int32_t>("prompt_tok"),
             &output = turns.values<std::int32_t>("output_tok");
  Requests requests;
  for (std::size_t i = 0; i < arrive.size(); ++i) {
    if (std::isnan(finish[i])) continue;
    if (requests.latency_ms.empty()) requests.first_s = arrive[i];
    requests.first_s = std::min(requests.first_s, arrive[i]);
    requests.last_s = std::max(requests.last_s, finish[i]);
    requests.ttft_ms.push_back(1e3 * (first[i] - arrive[i]));
    requests.latency_ms.push_back(1e3 * (finish[i] - arrive[i]));
    requests.prompt.push_back(prompt[i]);
    requests.output.push_back(output[i]);
    if (output[i] < 2) continue;
    const double between_ms = 1e3 * (finish[i] - first[i]);
    requests.per_token_ms.push_back(between_ms / (output[i] - 1));
    requests.between_ms += between_ms;
    requests.later_tokens += output[i] - 1;
  }
  return requests;
}

double total_of(const Values& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// Of the values as a population, as numpy's std().
double spread_of(const Values& values) {
  const double center = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

void add_number(JsonLine& json, const char* name, const char* unit, double value) {
  json.key(name).open('{').key("unit").text(unit).key("avg").number(value).close('}');
}

void add_distribution(JsonLine& json, const char* name, const char* unit, const Values& values) {
  json.key(name).open('{').key("unit").text(unit).key("avg").number(mean(values));
  for (const int percent : {1, 5, 10, 25, 50, 75, 90, 95, 99})
    json.key("p" + std::to_string(percent)).number(percentile(values, percent));
  json.key("min").number(percentile(values, 0)).key("max").number(percentile(values, 100));
  json.key("std").number(spread_of(values)).close('}');
}

void add_milliseconds(JsonLine& json, const std::string& name, const Values& values) {
  json.key("mean_" + name + "_ms").number(mean(values));
  json.key("median_" + name + "_ms").number(percentile(values, 50));
  json.key("std_" + name + "_ms").number(spread_of(values));
  for (const int percent : {90, 99})
    json.key("p" + std::to_string(percent) + '_' + name + "_ms")
        .number(percentile(values, percent));
}

}  // namespace

void add_aiperf(JsonLine& json, const ConfiguredCell& cell, const sweep::Table& turns) {
  const Requests requests = requests_of(turns);
  const double seconds = requests.duration_s();
  Values per_user;
  for (const double each : requests.per_token_ms) per_user.push_back(1e3 / each);
  json.open('{').key("schema_version").text("1.3");
  add_number(json, "request_throughput", "requests/sec", requests.count() / seconds);
  add_distribution(json, "request_latency", "ms", requests.latency_ms);
  add_number(json, "request_count", "requests", requests.count());
  add_distribution(json, "time_to_first_token", "ms", requests.ttft_ms);
  add_distribution(json, "inter_token_latency", "ms", requests.per_token_ms);
  add_number(json, "output_token_throughput", "tokens/sec", total_of(requests.output) / seconds);
  add_distribution(json, "output_token_throughput_per_user", "tokens/sec/user", per_user);
  add_distribution(json, "output_sequence_length", "tokens", requests.output);
  add_distribution(json, "input_sequence_length", "tokens", requests.prompt);
  add_number(json, "total_osl", "tokens", total_of(requests.output));
  add_number(json, "total_isl", "tokens", total_of(requests.prompt));
  add_number(json, "benchmark_duration", "sec", seconds);
  json.key("was_cancelled").boolean(false).key("kvsweep").open('{');
  json.key("cell").integer(cell.record->index).key("label").text(cell.record->label);
  json.key("seed").integer(cell.record->seed).key("figures").text(figures_kind(cell));
  json.close('}').close('}');
}

void add_vllm_bench(JsonLine& json, const ConfiguredCell& cell, const sweep::Table& turns) {
  const Requests requests = requests_of(turns);
  const double seconds = requests.duration_s();
  json.open('{').key("backend").text("kvsweep, " + figures_kind(cell));
  json.key("model_id").text(shown(cell.value("model"))).key("label").text(cell.record->label);
  json.key("num_prompts").integer(static_cast<std::int64_t>(turns.rows()));
  json.key("max_concurrency").number(number_of(cell.value("workload.live")));
  json.key("duration").number(seconds);
  json.key("completed").integer(static_cast<std::int64_t>(requests.count()));
  json.key("total_input_tokens").number(total_of(requests.prompt));
  json.key("total_output_tokens").number(total_of(requests.output));
  json.key("request_throughput").number(requests.count() / seconds);
  json.key("output_throughput").number(total_of(requests.output) / seconds);
  json.key("total_token_throughput")
      .number((total_of(requests.prompt) + total_of(requests.output)) / seconds);
  add_milliseconds(json, "ttft", requests.ttft_ms);
  add_milliseconds(json, "tpot", requests.per_token_ms);
  json.key("mean_itl_ms").number(requests.between_ms / requests.later_tokens);
  add_milliseconds(json, "e2el", requests.latency_ms);
  json.close('}');
}

}  // namespace analysis
