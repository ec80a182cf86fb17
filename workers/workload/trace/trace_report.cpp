#include "workers/workload/trace/trace_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "workers/workload/trace/working_set.hpp"
#include "workers/workload/workload_report.hpp"

namespace workload {
namespace {

template <class... Values>
void line(std::ostream& out, const char* format, Values... values) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  out << text.data() << '\n';
}

/// The values behind a description.
struct Samples {
  std::vector<double> turns, prompt, first_prompt, fresh, output, peak, think_s;
  int agents = 0, joins = 0;

  explicit Samples(const TraceSet& set) {
    for (const TraceSession& session : set.sessions) add(session);
  }

  void add(const TraceSession& session) {
    double most = 0;
    for (const TraceTurn& turn : session.turns) {
      prompt.push_back(turn.prompt_tokens);
      (turn.waits_for.empty() ? first_prompt : fresh)
          .push_back(turn.prompt_tokens - turn.shared_tokens);
      output.push_back(turn.output_tokens);
      if (!turn.waits_for.empty() && !std::isnan(turn.think_s)) think_s.push_back(turn.think_s);
      most = std::max<double>(most, turn.prompt_tokens + turn.output_tokens);
      joins += turn.waits_for.size() > 1 ? 1 : 0;
    }
    turns.push_back(static_cast<double>(session.turns.size()));
    peak.push_back(most);
    agents += static_cast<int>(session.agents.size());
  }
};

void print_sharing(std::ostream& out, const TraceSet& set, const std::vector<int>& block_sizes) {
  double prompts = 0;
  for (const TraceSession& session : set.sessions)
    for (const TraceTurn& turn : session.turns) prompts += turn.prompt_tokens;
  out << "\nprefix hit of a cache that never forgets, share of prompt tokens\n";
  line(out, "  %-24s%14s%14s", "", "own session", "all sessions");
  for (const int size : block_sizes) {
    double own = 0, all = 0;
    for (const auto& session : ideal_sharing(set, size))
      for (const TurnSharing& turn : session) own += turn.from_session, all += turn.from_all;
    line(out, "  blocks of %4d tokens    %12.1f %%%12.1f %%", size, 100 * own / prompts,
         100 * all / prompts);
  }
  PublishedSharing published = published_sharing(set);
  line(out, "  as published             %26.1f %%  of tokens, %.1f %% of the trace's own blocks",
       100 * published.tokens, 100 * published.blocks);
  std::ranges::sort(published.by_session);
  const auto quartile = [&](std::size_t q) {
    return 100 * published.by_session[(published.by_session.size() - 1) * q / 4];
  };
  line(out, "  sessions' quartiles      %10.1f, %.1f, %.1f %%", quartile(1), quartile(2),
       quartile(3));
}

void print_pools(std::ostream& out, const Samples& samples, const std::vector<KvPool>& pools) {
  if (pools.empty()) return;
  const Distribution context = distribution_of(samples.prompt),
                     peak = distribution_of(samples.peak);
  out << "\nKV pools\n";
  for (const KvPool& pool : pools)
    line(out, "  %-24s%12.0f tokens: %.1f mean prompts, %.1f median peaks of a session",
         pool.name.c_str(), pool.tokens, pool.tokens / context.mean, pool.tokens / peak.p50);
}

/// Sessions in progress and their last prompts, at one time.
struct Moment {
  int live = 0;
  double tokens = 0;
};

/// At `parts` times from the first arrival to the last turn, as recorded.
std::vector<Moment> timeline(const TraceSet& set, double end_s, std::size_t parts) {
  std::vector<Moment> moments(parts);
  for (const TraceSession& session : set.sessions) {
    const auto part = [&](double t_s) {
      const double share = (session.arrival_s + (std::isnan(t_s) ? 0 : t_s)) / end_s;
      return std::min(static_cast<std::size_t>(share * static_cast<double>(parts)), parts - 1);
    };
    const std::size_t last = part(session.turns.back().start_s);
    std::size_t turn = 0;
    for (std::size_t i = part(0); i <= last; ++i) {
      while (turn + 1 < session.turns.size() && part(session.turns[turn + 1].start_s) <= i) ++turn;
      ++moments[i].live;
      moments[i].tokens += session.turns[turn].prompt_tokens;
    }
  }
  return moments;
}

void print_timeline(std::ostream& out, const TraceSet& set, const std::vector<KvPool>& pools) {
  double end_s = 0;
  for (const TraceSession& session : set.sessions) {
    const double last = session.turns.back().start_s;
    end_s = std::max(end_s, session.arrival_s + (std::isnan(last) ? 0 : last));
    if (std::isnan(session.arrival_s)) return;
  }
  if (!(end_s > 0)) return;
  constexpr std::size_t kParts = 12;
  const std::vector<Moment> moments = timeline(set, end_s, kParts);
  const double most = std::ranges::max(moments, {}, &Moment::tokens).tokens;
  line(out, "\n%-12s%10s%16s  %s", "time (s)", "sessions", "prompt tokens",
       pools.empty() ? "" : ("pools of " + pools.front().name).c_str());
  for (std::size_t i = 0; i < kParts; ++i) {
    constexpr double kWidth = 40;
    const auto bar = static_cast<std::size_t>(most > 0 ? kWidth * moments[i].tokens / most : 0);
    const double from_s = end_s * static_cast<double>(i) / static_cast<double>(kParts);
    line(out, "%-12.0f%10d%16.0f  %-5s%s", from_s, moments[i].live, moments[i].tokens,
         pools.empty()
             ? ""
             : std::to_string(moments[i].tokens / pools.front().tokens).substr(0, 4).c_str(),
         std::string(bar, '#').c_str());
  }
}

}  // namespace

void describe_trace(std::ostream& out, const TraceSet& set, const std::vector<int>& block_sizes,
                    const std::vector<KvPool>& pools) {
  const Samples samples(set);
  line(out, "%-11s%s, format %s", "trace", set.source.c_str(), set.format.c_str());
  for (const std::string& note : set.notes) out << "           " << note << '\n';
  line(out, "%-11s%zu sessions, %d agents, %zu requests, %d of them wait for more than one",
       "holds", set.sessions.size(), samples.agents, samples.prompt.size(), samples.joins);
  out << '\n';
  print_heading(out);
  print_row(out, "requests per session", distribution_of(samples.turns), 0);
  print_row(out, "prompt tokens", distribution_of(samples.prompt), 0);
  print_row(out, "first prompt", distribution_of(samples.first_prompt), 0);
  print_row(out, "new tokens, later turns", distribution_of(samples.fresh), 0);
  print_row(out, "output tokens", distribution_of(samples.output), 0);
  print_row(out, "peak context of a session", distribution_of(samples.peak), 0);
  if (!samples.think_s.empty())
    print_row(out, "think time (s)", distribution_of(samples.think_s), 1);
  print_sharing(out, set, block_sizes);
  print_pools(out, samples, pools);
  print_timeline(out, set, pools);
}

}  // namespace workload
