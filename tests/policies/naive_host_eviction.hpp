#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "workers/engine/base/clock.hpp"

namespace naive {

/// Content of the host tier by its number; the ones that a job uses by place in its context.
using Context = std::vector<int>;

/// The rules of host eviction, with a search for every answer. Content that a lookup holds stays.
class HostRule {
 public:
  virtual ~HostRule() = default;
  virtual int victim(const std::vector<int>& released) = 0;  // the one used least recently first
  virtual void stored(int) {}
  virtual void evicted(int) {}
  virtual void invalid(int) {}
  virtual void looked_up(const Context&) {}
  virtual void uses(int /*job*/, const Context&) {}
};

class Lru : public HostRule {
 public:
  int victim(const std::vector<int>& released) override { return released.front(); }
};

class Arc : public HostRule {
 public:
  explicit Arc(int slots) : slots_(slots) {}

  int victim(const std::vector<int>& released) override {
    const auto oldest = [&](const Context& list) {
      const auto found = std::ranges::find_if(
          list, [&](int each) { return std::ranges::find(released, each) != released.end(); });
      return found == list.end() ? -1 : *found;
    };
    const bool from_recent = static_cast<int>(recent_.size()) >= static_cast<int>(std::floor(p_));
    const int first = oldest(from_recent ? recent_ : frequent_);
    return first >= 0 ? first : oldest(from_recent ? frequent_ : recent_);
  }
  void stored(int content) override {
    std::erase(lost_recent_, content);
    std::erase(lost_frequent_, content);
    recent_.push_back(content);
  }
  void evicted(int content) override {
    Context& ghosts = std::erase(recent_, content) > 0 ? lost_recent_ : lost_frequent_;
    std::erase(frequent_, content);
    ghosts.push_back(content);
    if (static_cast<int>(ghosts.size()) > slots_) ghosts.erase(ghosts.begin());
  }
  void invalid(int content) override {
    std::erase(recent_, content);
    std::erase(frequent_, content);
  }
  void looked_up(const Context& prompt) override {
    for (auto content = prompt.rbegin(); content != prompt.rend(); ++content) touch(*content);
  }

 private:
  static bool to_end(Context& list, int content) {
    if (std::erase(list, content) == 0) return false;
    list.push_back(content);
    return true;
  }
  void touch(int content) {
    const auto size = [](const Context& list) { return static_cast<double>(list.size()); };
    if (std::erase(recent_, content) > 0) {
      frequent_.push_back(content);
    } else if (!to_end(frequent_, content)) {
      if (to_end(lost_recent_, content))
        p_ =
            std::min<double>(slots_, p_ + std::max(1.0, size(lost_frequent_) / size(lost_recent_)));
      else if (to_end(lost_frequent_, content))
        p_ = std::max(0.0, p_ - std::max(1.0, size(lost_recent_) / size(lost_frequent_)));
    }
  }

  int slots_;
  double p_ = 0;
  Context recent_, frequent_, lost_recent_, lost_frequent_;  // oldest first
};

/// When a job uses its context again; the greater, the later.
using Use = std::tuple<bool, engine::Nanos, std::uint32_t>;

class NextUse : public HostRule {
 public:
  /// `next_use` says it of a job with a context.
  explicit NextUse(std::function<Use(int job)> next_use) : next_use_(std::move(next_use)) {}

  int victim(const std::vector<int>& released) override {
    for (const int content : unused_)
      if (std::ranges::find(released, content) != released.end()) return content;
    int last = -1;
    Use latest;
    for (const int content : released) {
      const auto [use, job] = first_use(content);
      if (has_more(contexts_.at(job), content)) continue;
      if (last >= 0 && use < latest) continue;
      last = content;
      latest = use;
    }
    return last >= 0 ? last : released.front();
  }
  void stored(int content) override {
    stored_.insert(content);
    if (users(content).empty()) unused_.push_back(content);
  }
  void evicted(int content) override {
    stored_.erase(content);
    std::erase(unused_, content);
  }
  void invalid(int content) override { evicted(content); }
  void uses(int job, const Context& context) override {
    const Context before = contexts_[job];
    contexts_[job] = context;
    for (auto content = before.rbegin(); content != before.rend(); ++content)
      if (stored_.contains(*content) && users(*content).empty()) unused_.push_back(*content);
    for (const int content : context) std::erase(unused_, content);
  }

 private:
  std::vector<int> users(int content) const {
    std::vector<int> jobs;
    for (const auto& [job, context] : contexts_)
      if (std::ranges::find(context, content) != context.end()) jobs.push_back(job);
    return jobs;
  }
  std::pair<Use, int> first_use(int content) const {
    std::vector<std::pair<Use, int>> all;
    for (const int job : users(content)) all.emplace_back(next_use_(job), job);
    return *std::ranges::min_element(all);
  }
  /// Whether content behind this is stored.
  bool has_more(const Context& context, int content) const {
    return std::any_of(std::ranges::find(context, content) + 1, context.end(),
                       [&](int each) { return stored_.contains(each); });
  }

  std::function<Use(int)> next_use_;
  std::map<int, Context> contexts_;  // by job
  std::set<int> stored_;
  std::vector<int> unused_;  // stored, in the order in which they were given up
};

}  // namespace naive
