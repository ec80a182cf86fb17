// Hits and misses of whole turns against exhaustive search: of what to keep between turns, and of
// the order of turns over a cache without limit.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/support/catch.hpp"
#include "workers/bounds/cache_bounds.hpp"

namespace {

constexpr int kTokens = 4;  // of a block

using Blocks = std::set<int>;

/// The blocks of a turn, told apart by numbers.
struct TurnPlan {
  int job = 0, number = 0;
  std::vector<int> filled;  // the first `looked_for` of them are looked for
  std::size_t looked_for = 0;
};

struct Jobs {
  workload::Workload workload;
  std::vector<TurnPlan> turns;  // by job
};

/// Two or three jobs of one or two turns, whose first blocks are the same.
Jobs random_jobs(std::mt19937& random) {
  Jobs made;
  const int shared = static_cast<int>(random() % 3);  // blocks
  for (int job = 0, jobs = 2 + static_cast<int>(random() % 2); job < jobs; ++job) {
    workload::Job& own = made.workload.jobs.emplace_back();
    int prompt = 0, output = 0;
    for (int turn = 0, turns = 1 + static_cast<int>(random() % 2); turn < turns; ++turn) {
      prompt += output + 1 + static_cast<int>(random() % 10) + (turn == 0 ? shared * kTokens : 0);
      output = 1 + static_cast<int>(random() % 6);
      own.turns.push_back({prompt, output, engine::ToolId::none, std::chrono::seconds(1)});
      TurnPlan& plan = made.turns.emplace_back(TurnPlan{job, turn, {}, 0});
      for (int block = 0; block < (prompt + output - 1) / kTokens; ++block)
        plan.filled.push_back(block < shared ? block : 100 * (job + 1) + block);
      plan.looked_for = static_cast<std::size_t>((prompt - 1) / kTokens);
    }
    for (int at = 0; at < prompt + output; ++at)
      own.tokens.push_back(
          static_cast<engine::TokenId>(at < shared * kTokens ? at : 1000 * (job + 1) + at));
  }
  return made;
}

/// An order of the turns of all jobs, in which each job's own follow one another.
std::vector<TurnPlan> shuffled(const Jobs& jobs, std::mt19937& random) {
  std::vector<TurnPlan> order = jobs.turns;
  std::ranges::shuffle(order, random);
  std::map<int, int> next;
  for (TurnPlan& turn : order) {
    const int number = next[turn.job]++;
    turn = *std::ranges::find_if(jobs.turns, [&](const TurnPlan& each) {
      return each.job == turn.job && each.number == number;
    });
  }
  return order;
}

/// All ways to keep at most `most` of the blocks.
std::vector<Blocks> some_of(const Blocks& blocks, std::size_t most) {
  std::vector<Blocks> all = {{}};
  for (const int block : blocks) {
    for (std::size_t i = 0, n = all.size(); i < n; ++i) {
      if (all[i].size() == most) continue;
      all.push_back(all[i]);
      all.back().insert(block);
    }
  }
  return all;
}

int missed(const TurnPlan& turn, const Blocks& kept) {
  return static_cast<int>(std::count_if(
      turn.filled.begin(), turn.filled.begin() + static_cast<std::ptrdiff_t>(turn.looked_for),
      [&](int block) { return !kept.contains(block); }));
}

/// The least misses of turns one after another, of all that can be kept between two of them.
int least_of_all(const std::vector<TurnPlan>& turns, std::size_t capacity) {
  std::map<Blocks, int> fewest = {{{}, 0}};
  int least = 0;
  for (const TurnPlan& turn : turns) {
    std::map<Blocks, int> next;
    least = std::numeric_limits<int>::max();
    for (const auto& [kept, before] : fewest) {
      const int now = before + missed(turn, kept);
      least = std::min(least, now);
      Blocks all = kept;
      all.insert(turn.filled.begin(), turn.filled.end());
      for (const Blocks& some : some_of(all, capacity)) {
        const auto [known, is_new] = next.try_emplace(some, now);
        known->second = std::min(known->second, now);
      }
    }
    fewest = std::move(next);
  }
  return least;
}

std::vector<bounds::Served> one_by_one(const std::vector<TurnPlan>& turns) {
  std::vector<bounds::Served> served;
  for (const TurnPlan& turn : turns) {
    const auto at = 2 * static_cast<double>(served.size());
    served.push_back({turn.job, turn.number, at, at + 1});
  }
  return served;
}

/// Tokens that turns find whose blocks are all kept.
int found_tokens(const std::vector<TurnPlan>& turns) {
  Blocks kept;
  int found = 0;
  for (const TurnPlan& turn : turns) {
    found += kTokens * (static_cast<int>(turn.looked_for) - missed(turn, kept));
    kept.insert(turn.filled.begin(), turn.filled.end());
  }
  return found;
}

}  // namespace

TEST_CASE("the least misses of turns are those of the best of all ways to keep blocks or not") {
  std::mt19937 random(41);
  int beyond_compulsory = 0;
  for (int i = 0; i < 200; ++i) {
    const Jobs jobs = random_jobs(random);
    const auto order = shuffled(jobs, random);
    const std::size_t capacity = random() % 4;
    const bounds::MissBound bound =
        bounds::TurnBlocks(jobs.workload, kTokens)
            .least_misses(one_by_one(order), static_cast<std::int64_t>(capacity));
    REQUIRE(bound.least == least_of_all(order, capacity));
    beyond_compulsory += bound.least > bound.compulsory ? 1 : 0;
  }
  CHECK(beyond_compulsory >= 50);
}

TEST_CASE("the most hits are those of the best order of turns over a cache without limit") {
  std::mt19937 random(42);
  for (int i = 0; i < 200; ++i) {
    const Jobs jobs = random_jobs(random);
    const auto most =
        bounds::most_hits(jobs.workload, kTokens, bounds::Found::whole_blocks).most_tokens;
    std::vector<int> places;
    for (const TurnPlan& turn : jobs.turns) places.push_back(turn.job);
    int best = 0;
    do {
      std::map<int, int> next;
      std::vector<TurnPlan> order;
      for (const int job : places) {
        const int number = next[job]++;
        order.push_back(*std::ranges::find_if(jobs.turns, [&](const TurnPlan& each) {
          return each.job == job && each.number == number;
        }));
      }
      best = std::max(best, found_tokens(order));
    } while (std::ranges::next_permutation(places).found);
    REQUIRE(best == most);
  }
}
