#include "workers/binding/key_rows.hpp"

namespace worker {
namespace {

const Condition kGenerated = is("workload.kind", {"swe_smith_like"});
const Condition kEightTurns = is("workload.kind", {"agent8"});
const Condition kFixed = is("workload.kind", {"fixed"});
const Condition kZipf = is("workload.kind", {"zipf"});
const Condition kTraced = is("workload.kind", {"trace"});
const Condition kListed = is("workload.kind", {"pair", "lengths"});
constexpr std::int64_t kMostRequests = 100'000;
constexpr std::int64_t kMostRequestTokens = 1 << 24;

constexpr const char* kSaysGap = "Time that a tool runs after each turn but a job's last.";

using W = WorkloadConfig;
using Swe = workload::SweSmithLikeConfig;
using Eight = workload::Agent8Config;
using List = workload::RequestListConfig;
using Fixed = workload::FixedSizes;
using Zipf = workload::ZipfSizes;
using Size = workload::RequestSize;
using Rules = workload::PlayRules;
using Arrivals = ArrivalConfig::Kind;
using Order = workload::JobOrder;
using workload::Pacing, workload::TooLong;
template <auto member>
constexpr auto in_arrivals = to<&C::workload, &W::arrivals, member>;

template <auto... path>
constexpr auto in_content = to<&C::workload, &W::content, path...>;
template <auto member>
constexpr auto play = in_content<&RecordedTrace::rules, member>;
template <auto... path>
constexpr auto sizes = in_content<&List::sizes, path...>;

void set_jobs(C& config, const Value& value) {
  in_content<&Swe::jobs>(config, value);
  in_content<&Eight::jobs>(config, value);
}

void set_seed(C& config, const Value& value) {
  in_content<&Swe::seed>(config, value);
  in_content<&Eight::seed>(config, value);
  in_content<&List::seed>(config, value);
  sizes<&Zipf::seed>(config, value);
  play<&Rules::seed>(config, value);
}

}  // namespace

const std::vector<Key> kWorkloadRows = {
    words_for<&C::workload, &W::content>(
        "workload.kind", required(), kAlways,
        "What is replayed: generated coding agents, an eight-turn agent, what was recorded "
        "elsewhere (docs/traces.md), or lists of single requests.",
        {{"swe_smith_like", Swe()},
         {"agent8", Eight()},
         {"trace", RecordedTrace()},
         {"fixed", List{.sizes = Fixed()}},
         {"zipf", List{.sizes = Zipf()}},
         {"pair", List{.sizes = workload::ListedSizes()}},
         {"lengths", List{.sizes = workload::SizeFile()}}}),
    words_for<&C::workload, &W::arrivals, &ArrivalConfig::kind>(
        "workload.arrivals",
        computed("closed for fixed, zipf, pair and lengths, live for the preset agentx, "
                 "recorded for a trace with times of arrival where jps is not given, "
                 "otherwise poisson"),
        kAlways,
        "How jobs arrive: at random with the rate jps, all at once, workload.live of them "
        "and another whenever one ends, at the times of a file, or at those of the trace "
        "that is replayed.",
        {{"poisson", Arrivals::poisson},
         {"closed", Arrivals::closed},
         {"live", Arrivals::closed},
         {"trace", Arrivals::trace},
         {"recorded", Arrivals::recorded}}),
    {"workload.live", Whole{1, 100'000, "jobs"}, required(), is("workload.arrivals", {"live"}),
     "Jobs in progress: the next begins when one ends.", in_arrivals<&ArrivalConfig::most_live>},
    {"jps", Real{1e-6, 1e6, "jobs/s"}, required(), is("workload.arrivals", {"poisson"}),
     "Arrival rate of jobs; a job is one agent's whole trajectory.",
     in_arrivals<&ArrivalConfig::rate_per_s>},
    {"workload.window_s", Real{1e-3, 1e6, "s"}, optional("workload.jobs says how many arrive"),
     is("workload.arrivals", {"poisson"}) && is("workload.kind", {"swe_smith_like", "agent8"}),
     "Jobs arrive for this long, in place of workload.jobs.",
     in_arrivals<&ArrivalConfig::window_s>},
    {"workload.arrival_trace", FilePath{}, required(), is("workload.arrivals", {"trace"}),
     "A trace, of which the arrivals are taken; or times in seconds, one a line."},
    {"workload.jobs", Whole{1, 100'000, "jobs"}, value(100),
     is("workload.kind", {"swe_smith_like", "agent8"}), "How many jobs are generated.", set_jobs},
    {"workload.jobs", Whole{1, 100'000, "jobs"}, optional("each session once"), kTraced,
     "How many sessions are replayed; more than the trace has: some again.",
     play<&Rules::sessions>},
    {"workload.gap_s", Real{0, 1e6, "s"}, value(1), kGenerated, kSaysGap, in_content<&Swe::gap_s>},
    {"workload.gap_s", Real{0, 1e6, "s"}, value(0.5), kEightTurns, kSaysGap,
     in_content<&Eight::gap_s>},
    {"workload.min_turns", Whole{1, 17, "turns"}, value(10), kGenerated,
     "Least turns of a generated job.", in_content<&Swe::min_turns>},
    {"workload.min_turns", Whole{1, kMostOf32Bits, "turns"}, neutral(1), kTraced,
     "Recorded jobs with fewer turns are left out.", play<&Rules::min_turns>},
    {"workload.max_turns", Whole{18, 100, "turns"}, value(30), kGenerated,
     "Most turns of a generated job.", in_content<&Swe::max_turns>},
    {"workload.max_turns", Whole{1, kMostOf32Bits, "turns"}, optional("no limit"), kTraced,
     "Recorded jobs with more turns are left out.", play<&Rules::max_turns>},
    {"workload.max_context", Whole{4096, kMostOf32Bits, "tokens"},
     computed("16384, or engine.max_model_len if that is less"), kGenerated,
     "Most tokens of a generated job, its last answer included.", in_content<&Swe::max_context>},
    {"workload.max_context", Whole{1, kMostOf32Bits, "tokens"},
     optional("engine.max_model_len alone limits them"), kTraced,
     "Most tokens of a turn, prompt and answer; workload.too_long says what happens to sessions "
     "with more."},
    {"workload.tool_hint", Flag{}, value(false), kEightTurns,
     "The client names the tool of each turn, which these agents' answers do not.",
     in_content<&Eight::tool_hint>},
    {"workload.scale", Real{0.001, 1}, neutral(1), kEightTurns,
     "Factor on the lengths of tool outputs, for models with a short context.",
     in_content<&Eight::scale>},
    {"workload.path", FilePath{}, required(), is("workload.kind", {"lengths"}),
     "File of request lengths: prompt and output, one request a line."},
    {"workload.path", FilePath{}, required(), kTraced,
     "A trace, plain or .gz; python3 -m kvsweep.traces makes one of what others recorded."},
    words_for<&C::workload, &W::content, &RecordedTrace::rules, &Rules::order>(
        "workload.order", value("file"), kTraced, "Order in which recorded jobs are taken.",
        {{"file", Order::file}, {"id", Order::id}, {"shuffled", Order::shuffled}}),
    {"workload.preset", OneOf{{"none", "agentx"}}, neutral("none"), kTraced,
     "Defaults of the keys of traces: those of the AgentX benchmark, or ours."},
    words_for<&C::workload, &W::content, &RecordedTrace::rules, &Rules::pacing>(
        "workload.pacing", computed("end_to_start for the preset agentx, otherwise think"), kTraced,
        "When a turn starts after what it waits for: after the client's recorded time, as "
        "long after the start of the turn before as it did, or after the recorded server's "
        "idle time. Turns of which the trace does not say that start after another of these "
        "that it says.",
        {{"think", Pacing::think},
         {"recorded", Pacing::recorded},
         {"end_to_start", Pacing::end_to_start}}),
    {"workload.gap_cap_s", Real{0, 1e9, "s"}, optional("no cap, or 10 s for the preset agentx"),
     kTraced, "Longest time before a turn; longer recorded ones are cut to it.",
     play<&Rules::gap_cap_s>},
    {"workload.gap_fallback_s", Real{0, 1e6, "s"}, neutral(0), kTraced,
     "Time before turns of which the trace does not say it.", play<&Rules::unrecorded_gap_s>},
    {"workload.time_scale", Real{1e-6, 1e6}, neutral(1), kTraced,
     "Factor on all recorded times, before the cap.", play<&Rules::time_scale>},
    words_for<&C::workload, &W::content, &RecordedTrace::rules, &Rules::too_long>(
        "workload.too_long", value("drop"), kTraced,
        "What happens to a session with a turn that does not fit: it is left out, or its "
        "agent ends before that turn.",
        {{"drop", TooLong::drop}, {"cut", TooLong::cut}}),
    words_for<&C::workload, &W::content, &RecordedTrace::rules, &Rules::random_start>(
        "workload.start", computed("beginning, or random for the preset agentx"), kTraced,
        "Where a session begins: at its first turn, or at a random one behind a turn of one "
        "token that computes the prefix.",
        {{"beginning", false}, {"random", true}}),
    {"workload.window_turns", Whole{1, kMostOf32Bits, "turns"},
     optional("up to the session's last"), kTraced,
     "Most turns of a session's root, from its start on.", play<&Rules::turns>},
    {"workload.n", Whole{1, kMostRequests, "requests"}, value(1), kFixed, "Number of requests.",
     sizes<&Fixed::count>},
    {"workload.n", Whole{1, kMostRequests, "requests"}, value(20), kZipf, "Number of requests.",
     sizes<&Zipf::count>},
    {"workload.n", Whole{1, kMostRequests, "requests"}, optional("all"), kListed,
     "Only the first requests of the list.",
     [](C& config,
        const Value& value) { assign(std::get<List>(config.workload.content).first, value); }},
    {"workload.prompt", Whole{1, kMostRequestTokens, "tokens"}, required(), kFixed,
     "Prompt of each request.", sizes<&Fixed::size, &Size::prompt_tokens>},
    {"workload.output", Whole{1, kMostRequestTokens, "tokens"}, value(1), kFixed,
     "Output of each request.", sizes<&Fixed::size, &Size::output_tokens>},
    {"workload.requests", AnyText{}, required(), is("workload.kind", {"pair"}),
     "Prompt and output of each request, as \"430+1024 3600+496\".",
     [](C& config, const Value& value) {
       auto& sizes = std::get<List>(config.workload.content).sizes;
       std::get<workload::ListedSizes>(sizes).sizes =
           workload::parse_sizes(std::get<std::string>(value));
     }},
    {"workload.min", Whole{2, kMostRequestTokens, "tokens"}, value(128), kZipf,
     "Least length of a request, prompt and output together.", sizes<&Zipf::min>},
    {"workload.max", Whole{4, kMostRequestTokens, "tokens"}, value(2048), kZipf,
     "Greatest length of a request, at least workload.min + 2.", sizes<&Zipf::max>},
    {"workload.theta", Real{1e-6, 1 - 1e-6}, value(0.6), kZipf,
     "Skew of the lengths, from nearly uniform (0) to nearly all short (1).", sizes<&Zipf::theta>},
    {"workload.prompt_to_output", Real{1e-6, 1e6}, value(20), kZipf,
     "Ratio of prompt to output tokens of a request.", sizes<&Zipf::prompt_to_output>},
    {"workload.seed", Whole{0, kMostOf64Bits}, value(42), is_not("workload.kind", "zipf"),
     "Seed of what is drawn at random: lengths, token ids, or the order of shuffled jobs.",
     set_seed},
    {"workload.seed", Whole{0, std::numeric_limits<std::uint32_t>::max()}, value(42), kZipf,
     "Seed of lengths and token ids.", set_seed},
};

}  // namespace worker
