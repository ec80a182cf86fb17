#include <array>
#include <charconv>

#include "workers/binding/key_rows.hpp"
#include "workers/policies/admission/factory.hpp"
#include "workers/policies/estimators/factory.hpp"
#include "workers/policies/names.hpp"

namespace worker {
namespace {

constexpr const char* kWherePinned = "policy.retention = pin";
constexpr const char* kWhereKept = "policy.retention = pin|infercept|plugin";
constexpr const char* kWherePlugin =
    "policy.order = plugin or policy.admission = plugin or policy.retention = plugin or "
    "policy.ttl_rule = plugin or policy.estimator = plugin or policy.prefetch = plugin or "
    "policy.eviction = plugin or policy.host_eviction = plugin";
constexpr const char* kWhereEstimated =
    "policy.retention = pin|infercept or policy.eviction = next_use or "
    "policy.host_eviction = next_use";
#define KVSWEEP_WHERE_TOLD                                                \
  "policy.retention = pin|infercept or "                                  \
  "policy.prefetch = tool_mean|tool_cdf|lognormal|client_hint|oracle or " \
  "policy.eviction = next_use or policy.host_eviction = next_use or "     \
  "policy.remaining_work = hint or policy.horizon = hint"
constexpr const char* kWhereTold = KVSWEEP_WHERE_TOLD;
constexpr const char* kWhereWrong =
    "policy.error_bias != 1 or policy.error_sigma != 0 or policy.error_outliers != 0 or "
    "policy.error_missing != 0; " KVSWEEP_WHERE_TOLD;
constexpr const char* kWhereOutliers = "policy.error_outliers != 0; " KVSWEEP_WHERE_TOLD;

std::vector<KeyRow> rows_of_order() {
  return {
      {.name = "policy",
       .type = ProfileIn{"policies"},
       .says = "A named policy: the values of its file for the keys policy.*, which a sweep may "
               "set over it (kvsweep policies)."},
      {.name = "policy.order",
       .type = OneOf{policies::order_names()},
       .fallback = value("fcfs"),
       .says = "Which request is served next: first come, first served by turn (fcfs) or by job "
               "(job_fcfs), the cache-TTL paper's order, the request's priority, the program "
               "served least (attained_service), the job with the least work left (srpt), the "
               "longest prefix in the cache (longest_prefix), the program of which most turns have "
               "ended (progress), or what policy.plugin says (plugin)."},
      {.name = "policy.plugin",
       .type = FilePath{},
       .where = kWherePlugin,
       .says = "A shared object that decides in place of this program, by kvsweep_policy.h "
               "(docs/adding-a-policy.md); kvsweep new policy writes an example."},
      {.name = "policy.plugin_time_limit_s",
       .type = Real{0, 1e6},
       .fallback = value("1"),
       .unit = "s",
       .where = kWherePlugin,
       .neutral = "1",
       .says = "A cell fails when one call of a function of policy.plugin takes longer than this "
               "on the host; 0: no limit."},
      {.name = "policy.layout",
       .type = OneOf{{"paged", "contiguous"}},
       .fallback = value("paged"),
       .neutral = "paged",
       .says = "KV in blocks and continuous batching, or naive fixed batches with one contiguous "
               "buffer a sequence."},
      {.name = "policy.max_new_tokens",
       .type = Whole{0, kMostOf32Bits},
       .fallback = value("0"),
       .unit = "tokens",
       .where = "policy.layout = contiguous",
       .says = "Output tokens that a contiguous buffer has room for; 0: as many as "
               "engine.max_model_len allows."},
  };
}

/// "0.3", "60"
std::string shortest_text(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

/// The parameters that a plugin gives a meaning.
std::vector<KeyRow> rows_of_plugin() {
  std::vector<KeyRow> rows;
  for (const char* name : {"policy.plugin_value_1", "policy.plugin_value_2",
                           "policy.plugin_value_3", "policy.plugin_value_4"})
    rows.push_back({.name = name,
                    .type = Real{-1e300, 1e300},
                    .fallback = value("0"),
                    .where = kWherePlugin,
                    .neutral = "0",
                    .says = "A parameter of policy.plugin, which gives it its meaning."});
  return rows;
}

std::vector<KeyRow> rows_of_admission() {
  return {
      {.name = "policy.admission",
       .type = OneOf{policies::admission_names()},
       .fallback = value("max_programs"),
       .neutral = "max_programs",
       .says = "Which programs may be served: a fixed number of them (max_programs), as many as "
               "the contexts that are expected of them fit (working_set), those that are not "
               "paused because contexts exceed the pool (thunder), or turns within a share of the "
               "pool for first turns and one for all others (quota), or what policy.plugin says "
               "(plugin)."},
      {.name = "policy.max_active_programs",
       .type = Whole{0, kMostOf32Bits},
       .fallback = value("0"),
       .unit = "jobs",
       .where = "policy.admission = max_programs",
       .neutral = "0",
       .says = "Most jobs that have begun and are not over; 0: no limit."},
  };
}

std::vector<KeyRow> rows_of_retention() {
  return {
      {.name = "policy.retention",
       .type = OneOf{policies::retention_names()},
       .fallback = value("free"),
       .says = "What happens to a finished turn's KV while its tool runs: left to the prefix "
               "cache (free), pinned for a time to live (pin), kept, dropped or swapped by "
               "least waste (infercept), or as policy.plugin says (plugin)."},
      {.name = "policy.eviction",
       .type = OneOf{policies::eviction_names()},
       .fallback = value("lru"),
       .where = "policy.layout = paged",
       .neutral = "lru",
       .says =
           "Which unreferenced KV on the GPU is evicted first: the blocks released first (lru), "
           "the same after blocks without content (partial_first), the KV that is used last by "
           "policy.estimator (next_use) or by the true return of each job (oracle), or the "
           "blocks of least rank by a rule: slru, tail_lru (policy.spare_tokens), "
           "retention_priority (policy.retained), cost_aware, or that of policy.plugin (plugin)."},
      {.name = "policy.ttl_rule",
       .type = OneOf{policies::ttl_rule_names()},
       .fallback = value("fixed"),
       .where = kWherePinned,
       .neutral = "fixed",
       .says = "How long a pin lasts: policy.ttl_s (fixed), the time that is worth most by the "
               "forecast (utility), or until keeping has cost what recomputing would "
               "(ski_rental), or as policy.plugin says (plugin)."},
      {.name = "policy.protect_waiting",
       .type = Flag{},
       .fallback = value("false"),
       .where = kWhereKept,
       .says = "A pin that has expired stays while its job's next turn waits."},
      {.name = "policy.release_on_handoff",
       .type = Flag{},
       .fallback = value("false"),
       .where = kWhereKept,
       .says = "A pin ends when the job's next turn is admitted, which holds the blocks itself."},
      {.name = "policy.pin_share",
       .type = Real{0, 1},
       .fallback = value("1"),
       .where = kWhereKept,
       .neutral = "1",
       .says = "Share of the pool that pins may hold together. Of a turn that would exceed it the "
               "first blocks are pinned, as far as there is room; below 1 the figures "
               "pins_accepted, pins_clipped and pins_refused say how often."},
      {.name = "policy.pressure_victim",
       .type = OneOf{{"latest_job", "latest_deadline"}},
       .fallback = value("latest_job"),
       .where = kWhereKept,
       .says = "Which pin is released where nothing else can run: that of the job that came "
               "last, or the one with the longest time left."},
  };
}

std::vector<KeyRow> rows_of_forecasts() {
  return {
      {.name = "policy.estimator",
       .type = OneOf{policies::estimator_names()},
       .fallback = value("tool_mean"),
       .where = kWhereEstimated,
       .neutral = "tool_mean",
       .says = "Forecast of how long a tool runs, from past calls of the tool (tool_mean, "
               "tool_cdf, lognormal), the client's hint, the true time (oracle) or policy.plugin "
               "(plugin)."},
      {.name = "policy.error_bias",
       .type = Real{1e-6, 1e6},
       .fallback = value("1"),
       .where = kWhereWrong,
       .says = "Factor by which every forecast and hint is off, to study errors; 1: none."},
      {.name = "policy.error_sigma",
       .type = Real{0, 10},
       .fallback = value("0"),
       .where = kWhereWrong,
       .says = "Standard deviation of the logarithm of a further random factor of every "
               "forecast and hint; 0: none."},
      {.name = "policy.error_outliers",
       .type = Real{0, 1},
       .fallback = value("0"),
       .where = kWhereTold,
       .neutral = "0",
       .says = "Share of forecasts and hints that are off by policy.error_outlier_factor, too, "
               "half of them above and half below."},
      {.name = "policy.error_outlier_factor",
       .type = Real{1, 1e6},
       .fallback = value("10"),
       .where = kWhereOutliers,
       .says = "Factor of those."},
      {.name = "policy.error_missing",
       .type = Real{0, 1},
       .fallback = value("0"),
       .where = kWhereTold,
       .neutral = "0",
       .says = "Share of turns about which nothing is forecast or said."},
      {.name = "policy.error_seed",
       .type = Whole{0, kMostOf64Bits},
       .fallback = value("42"),
       .where = kWhereWrong,
       .says = "Seed of these errors, which depend on job and turn alone."},
      {.name = "policy.prefetch",
       .type = OneOf{policies::prefetch_names()},
       .fallback = value("none"),
       .neutral = "none",
       .says = "Forecast by which KV is loaded back from the host tier before its job returns; "
               "needs policy.tier offload and a policy.store of eager, prompt or all. plugin: "
               "policy.plugin decides what "
               "is worth loading, too."},
      {.name = "policy.scoring",
       .type = OneOf{policies::scoring_names()},
       .fallback = value("S5"),
       .where = "policy.prefetch != none; policy.prefetch != plugin",
       .says = "What a prefetch is scored by: saved prefill (S1), and added one after the other "
               "the wait of other requests, GPU memory, host memory and the link (S5)."},
  };
}

/// The parameters that rules declare in their files.
std::vector<KeyRow> rows_of_rules() {
  std::vector<KeyRow> rows;
  for (const auto& [parameter, where] : policies::declared_parameters()) {
    const auto whole = [](double limit) { return static_cast<std::int64_t>(limit); };
    KeyType type = Real{parameter.least, parameter.most};
    std::string fallback = shortest_text(parameter.fallback);
    if (parameter.is_whole) {
      type = Whole{whole(parameter.least), whole(parameter.most)};
      fallback = std::to_string(whole(parameter.fallback));  // not 1e+05
    }
    if (const auto words = parameter.words; !words.empty()) {
      type = OneOf{{words.begin(), words.end()}};
      fallback = words.front();
    }
    if (parameter.check_text != nullptr) {
      type = AnyText{};
      fallback.clear();
    }
    KeyRow& row = rows.emplace_back();
    row.name = std::string("policy.") + parameter.name;
    row.type = type;
    row.fallback = {Default::Kind::value, fallback};
    row.unit = parameter.unit;
    row.where = where;
    row.neutral = parameter.neutral;
    row.says = parameter.says;
  }
  return rows;
}

}  // namespace

std::vector<KeyRow> rows_of_policy() {
  std::vector<KeyRow> rows = rows_of_order();
  for (const auto more :
       {rows_of_plugin, rows_of_admission, rows_of_retention, rows_of_forecasts, rows_of_rules})
    for (KeyRow& row : more()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace worker
