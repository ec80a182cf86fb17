#include "workers/binding/key_rows.hpp"

namespace worker {
namespace {

constexpr const char* kGenerated = "workload.kind = swe_smith_like";
constexpr const char* kEightTurns = "workload.kind = agent8";
constexpr const char* kFixed = "workload.kind = fixed";
constexpr const char* kZipf = "workload.kind = zipf";
constexpr const char* kTraced = "workload.kind = trace";
constexpr const char* kListed = "workload.kind = pair|lengths";
constexpr std::int64_t kMostRequests = 100'000;
constexpr std::int64_t kMostRequestTokens = 1 << 24;

constexpr const char* kSaysGap = "Time that a tool runs after each turn but a job's last.";

std::vector<KeyRow> rows_of_arrivals() {
  return {
      {.name = "workload.kind",
       .type = OneOf{{"swe_smith_like", "agent8", "trace", "fixed", "zipf", "pair", "lengths"}},
       .says = "What is replayed: generated coding agents, an eight-turn agent, what was recorded "
               "elsewhere (docs/traces.md), or lists of single requests."},
      {.name = "workload.arrivals",
       .type = OneOf{{"poisson", "closed", "live", "trace", "recorded"}},
       .fallback = computed("closed for fixed, zipf, pair and lengths, live for the preset agentx, "
                            "recorded for a trace with times of arrival where jps is not given, "
                            "otherwise poisson"),
       .says = "How jobs arrive: at random with the rate jps, all at once, workload.live of them "
               "and another whenever one ends, at the times of a file, or at those of the trace "
               "that is replayed."},
      {.name = "workload.live",
       .type = Whole{1, 100'000},
       .unit = "jobs",
       .where = "workload.arrivals = live",
       .says = "Jobs in progress: the next begins when one ends."},
      {.name = "jps",
       .type = Real{1e-6, 1e6},
       .unit = "jobs/s",
       .where = "workload.arrivals = poisson",
       .says = "Arrival rate of jobs; a job is one agent's whole trajectory."},
      {.name = "workload.window_s",
       .type = Real{1e-3, 1e6},
       .fallback = optional("workload.jobs says how many arrive"),
       .unit = "s",
       .where = "workload.arrivals = poisson; workload.kind = swe_smith_like|agent8",
       .says = "Jobs arrive for this long, in place of workload.jobs."},
      {.name = "workload.arrival_trace",
       .type = FilePath{},
       .where = "workload.arrivals = trace",
       .says = "A trace, of which the arrivals are taken; or times in seconds, one a line."},
  };
}

std::vector<KeyRow> rows_of_agents() {
  return {
      {.name = "workload.jobs",
       .type = Whole{1, 100'000},
       .fallback = value("100"),
       .unit = "jobs",
       .where = "workload.kind = swe_smith_like|agent8",
       .says = "How many jobs are generated."},
      {.name = "workload.jobs",
       .type = Whole{1, 100'000},
       .fallback = optional("each session once"),
       .unit = "jobs",
       .where = kTraced,
       .says = "How many sessions are replayed; more than the trace has: some again."},
      {.name = "workload.gap_s",
       .type = Real{0, 1e6},
       .fallback = value("1"),
       .unit = "s",
       .where = kGenerated,
       .says = kSaysGap},
      {.name = "workload.gap_s",
       .type = Real{0, 1e6},
       .fallback = value("0.5"),
       .unit = "s",
       .where = kEightTurns,
       .says = kSaysGap},
  };
}

std::vector<KeyRow> rows_of_job_sizes() {
  return {
      {.name = "workload.min_turns",
       .type = Whole{1, 17},
       .fallback = value("10"),
       .unit = "turns",
       .where = kGenerated,
       .says = "Least turns of a generated job."},
      {.name = "workload.min_turns",
       .type = Whole{1, kMostOf32Bits},
       .fallback = value("1"),
       .unit = "turns",
       .where = kTraced,
       .neutral = "1",
       .says = "Recorded jobs with fewer turns are left out."},
      {.name = "workload.max_turns",
       .type = Whole{18, 100},
       .fallback = value("30"),
       .unit = "turns",
       .where = kGenerated,
       .says = "Most turns of a generated job."},
      {.name = "workload.max_turns",
       .type = Whole{1, kMostOf32Bits},
       .fallback = optional("no limit"),
       .unit = "turns",
       .where = kTraced,
       .says = "Recorded jobs with more turns are left out."},
      {.name = "workload.max_context",
       .type = Whole{4096, kMostOf32Bits},
       .fallback = computed("16384, or engine.max_model_len if that is less"),
       .unit = "tokens",
       .where = kGenerated,
       .says = "Most tokens of a generated job, its last answer included."},
      {.name = "workload.max_context",
       .type = Whole{1, kMostOf32Bits},
       .fallback = optional("engine.max_model_len alone limits them"),
       .unit = "tokens",
       .where = kTraced,
       .says = "Most tokens of a turn, prompt and answer; workload.too_long says what happens to "
               "sessions with more."},
      {.name = "workload.tool_hint",
       .type = Flag{},
       .fallback = value("false"),
       .where = kEightTurns,
       .says = "The client names the tool of each turn, which these agents' answers do not."},
      {.name = "workload.scale",
       .type = Real{0.001, 1},
       .fallback = value("1"),
       .where = kEightTurns,
       .neutral = "1",
       .says = "Factor on the lengths of tool outputs, for models with a short context."},
  };
}

std::vector<KeyRow> rows_of_recordings() {
  return {
      {.name = "workload.path",
       .type = FilePath{},
       .where = "workload.kind = lengths",
       .says = "File of request lengths: prompt and output, one request a line."},
      {.name = "workload.path",
       .type = FilePath{},
       .where = kTraced,
       .says = "A trace, plain or .gz; python3 -m kvsweep.traces makes one of what others "
               "recorded."},
      {.name = "workload.order",
       .type = OneOf{{"file", "id", "shuffled"}},
       .fallback = value("file"),
       .where = kTraced,
       .says = "Order in which recorded jobs are taken."},
      {.name = "workload.preset",
       .type = OneOf{{"none", "agentx"}},
       .fallback = value("none"),
       .where = kTraced,
       .neutral = "none",
       .says = "Defaults of the keys of traces: those of the AgentX benchmark, or ours."},
  };
}

std::vector<KeyRow> rows_of_replays() {
  return {
      {.name = "workload.pacing",
       .type = OneOf{{"think", "recorded", "end_to_start"}},
       .fallback = computed("end_to_start for the preset agentx, otherwise think"),
       .where = kTraced,
       .says = "When a turn starts after what it waits for: after the client's recorded time, as "
               "long after the start of the turn before as it did, or after the recorded server's "
               "idle time. Turns of which the trace does not say that start after another of these "
               "that it says."},
      {.name = "workload.gap_cap_s",
       .type = Real{0, 1e9},
       .fallback = optional("no cap, or 10 s for the preset agentx"),
       .unit = "s",
       .where = kTraced,
       .says = "Longest time before a turn; longer recorded ones are cut to it."},
      {.name = "workload.gap_fallback_s",
       .type = Real{0, 1e6},
       .fallback = value("0"),
       .unit = "s",
       .where = kTraced,
       .neutral = "0",
       .says = "Time before turns of which the trace does not say it."},
      {.name = "workload.time_scale",
       .type = Real{1e-6, 1e6},
       .fallback = value("1"),
       .where = kTraced,
       .neutral = "1",
       .says = "Factor on all recorded times, before the cap."},
      {.name = "workload.too_long",
       .type = OneOf{{"drop", "cut"}},
       .fallback = value("drop"),
       .where = kTraced,
       .says = "What happens to a session with a turn that does not fit: it is left out, or its "
               "agent ends before that turn."},
      {.name = "workload.start",
       .type = OneOf{{"beginning", "random"}},
       .fallback = computed("beginning, or random for the preset agentx"),
       .where = kTraced,
       .says = "Where a session begins: at its first turn, or at a random one behind a turn of one "
               "token that computes the prefix."},
      {.name = "workload.window_turns",
       .type = Whole{1, kMostOf32Bits},
       .fallback = optional("up to the session's last"),
       .unit = "turns",
       .where = kTraced,
       .says = "Most turns of a session's root, from its start on."},
      {.name = "workload.fresh_replays",
       .type = Flag{},
       .fallback = value("true"),
       .where = kTraced,
       .neutral = "true",
       .says = "A session that is replayed again shares no tokens with the first time."},
  };
}

std::vector<KeyRow> rows_of_request_lists() {
  return {
      {.name = "workload.n",
       .type = Whole{1, kMostRequests},
       .fallback = value("1"),
       .unit = "requests",
       .where = kFixed,
       .says = "Number of requests."},
      {.name = "workload.n",
       .type = Whole{1, kMostRequests},
       .fallback = value("20"),
       .unit = "requests",
       .where = kZipf,
       .says = "Number of requests."},
      {.name = "workload.n",
       .type = Whole{1, kMostRequests},
       .fallback = optional("all"),
       .unit = "requests",
       .where = kListed,
       .says = "Only the first requests of the list."},
      {.name = "workload.prompt",
       .type = Whole{1, kMostRequestTokens},
       .unit = "tokens",
       .where = kFixed,
       .says = "Prompt of each request."},
      {.name = "workload.output",
       .type = Whole{1, kMostRequestTokens},
       .fallback = value("1"),
       .unit = "tokens",
       .where = kFixed,
       .says = "Output of each request."},
      {.name = "workload.requests",
       .type = AnyText{},
       .where = "workload.kind = pair",
       .says = "Prompt and output of each request, as \"430+1024 3600+496\"."},
  };
}

std::vector<KeyRow> rows_of_random_requests() {
  return {
      {.name = "workload.min",
       .type = Whole{2, kMostRequestTokens},
       .fallback = value("128"),
       .unit = "tokens",
       .where = kZipf,
       .says = "Least length of a request, prompt and output together."},
      {.name = "workload.max",
       .type = Whole{4, kMostRequestTokens},
       .fallback = value("2048"),
       .unit = "tokens",
       .where = kZipf,
       .says = "Greatest length of a request, at least workload.min + 2."},
      {.name = "workload.theta",
       .type = Real{1e-6, 1 - 1e-6},
       .fallback = value("0.6"),
       .where = kZipf,
       .says = "Skew of the lengths, from nearly uniform (0) to nearly all short (1)."},
      {.name = "workload.prompt_to_output",
       .type = Real{1e-6, 1e6},
       .fallback = value("20"),
       .where = kZipf,
       .says = "Ratio of prompt to output tokens of a request."},
      {.name = "workload.seed",
       .type = Whole{0, kMostOf64Bits},
       .fallback = value("42"),
       .where = "workload.kind != zipf",
       .says = "Seed of what is drawn at random: lengths, token ids, or the order of shuffled "
               "jobs."},
      {.name = "workload.seed",
       .type = Whole{0, std::numeric_limits<std::uint32_t>::max()},
       .fallback = value("42"),
       .where = kZipf,
       .says = "Seed of lengths and token ids."},
  };
}

}  // namespace

std::vector<KeyRow> rows_of_workload() {
  std::vector<KeyRow> rows = rows_of_arrivals();
  for (const auto more : {rows_of_agents, rows_of_job_sizes, rows_of_recordings, rows_of_replays,
                          rows_of_request_lists, rows_of_random_requests})
    for (KeyRow& row : more()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace worker
