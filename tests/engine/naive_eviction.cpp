#include "tests/engine/naive_eviction.hpp"

#include <algorithm>
#include <tuple>

namespace naive {

void Eviction::registered(int block, int before, int i, const Turn& turn) {
  held_[block] = {.content = ++contents_,
                  .before = before == 0 ? 0 : held_.at(before).content,
                  .job = turn.job,
                  .turn = turn.turn,
                  .computed_by = turn.job};
  use(held_[block], i);
}

void Eviction::hit(int block, int before, int i, const Turn& turn) {
  std::erase(protected_, block);
  Held& held = held_.at(block);
  held.before = before == 0 ? 0 : held_.at(before).content;
  held.found |= held.job != turn.job || (!config_.counts_jobs && held.turn != turn.turn);
  held.job = turn.job;
  held.turn = turn.turn;
  held.shared |= turn.job != held.computed_by;
  held.closed = false;
  use(held, i);
}

void Eviction::use(Held& held, int i) {
  const double growth = config_.cost_growth * config_.block_size;
  held.worth = evicted_worth_ + ++held.uses * (1 + growth * i);
}

void Eviction::released(const std::vector<int>& table, const Turn& turn, int now_ms) {
  if (turn.finished && turn.turn > 0) {
    new_tokens_ += turn.prompt;
    ++turns_;
  }
  double needed = turn.tokens - config_.spare_tokens;
  if (turn.finished && turns_ > 0) needed += new_tokens_ / turns_;
  if (turn.finished && turn.last) needed = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (!held_.contains(table[i])) continue;
    Held& held = held_.at(table[i]);
    const int first = static_cast<int>(i) * config_.block_size;
    held.needed = first < needed;
    held.closed |= turn.finished && turn.last && !held.shared;
    give_priority(held, first, turn, now_ms);
  }
}

void Eviction::give_priority(Held& held, int token, const Turn& turn, int now_ms) const {
  int priority = 35, until_ms = -1;
  const bool generated = token >= turn.prompt && !config_.generated.empty();
  for (const Retained& range : generated ? config_.generated : config_.retained) {
    if (token < range.begin || token >= range.end) continue;
    priority = range.priority;
    until_ms = range.lasts_ms < 0 ? -1 : now_ms + range.lasts_ms;
    break;
  }
  const auto longer = [](int a, int b) { return b >= 0 && (a < 0 || a > b); };
  const bool lasts = held.given && (held.until_ms < 0 || held.until_ms > now_ms);
  const bool keeps = lasts && (held.priority > priority ||
                               (held.priority == priority && longer(held.until_ms, until_ms)));
  held.given = true;
  if (keeps) return;
  held.priority = priority;
  held.until_ms = until_ms;
}

void Eviction::freed(int block) {
  if (!held_.contains(block)) return;
  Held& held = held_.at(block);
  held.released = ++releases_;
  if (!held.found || config_.rule != "slru") return;
  protected_.push_back(block);
  if (static_cast<int>(protected_.size()) <=
      static_cast<int>(config_.protected_fraction * config_.num_blocks))
    return;
  Held& first = held_.at(protected_.front());
  protected_.erase(protected_.begin());
  first.found = false;
  first.released = ++releases_;
}

double Eviction::rank(const Held& held, int now_ms) const {
  if (config_.rule == "slru") return held.found ? 1 : 0;
  if (config_.rule == "tail_lru") return held.needed ? 1 : 0;
  if (config_.rule == "cost_aware") return held.worth;
  if (config_.rule == "session_close") return held.closed ? 0 : 1;
  return held.until_ms >= 0 && held.until_ms <= now_ms ? 35 : held.priority;
}

int Eviction::victim(const std::vector<int>& free, int now_ms) const {
  std::vector<int> leaves;
  for (const int block : free) {
    if (!held_.contains(block)) continue;
    const int content = held_.at(block).content;
    if (std::ranges::none_of(held_, [&](const auto& h) { return h.second.before == content; }))
      leaves.push_back(block);
  }
  if (leaves.empty())
    return *std::ranges::find_if(free, [&](int block) { return held_.contains(block); });
  return *std::ranges::min_element(leaves, {}, [&](int block) {
    return std::tuple(rank(held_.at(block), now_ms), held_.at(block).released);
  });
}

void Eviction::evicted(int block) {
  evicted_worth_ = std::max(evicted_worth_, held_.at(block).worth);
  std::erase(protected_, block);
  lost(block);
}

}  // namespace naive
