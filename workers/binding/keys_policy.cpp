#include "workers/binding/key_rows.hpp"
#include "workers/policies/names.hpp"

namespace worker {
namespace {

const Condition kWherePinned = is("policy.retention", {"pin"});
const Condition kWhereKept = is("policy.retention", {"pin", "infercept", "plugin"});
const Condition kWherePlugin =
    is("policy.order", {"plugin"}) || is("policy.admission", {"plugin"}) ||
    is("policy.retention", {"plugin"}) || is("policy.eviction", {"plugin"});
const Condition kWhereEstimated = is("policy.retention", {"pin", "infercept"}) ||
                                  is("policy.eviction", {"next_use"}) ||
                                  is("policy.host_eviction", {"next_use"});
const Condition kWhereTold =
    is("policy.retention", {"pin", "infercept"}) ||
    is("policy.prefetch", {"tool_mean", "tool_cdf", "lognormal", "client_hint", "oracle"}) ||
    is("policy.eviction", {"next_use"}) || is("policy.host_eviction", {"next_use"}) ||
    is("policy.remaining_work", {"hint"}) || is("policy.horizon", {"hint"});
const Condition kWhereWrong =
    (is_not("policy.error_bias", 1) || is_not("policy.error_sigma", 0) ||
     is_not("policy.error_outliers", 0) || is_not("policy.error_missing", 0)) &&
    kWhereTold;
const Condition kWhereOutliers = is_not("policy.error_outliers", 0) && kWhereTold;

template <auto... path>
constexpr auto in_pins = to<&C::policy, &P::pins, path...>;
template <auto... path>
constexpr auto in_estimator = to<&C::policy, &P::estimator, path...>;
using Pins = engine::PinRules;
using Victim = engine::PressureVictim;
using policies::AdmissionConfig, policies::EstimatorConfig, policies::PluginConfig;
using Error = policies::EstimatorError;
template <auto member>
constexpr auto off_by = in_estimator<&EstimatorConfig::error, member>;

/// A parameter that a plugin gives a meaning.
template <std::size_t number>
Key plugin_value(const char* name) {
  return {name,
          Real{-1e300, 1e300},
          neutral(0),
          kWherePlugin,
          "A parameter of policy.plugin, which gives it its meaning.",
          [](C& config, const Value& value) {
            config.policy.plugin.values[number] = std::get<double>(value);
          }};
}

}  // namespace

const std::vector<Key> kPolicyRows = {
    {"policy", ProfileIn{"policies"}, required(), kAlways,
     "A named policy: the values of its file for the keys policy.*, which a sweep may set over "
     "it (kvsweep policies)."},
    {"policy.order", OneOf{.names = policies::order_names}, value("fcfs"), kAlways,
     "Which request is served next: first come, first served by turn (fcfs) or by job "
     "(job_fcfs), the cache-TTL paper's order, the request's priority, the program served least "
     "(attained_service), the job with the least work left (srpt), the longest prefix in the "
     "cache (longest_prefix), the program of which most turns have ended (progress), or what "
     "policy.plugin says (plugin).",
     to<&C::policy, &P::order>},
    {"policy.plugin", FilePath{}, required(), kWherePlugin,
     "A shared object that decides in place of this program, by kvsweep_policy.h "
     "(docs/adding-a-policy.md); kvsweep new policy writes an example."},
    {"policy.plugin_time_limit_s", Real{0, 1e6, "s"}, neutral(1), kWherePlugin,
     "A cell fails when one call of a function of policy.plugin takes longer than this on the "
     "host; 0: no limit.",
     to<&C::policy, &P::plugin, &PluginConfig::time_limit>},
    {"policy.layout", OneOf{{"paged", "contiguous"}}, neutral("paged"), kAlways,
     "KV in blocks and continuous batching, or naive fixed batches with one contiguous buffer a "
     "sequence."},
    {"policy.max_new_tokens", Whole{0, kMostOf32Bits, "tokens"}, value(0),
     is("policy.layout", {"contiguous"}),
     "Output tokens that a contiguous buffer has room for; 0: as many as engine.max_model_len "
     "allows.",
     to<&C::engine, &E::scheduler, &engine::SchedulerConfig::buffer_output_tokens>},
    plugin_value<0>("policy.plugin_value_1"),
    plugin_value<1>("policy.plugin_value_2"),
    plugin_value<2>("policy.plugin_value_3"),
    plugin_value<3>("policy.plugin_value_4"),
    {"policy.admission", OneOf{.names = policies::admission_names}, neutral("max_programs"),
     kAlways,
     "Which programs may be served: a fixed number of them (max_programs), as many as the "
     "contexts that are expected of them fit (working_set), those that are not paused because "
     "contexts exceed the pool (thunder), or turns within a share of the pool for first turns "
     "and one for all others (quota), or what policy.plugin says (plugin).",
     to<&C::policy, &P::admission, &AdmissionConfig::rule>},
    {"policy.max_active_programs", Whole{0, kMostOf32Bits, "jobs"}, neutral(0),
     is("policy.admission", {"max_programs"}),
     "Most jobs that have begun and are not over; 0: no limit.",
     to<&C::policy, &P::admission, &AdmissionConfig::max_programs>},
    {"policy.retention", OneOf{.names = policies::retention_names}, value("free"), kAlways,
     "What happens to a finished turn's KV while its tool runs: left to the prefix cache (free), "
     "pinned for a time to live (pin), kept, dropped or swapped by least waste (infercept), or "
     "as policy.plugin says (plugin).",
     to<&C::policy, &P::retention>},
    {"policy.eviction", OneOf{.names = policies::eviction_names}, neutral("lru"),
     is("policy.layout", {"paged"}),
     "Which unreferenced KV on the GPU is evicted first: the blocks released first (lru), the "
     "same after blocks without content (partial_first), the KV that is used last by "
     "policy.estimator (next_use) or by the true return of each job (oracle), or the blocks of "
     "least rank by a rule: slru, tail_lru (policy.spare_tokens), retention_priority "
     "(policy.retained), cost_aware, session_close (KV of jobs that are over first), or that of "
     "policy.plugin (plugin).",
     to<&C::policy, &P::eviction>},
    {"policy.ttl_rule", OneOf{.names = policies::ttl_rule_names}, neutral("fixed"), kWherePinned,
     "How long a pin lasts: policy.ttl_s (fixed), the time that is worth most by the forecast "
     "(utility), or until keeping has cost what recomputing would (ski_rental), or as "
     "policy.plugin says (plugin).",
     to<&C::policy, &P::ttl_rule>},
    {"policy.protect_waiting", Flag{}, value(false), kWhereKept,
     "A pin that has expired stays while its job's next turn waits.",
     in_pins<&Pins::protect_waiting>},
    {"policy.release_on_handoff", Flag{}, value(false), kWhereKept,
     "A pin ends when the job's next turn is admitted, which holds the blocks itself.",
     in_pins<&Pins::release_on_handoff>},
    {"policy.pin_share", Real{0, 1}, neutral(1), kWhereKept,
     "Share of the pool that pins may hold together. Of a turn that would exceed it the first "
     "blocks are pinned, as far as there is room.",
     in_pins<&Pins::most_of_pool>},
    words_for<&C::policy, &P::pins, &Pins::pressure_victim>(
        "policy.pressure_victim", value("latest_job"), kWhereKept,
        "Which pin is released where nothing else can run: that of the job that came last, "
        "or the one with the longest time left.",
        {{"latest_job", Victim::latest_job}, {"latest_deadline", Victim::latest_deadline}}),
    {"policy.estimator", OneOf{.names = policies::estimator_names}, neutral("tool_mean"),
     kWhereEstimated,
     "Forecast of how long a tool runs, from past calls of the tool (tool_mean, tool_cdf, "
     "lognormal), the client's hint, the true time (oracle) or policy.plugin (plugin).",
     in_estimator<&EstimatorConfig::name>},
    {"policy.error_bias", Real{1e-6, 1e6}, value(1), kWhereWrong,
     "Factor by which every forecast and hint is off, to study errors; 1: none.",
     off_by<&Error::bias>},
    {"policy.error_sigma", Real{0, 10}, value(0), kWhereWrong,
     "Standard deviation of the logarithm of a further random factor of every forecast and hint; "
     "0: none.",
     off_by<&Error::sigma>},
    {"policy.error_outliers", Real{0, 1}, neutral(0), kWhereTold,
     "Share of forecasts and hints that are off by policy.error_outlier_factor, too, half of "
     "them above and half below.",
     off_by<&Error::outliers>},
    {"policy.error_outlier_factor", Real{1, 1e6}, value(10), kWhereOutliers, "Factor of those.",
     off_by<&Error::outlier_factor>},
    {"policy.error_missing", Real{0, 1}, neutral(0), kWhereTold,
     "Share of turns about which nothing is forecast or said.", off_by<&Error::missing>},
    {"policy.error_seed", Whole{0, kMostOf64Bits}, value(42), kWhereWrong,
     "Seed of these errors, which depend on job and turn alone.", off_by<&Error::seed>},
    {"policy.prefetch", OneOf{.names = policies::prefetch_names}, neutral("none"), kAlways,
     "Forecast by which KV is loaded back from the host tier before its job returns, or at_pause "
     "or at_enqueue: as soon as there is room from the end of a turn or the arrival of the next "
     "one on. Needs policy.tier offload and a policy.store of eager, prompt or all.",
     to<&C::policy, &P::prefetch>},
    {"policy.scoring", OneOf{.names = policies::scoring_names}, value("S5"),
     is("policy.prefetch", {"tool_mean", "tool_cdf", "lognormal", "client_hint", "oracle"}),
     "What a prefetch is scored by: saved prefill (S1), and added one after the other the wait "
     "of other requests, GPU memory, host memory and the link (S5).",
     to<&C::policy, &P::scoring>},
};

std::vector<Key> rows_of_rules() {
  std::vector<Key> rows;
  for (const auto& [parameter, where] : policies::declared_parameters()) {
    const auto whole = [](double number) { return static_cast<std::int64_t>(number); };
    KeyType type = Real{parameter.least, parameter.most, parameter.unit};
    Value fallback = parameter.fallback;
    if (parameter.is_whole) {
      type = Whole{whole(parameter.least), whole(parameter.most), parameter.unit};
      fallback = whole(parameter.fallback);
    } else if (!parameter.words.empty()) {
      type = OneOf{{parameter.words.begin(), parameter.words.end()}};
      fallback = parameter.words.front();
    } else if (parameter.check_text != nullptr) {
      type = AnyText{};
      fallback = "";
    }
    const Store store = [name = parameter.name, check = parameter.check_text](C& config,
                                                                              const Value& value) {
      if (check != nullptr) check(std::get<std::string>(value));
      config.policy.parameters[name] = policies::parameter_of(value);
    };
    rows.push_back({std::string("policy.") + parameter.name, type,
                    parameter.is_neutral ? neutral(fallback) : value(fallback), where,
                    parameter.says, store});
  }
  return rows;
}

}  // namespace worker
