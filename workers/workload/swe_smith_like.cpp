#include "workers/workload/generators.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "workers/engine/base/errors.hpp"
#include "workers/workload/random.hpp"
#include "workers/workload/synthetic_job.hpp"
#include "workers/workload/workload_report.hpp"

// The lognormal parameters below were fitted to trajectories of real agents. The shares, the mean
// number of turns and the two medians are those of the published workload.
namespace workload {
namespace {

/// Tokens of a tool's output: lognormal, capped.
struct Tool {
  const char* name;
  double share_percent;
  double mu, sigma, cap;
};

constexpr std::array<Tool, 9> kTools = {{{"cd", 26, 4.6, 1.1, 1800},
                                         {"editor_view", 21, 6.7, 0.9, 3000},
                                         {"editor_create", 13, 3.2, 0.25, 80},
                                         {"editor_str_replace", 12, 5.9, 0.45, 1200},
                                         {"submit", 11, 6.3, 0.8, 2500},
                                         {"find", 6, 5.0, 1.1, 2500},
                                         {"rm", 5, 2.8, 0.3, 40},
                                         {"grep", 4, 5.2, 1.2, 2500},
                                         {"others", 2, 4.5, 1.0, 1500}}};
constexpr int kEditorCreate = 2, kSubmit = 4;

constexpr double kMeanTurns = 17.91, kTurnSigma = 0.38;

constexpr int kSystemTokens = 604;
constexpr double kIssueMedian = 1100, kIssueSigma = 0.55;
constexpr int kMinIssue = 16, kMaxIssue = 6000;

constexpr double kMedianAnswer = 30, kAnswerSigma = 0.75;
constexpr int kMinAnswer = 9, kMaxAnswer = 2000;
// editor_create occasionally writes a long file.
constexpr double kLongFileShare = 0.08, kLongFileMu = 2.0, kLongFileSigma = 0.6;

constexpr double kMedianPrompt = 6945;
// Brings the median prompt close to the published one; pin_prompts() adjusts the rest.
constexpr double kGrowthFactor = 1.39;
constexpr int kMinGrowth = 9;  // framing of the tool's message, one token in it, role prefix

constexpr int kToolBlockTokens = 5, kEndOfTurnTokens = 1;
constexpr int kMaxText = 78;  // longer answers are long because of their tool call's arguments

struct TurnPlan {
  int tool;
  double answer_draw, growth_draw;  // not yet scaled to the medians
  int answer = 0, growth = 0;       // growth: tokens between this answer and the next one
};

struct JobPlan {
  int issue;
  std::vector<TurnPlan> turns;
};

using Plan = std::vector<JobPlan>;

int rounded(double value, int low, int high) {
  return static_cast<int>(std::lround(std::clamp<double>(value, low, high)));
}

std::vector<int> draw_turn_counts(Random& random, const SweSmithLikeConfig& config) {
  const double mu = std::log(kMeanTurns) - kTurnSigma * kTurnSigma / 2;
  std::vector<int> counts(static_cast<std::size_t>(config.jobs));
  for (int& count : counts)
    count = rounded(random.lognormal(mu, kTurnSigma), config.min_turns, config.max_turns);

  // Adds or removes one turn per job, job by job, until the sum is exact. This terminates, because
  // the mean lies between the limits.
  const long wanted = std::lround(kMeanTurns * config.jobs);
  long missing = wanted - std::accumulate(counts.begin(), counts.end(), 0L);
  for (std::size_t i = 0; missing != 0; i = (i + 1) % counts.size()) {
    const int step = missing > 0 ? 1 : -1;
    if (counts[i] + step < config.min_turns || counts[i] + step > config.max_turns) continue;
    counts[i] += step;
    missing -= step;
  }
  return counts;
}

/// The tools of all turns except each job's last, which is `submit`: the published shares of all
/// turns to within one turn, in random order.
std::vector<int> deal_tools(Random& random, int turns, int jobs) {
  std::vector<int> deck;
  double share = 0;
  for (std::size_t tool = 0, dealt = 0; tool < kTools.size(); ++tool) {
    share += kTools[tool].share_percent / 100;
    const auto until = static_cast<std::size_t>(std::lround(share * turns));
    deck.insert(deck.end(), until - dealt, static_cast<int>(tool));
    dealt = until;
  }
  const auto submits = std::equal_range(deck.begin(), deck.end(), kSubmit);
  const auto last_turns = std::min<std::ptrdiff_t>(jobs, submits.second - submits.first);
  deck.erase(submits.first, submits.first + last_turns);
  random.shuffle(deck);
  return deck;
}

TurnPlan draw_turn(Random& random, int tool) {
  const Tool& parameters = kTools[static_cast<std::size_t>(tool)];
  TurnPlan turn{.tool = tool, .answer_draw = 0, .growth_draw = 0};
  turn.answer_draw = random.lognormal(std::log(kMedianAnswer), kAnswerSigma);
  if (tool == kEditorCreate && random.random() < kLongFileShare)
    turn.answer_draw *= random.lognormal(kLongFileMu, kLongFileSigma);
  turn.growth_draw =
      kGrowthFactor * std::min(random.lognormal(parameters.mu, parameters.sigma), parameters.cap);
  return turn;
}

Plan draw_plan(Random& random, const SweSmithLikeConfig& config) {
  const auto counts = draw_turn_counts(random, config);
  auto deck = deal_tools(random, std::accumulate(counts.begin(), counts.end(), 0), config.jobs);
  Plan plan(counts.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    plan[i].issue =
        rounded(random.lognormal(std::log(kIssueMedian), kIssueSigma), kMinIssue, kMaxIssue);
    for (int turn = 1; turn < counts[i]; ++turn) {
      plan[i].turns.push_back(draw_turn(random, deck.back()));
      deck.pop_back();
    }
    plan[i].turns.push_back(draw_turn(random, kSubmit));
  }
  return plan;
}

void pin_answers(Plan& plan) {
  std::vector<double> draws;
  for (const JobPlan& job : plan)
    for (const TurnPlan& turn : job.turns) draws.push_back(turn.answer_draw);
  const double scale = kMedianAnswer / median(std::move(draws));
  for (JobPlan& job : plan)
    for (TurnPlan& turn : job.turns)
      turn.answer = rounded(scale * turn.answer_draw, kMinAnswer, kMaxAnswer);
}

int sum_answers(const JobPlan& job) {
  return std::accumulate(job.turns.begin(), job.turns.end(), 0,
                         [](int sum, const TurnPlan& turn) { return sum + turn.answer; });
}

/// Shortens a job so that every answer fits, with at least kMinGrowth before it: answers may take
/// half of the context, the issue the rest. Only has an effect when max_context is far below the
/// default.
void make_room(JobPlan& job, int max_context) {
  const int answers = sum_answers(job), turns = static_cast<int>(job.turns.size());
  if (answers > max_context / 2)
    for (TurnPlan& turn : job.turns) {
      const double share = static_cast<double>(turn.answer) / answers;
      turn.answer =
          std::max(kMinAnswer, static_cast<int>(share * (max_context / 2 - kMinAnswer * turns)));
    }
  const int growths = static_cast<int>(job.turns.size()) - 1;
  const int room =
      max_context - kSystemTokens - kRolePrefixTokens - sum_answers(job) - growths * kMinGrowth;
  job.issue = std::min(job.issue, room);
}

/// Scales the tool outputs by `scale`. Once the job would exceed max_context, its tools return only
/// their framing.
void grow(JobPlan& job, double scale, int max_context) {
  const int turns = static_cast<int>(job.turns.size());
  const int start = kSystemTokens + job.issue + kRolePrefixTokens;
  int room = max_context - start - sum_answers(job) - (turns - 1) * kMinGrowth;
  for (TurnPlan& turn : job.turns) {
    const int wanted = rounded(scale * turn.growth_draw, kMinGrowth, max_context) - kMinGrowth;
    turn.growth = kMinGrowth + std::min(wanted, room);
    room -= turn.growth - kMinGrowth;
  }
  job.turns.back().growth = 0;
}

double median_prompt(const Plan& plan) {
  std::vector<double> prompts;
  for (const JobPlan& job : plan) {
    int prompt = kSystemTokens + job.issue + kRolePrefixTokens;
    for (const TurnPlan& turn : job.turns) {
      prompts.push_back(prompt);
      prompt += turn.answer + turn.growth;
    }
  }
  return median(std::move(prompts));
}

/// Bisects for the scale that gives the published median prompt; prompts grow with the scale.
void pin_prompts(Plan& plan, int max_context) {
  double low = 0.5, high = 2;
  for (int round = 0; round < 24; ++round) {
    const double scale = std::sqrt(low * high);
    for (JobPlan& job : plan) grow(job, scale, max_context);
    const double found = median_prompt(plan);
    if (found == kMedianPrompt) return;
    (found < kMedianPrompt ? low : high) = scale;
  }
}

Plan make_plan(const SweSmithLikeConfig& config) {
  Random random(config.seed);
  Plan plan = draw_plan(random, config);
  pin_answers(plan);
  for (JobPlan& job : plan) make_room(job, config.max_context);
  pin_prompts(plan, config.max_context);
  return plan;
}

void answer(SyntheticJob& job, int tokens) {
  const int spoken = tokens - kToolBlockTokens - kEndOfTurnTokens;
  const int text = std::min(spoken * 10 / 23, kMaxText);  // 10 and 13 in the published example
  job.append_answer(SegmentKind::assistant_text, text);
  job.append_answer(SegmentKind::tool_calls, spoken - text);
  job.append_answer(SegmentKind::tool_block, kToolBlockTokens);
  job.append_answer(SegmentKind::end_of_turn, kEndOfTurnTokens);
}

Job make_job(const JobPlan& plan, const SyntheticTokens& tokens, int number, engine::Nanos gap) {
  SyntheticJob job(generated_id("swe-smith-like", number));
  job.append_prompt(SegmentKind::system, kSystemTokens);
  job.append_prompt(SegmentKind::user, plan.issue);
  for (const TurnPlan& turn : plan.turns) {
    job.append_prompt(SegmentKind::role_prefix, kRolePrefixTokens);
    answer(job, turn.answer);
    const bool last = &turn == &plan.turns.back();
    job.end_turn(engine::ToolId{turn.tool}, last ? engine::Nanos{0} : gap);
    if (!last) job.append_prompt(SegmentKind::tool_response, turn.growth - kRolePrefixTokens);
  }
  return job.finish(tokens, static_cast<std::uint32_t>(number), kSystemTokens);
}

void check(const SweSmithLikeConfig& config) {
  check_generated(config.jobs, config.gap_s, config.vocabulary);
  if (config.max_context < 4096) {
    throw engine::InputError("max_context: found " + std::to_string(config.max_context) +
                             ", allowed at least 4096 tokens");
  }
  if (config.min_turns < 1 || config.min_turns > 17 || config.max_turns < 18 ||
      config.max_turns > 100) {
    throw engine::InputError("min_turns and max_turns: found " + std::to_string(config.min_turns) +
                             " and " + std::to_string(config.max_turns) +
                             ", allowed 1 to 17 and 18 to 100, so that the mean can be 17.91");
  }
}

}  // namespace

Workload make_swe_smith_like(const SweSmithLikeConfig& config) {
  check(config);
  const SyntheticTokens tokens(config.seed, config.vocabulary);
  Workload workload;
  workload.source = "swe_smith_like seed " + std::to_string(config.seed);
  workload.tokenizer = "built in";
  for (const Tool& tool : kTools) workload.tools.emplace_back(tool.name);
  const Plan plan = make_plan(config);
  workload.jobs.reserve(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i)
    workload.jobs.push_back(
        make_job(plan[i], tokens, static_cast<int>(i), engine::from_seconds(config.gap_s)));
  return workload;
}

}  // namespace workload
