#include "workers/bounds/cache_bounds.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "workers/bounds/turn_blocks.hpp"

namespace bounds {
namespace {

struct State {
  int fillers = 0;  // turns in progress that fill it
  bool filled = false;
  std::int64_t left = 0;  // when the last of them ended
};

}  // namespace

HitBound most_hits(const workload::Workload& workload, int block_size, Found found) {
  HitBound bound;
  // By block: the fewest of its tokens that a turn which fills it can find. 0 if that turn may
  // generate or compute the block without looking for it. The first turn to fill it finds none.
  std::unordered_map<engine::BlockHash, int, HashOf> fewest;
  for_each_turn(workload, block_size, [&](std::uint32_t job, std::size_t turn, auto hashes) {
    const int prompt = workload.jobs[job].turns[turn].prompt_tokens;
    const int before_last = std::max(0, prompt - 1);
    const int most =
        found == Found::whole_blocks ? before_last / block_size * block_size : before_last;
    bound.prompt_tokens += prompt;
    bound.most_tokens += most;
    int first = 0;  // token of the block
    for (const engine::BlockHash& hash : hashes) {
      const int tokens = std::clamp(most - first, 0, block_size);
      const auto [block, is_new] = fewest.try_emplace(hash, tokens);
      block->second = std::min(block->second, tokens);
      first += block_size;
    }
  });
  for (const auto& [hash, tokens] : fewest) bound.most_tokens -= tokens;
  return bound;
}

std::int64_t most_kept(std::vector<Wait> waits, std::int64_t capacity) {
  std::ranges::sort(waits, {}, &Wait::begin);
  std::map<std::int64_t, std::int64_t> kept;  // blocks, by when they are used
  std::int64_t now = 0, all = 0;
  for (const Wait& wait : waits) {
    for (; !kept.empty() && kept.begin()->first <= wait.begin; kept.erase(kept.begin()))
      now -= kept.begin()->second;
    kept[wait.end] += wait.blocks;
    now += wait.blocks;
    all += wait.blocks;
    // The block that is used last gives room.
    while (now > capacity) {
      const auto last = std::prev(kept.end());
      const std::int64_t lost = std::min(last->second, now - capacity);
      last->second -= lost;
      now -= lost;
      all -= lost;
      if (last->second == 0) kept.erase(last);
    }
  }
  return all;
}

std::int64_t least_misses(std::span<const std::uint32_t> accesses, std::int64_t capacity) {
  std::unordered_map<std::uint32_t, std::int64_t> last;
  std::vector<Wait> waits;
  for (std::size_t at = 0; at < accesses.size(); ++at) {
    const auto now = static_cast<std::int64_t>(at);
    const auto [before, is_new] = last.try_emplace(accesses[at], now);
    if (!is_new) waits.push_back({std::exchange(before->second, now), now});
  }
  return static_cast<std::int64_t>(accesses.size()) - most_kept(std::move(waits), capacity);
}

TurnBlocks::TurnBlocks(const workload::Workload& workload, int block_size) {
  std::unordered_map<engine::BlockHash, std::uint32_t, HashOf> numbers;
  for_each_turn(workload, block_size, [&](std::uint32_t job, std::size_t turn, auto hashes) {
    Turn& of = turns_[{static_cast<int>(workload.program_of(job)),
                       workload.number_of(job, static_cast<int>(turn))}];
    for (const engine::BlockHash& hash : hashes)
      of.filled.push_back(
          numbers.try_emplace(hash, static_cast<std::uint32_t>(numbers.size())).first->second);
    const int before_last = workload.jobs[job].turns[turn].prompt_tokens - 1;
    of.looked_for =
        std::min(of.filled.size(), static_cast<std::size_t>(std::max(0, before_last / block_size)));
  });
  blocks_ = numbers.size();
}

struct TurnBlocks::Event {
  double at_s;
  bool ends;
  const Turn* turn;
};

/// In order of time; of those at one time, turns begin before others end.
std::vector<TurnBlocks::Event> TurnBlocks::events_of(std::span<const Served> turns) const {
  std::vector<Event> events;
  for (const Served& served : turns) {
    const Turn& turn = turns_.at({served.program, served.number});
    events.push_back({served.admitted_s, false, &turn});
    events.push_back({served.finished_s, true, &turn});
  }
  std::ranges::stable_sort(events, {}, [](const Event& e) { return std::tuple(e.at_s, e.ends); });
  return events;
}

MissBound TurnBlocks::least_misses(std::span<const Served> turns, std::int64_t capacity) const {
  std::vector<State> states(blocks_);
  std::vector<Wait> waits;
  MissBound bound;
  std::int64_t now = 0, found = 0;  // now: counts events
  for (const Event& event : events_of(turns)) {
    ++now;
    const auto& filled = event.turn->filled;
    for (std::size_t i = 0; i < filled.size(); ++i) {
      State& state = states[filled[i]];
      if (event.ends) {
        state.filled = true;
        if (--state.fillers == 0) state.left = now;
        continue;
      }
      const bool in_progress = state.fillers++ > 0;
      if (i >= event.turn->looked_for) continue;
      ++bound.looked_for;
      if (in_progress) {
        ++found;
      } else if (state.filled) {
        const bool same =
            !waits.empty() && waits.back().begin == state.left && waits.back().end == now;
        if (same)
          ++waits.back().blocks;
        else
          waits.push_back({state.left, now});
      } else {
        ++bound.compulsory;
      }
    }
  }
  bound.least = bound.looked_for - found - most_kept(std::move(waits), capacity);
  return bound;
}

}  // namespace bounds
