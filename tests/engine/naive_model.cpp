#include "tests/engine/naive_model.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <tuple>

namespace naive {

Model::Model(const Config& config) : config_(config), eviction_(config.eviction) {
  for (int block = 1; block < config.num_blocks; ++block) free_.push_back(block);
}

void Model::submit(const Request& request) {
  Request& added = requests_.emplace(request.id, request).first->second;
  added.prompt = static_cast<int>(added.tokens.size());
  waiting_.push_back(request.id);
}

void Model::abort(int id) {
  free(requests_.at(id));
  requests_.at(id).ended = true;
  std::erase(waiting_, id);
  std::erase(running_, id);
}

Step Model::step() {
  Step step;
  evicted_.clear();
  sort_waiting();
  choose_threshold();
  schedule_running(step);
  if (step.preempted.empty()) admit_waiting(step);
  sort_waiting();
  step.waiting = waiting_;
  step.running = running_;
  step.evicted = evicted_;
  step.free_list = free_;
  sample(step);
  now_ms_ += config_.step_ms;
  step.free_list_after = free_;
  std::set<Content> contents;
  for (const auto& [content, block] : cached_) contents.insert(content);
  step.distinct_contents = static_cast<int>(contents.size());
  return step;
}

void Model::choose_threshold() {
  threshold_ = config_.prefill_threshold;
  if (!config_.newest || threshold_ == 0) return;
  const auto all = static_cast<int>(running_.size() + waiting_.size());
  if (all <= 1) {
    threshold_ = 0;
  } else if (config_.adaptive_threshold) {
    threshold_ = std::max(threshold_, config_.token_budget / all);
  }
}

void Model::schedule_running(Step& step) {
  for (std::size_t i = 0; i < running_.size() && budget_left(step) > 0; ++i) {
    const std::vector<int> order = running_;
    Request& request = requests_.at(running_[i]);
    const int n = std::min({wanted(request, request.computed), budget_left(step),
                            config_.max_model_len - 1 - request.computed});
    if (n == 0) continue;
    // A token in flight is the last one.
    const auto longest = static_cast<int>(request.tokens.size() + request.outputs.size());
    if (request.in_flight > 0 && request.computed + 2 - request.in_flight >= longest) continue;
    const auto before = static_cast<std::size_t>(i);
    if (!make_room(request, n, step)) {
      if (!config_.newest) return;
      // Those before it, of which some may have been preempted, have had their turn.
      const auto seen = std::ranges::count_if(order.begin(), order.begin() + before, [&](int id) {
        return std::ranges::find(running_, id) != running_.end();
      });
      i = static_cast<std::size_t>(seen) - 1;
      continue;
    }
    i = static_cast<std::size_t>(std::ranges::find(running_, request.id) - running_.begin());
    step.scheduled.push_back({request.id, "running", n, request.computed, request.table});
  }
}

/// Preempts until the request fits; false when it preempted itself.
bool Model::make_room(Request& request, int num_tokens, Step& step) {
  while (!allocate(request, num_tokens, {}, 0)) {
    const int id = victim();
    preempt(id, step);
    if (id == request.id) return false;
  }
  return true;
}

void Model::preempt(int id, Step& step) {
  Request& request = requests_.at(id);
  const auto share = std::ranges::find(step.scheduled, id, &Share::id);
  if (share != step.scheduled.end()) {
    // The request will not be computed in this step: the blocks that it was about to fill have no
    // content.
    for (std::size_t i = 0; i < request.table.size(); ++i) {
      const int end = (static_cast<int>(i) + 1) * config_.block_size;
      if (end > request.computed) uncache(request.table[i]);
    }
    step.scheduled.erase(share);
  }
  eviction_.released(request.table, turn_of(request, false), now_ms_);
  free(request);
  request.computed = 0;
  request.preempted = true;
  std::erase(running_, id);
  waiting_.insert(waiting_.begin(), id);
  step.preempted.push_back(id);
}

void Model::admit_waiting(Step& step) {
  while (!waiting_.empty() && budget_left(step) > 0) {
    if (static_cast<int>(running_.size()) == config_.max_num_seqs) return;
    sort_waiting();
    Request& request = requests_.at(waiting_.front());
    const std::vector<int> hits = find_hits(request);
    const int computed = static_cast<int>(hits.size()) * config_.block_size;
    int n = wanted(request, computed);
    if (!config_.chunked_prefill && n > budget_left(step)) return;
    n = std::min(n, budget_left(step));
    const auto all = static_cast<int>(request.tokens.size());
    const int reserve = config_.reserve_full_sequence ? std::min(all, config_.max_model_len) : 0;
    const int spare = config_.newest && !running_.empty() ? config_.watermark : 0;
    if (!allocate(request, n, hits, reserve, spare)) return;
    waiting_.erase(waiting_.begin());
    running_.push_back(request.id);
    request.computed = computed;
    step.scheduled.push_back(
        {request.id, request.preempted ? "resumed" : "new", n, computed, request.table});
  }
}

bool Model::allocate(Request& request, int num_tokens, const std::vector<int>& hits, int reserve,
                     int spare) {
  const auto free_hits = std::ranges::count_if(hits, [&](int block) { return refs_[block] == 0; });
  const auto held = static_cast<int>(request.table.size() + hits.size());
  const auto missing = [&](int tokens) {
    return std::max(0, blocks_for(tokens) - held) + static_cast<int>(free_hits);
  };
  const auto free = static_cast<int>(free_.size()) - spare;
  const int computed = request.computed + static_cast<int>(hits.size()) * config_.block_size;
  if (reserve > 0 && missing(reserve) > free) return false;
  if (missing(computed + num_tokens) > free) return false;

  for (const int block : hits) {
    if (refs_[block]++ == 0) std::erase(free_, block);
    const int before = request.table.empty() ? 0 : request.table.back();
    eviction_.hit(block, before, request.cached_blocks, turn_of(request, false));
    request.table.push_back(block);
    ++request.cached_blocks;
  }
  rank_victims(blocks_for(computed + num_tokens) - static_cast<int>(request.table.size()));
  while (static_cast<int>(request.table.size()) < blocks_for(computed + num_tokens)) {
    const int block = free_.front();
    free_.erase(free_.begin());
    refs_[block] = 1;
    const auto old = std::ranges::find(cached_, block, &std::pair<Content, int>::second);
    if (old != cached_.end()) {
      evicted_.push_back(block);
      cached_.erase(old);
      eviction_.lost(block);
    }
    request.table.push_back(block);
  }
  cache_full(request, std::min(computed + num_tokens, static_cast<int>(request.tokens.size())));
  return true;
}

void Model::cache_full(Request& request, int tokens) {
  for (; config_.prefix_caching && (request.cached_blocks + 1) * config_.block_size <= tokens;
       ++request.cached_blocks) {
    const int end = (request.cached_blocks + 1) * config_.block_size;
    const auto i = static_cast<std::size_t>(request.cached_blocks);
    eviction_.registered(request.table[i], i == 0 ? 0 : request.table[i - 1], request.cached_blocks,
                         turn_of(request, false));
    cached_.push_back({Content(request.tokens.begin(), request.tokens.begin() + end),
                       request.table[static_cast<std::size_t>(request.cached_blocks)]});
  }
}

void Model::free(Request& request) {
  std::ranges::reverse(request.table);
  std::ptrdiff_t empty_ones = 0;
  for (const int block : request.table) {
    if (--refs_[block] > 0) continue;
    const bool partial_first = config_.partial_blocks_first || eviction_.ranks();
    const bool first = partial_first && !is_cached(block);
    free_.insert(first ? free_.begin() + empty_ones++ : free_.end(), block);
    eviction_.freed(block);
  }
  request.table.clear();
  request.cached_blocks = 0;
}

bool Model::is_cached(int block) const {
  return std::ranges::find(cached_, block, &std::pair<Content, int>::second) != cached_.end();
}

Turn Model::turn_of(const Request& request, bool finished) const {
  return {request.job, request.turn,   request.last_turn,
          finished,    request.prompt, static_cast<int>(request.tokens.size())};
}

/// Where this many blocks are about to be taken, those that are evicted come first.
void Model::rank_victims(int wanted) {
  if (!eviction_.ranks()) return;
  const auto cached = std::ranges::count_if(free_, [&](int block) { return is_cached(block); });
  const auto empty = static_cast<int>(free_.size()) - static_cast<int>(cached);
  std::vector<int> first;
  while (static_cast<int>(first.size()) < wanted - empty) {
    first.push_back(eviction_.victim(free_, now_ms_));
    eviction_.evicted(first.back());
    std::erase(free_, first.back());
  }
  free_.insert(free_.begin(), first.begin(), first.end());
}

/// The longest chain of cached blocks that leaves at least one token to compute.
std::vector<int> Model::find_hits(const Request& request) const {
  std::vector<int> hits;
  if (!config_.prefix_caching) return hits;
  for (int end = config_.block_size; end < static_cast<int>(request.tokens.size());
       end += config_.block_size) {
    const Content prefix(request.tokens.begin(), request.tokens.begin() + end);
    const auto found = std::ranges::find(cached_, prefix, &std::pair<Content, int>::first);
    if (found == cached_.end()) break;
    hits.push_back(found->second);
  }
  return hits;
}

int Model::victim() const {
  if (!config_.by_priority) return running_.back();
  return *std::ranges::max_element(running_, {}, [&](int id) {
    return std::tuple(requests_.at(id).priority, requests_.at(id).arrival);
  });
}

void Model::sort_waiting() {
  if (!config_.by_priority) return;
  std::ranges::sort(waiting_, {}, [&](int id) {
    return std::tuple(requests_.at(id).priority, requests_.at(id).arrival, id);
  });
}

void Model::sample(Step& step) {
  for (Share& share : step.scheduled) {
    Request& request = requests_.at(share.id);
    request.computed += share.num_tokens;
    share.samples = request.computed == static_cast<int>(request.tokens.size()) + request.in_flight;
    request.in_flight += share.samples ? 1 : 0;
  }
  flights_.push_back(step.scheduled);
  if (config_.async && flights_.size() == 1 && !step.scheduled.empty()) return;
  const std::vector<Share> oldest = flights_.front();
  flights_.erase(flights_.begin());
  apply(oldest, step);
}

void Model::apply(const std::vector<Share>& shares, Step& step) {
  for (const Share& share : shares) {
    Request& request = requests_.at(share.id);
    if (request.ended || !share.samples) continue;
    --request.in_flight;
    request.tokens.push_back(request.outputs.front());
    request.outputs.erase(request.outputs.begin());
    const bool full = static_cast<int>(request.tokens.size()) >= config_.max_model_len;
    if (std::ranges::find(running_, request.id) != running_.end())
      cache_full(request, request.computed - request.in_flight);
    if (!full && !request.outputs.empty()) continue;
    request.ended = true;
    eviction_.released(request.table, turn_of(request, true), now_ms_ + config_.step_ms);
    free(request);
    std::erase(running_, request.id);
    std::erase(waiting_, request.id);
    step.finished.push_back(request.id);
  }
}

int Model::budget_left(const Step& step) const {
  int left = config_.token_budget;
  for (const Share& share : step.scheduled) left -= share.num_tokens;
  return left;
}

int Model::wanted(const Request& request, int computed) const {
  const int left = static_cast<int>(request.tokens.size()) + request.in_flight - computed;
  return threshold_ > 0 ? std::min(left, threshold_) : left;
}

int Model::blocks_for(int tokens) const {
  return (tokens + config_.block_size - 1) / config_.block_size;
}

void Model::uncache(int block) {
  std::erase_if(cached_, [&](const auto& entry) { return entry.second == block; });
  eviction_.lost(block);
}

std::string to_string(const Step& step) {
  std::ostringstream out;
  const auto list = [&](const char* name, const std::vector<int>& ids) {
    out << ' ' << name << '[';
    for (const int id : ids) out << ' ' << id;
    out << " ]";
  };
  for (const Share& s : step.scheduled) {
    out << s.id << ':' << s.kind << ' ' << s.num_tokens << '@' << s.computed_before;
    list("table", s.table);
    out << "; ";
  }
  list("preempted", step.preempted);
  list("waiting", step.waiting);
  list("running", step.running);
  list("evicted", step.evicted);
  list("free", step.free_list);
  list("finished", step.finished);
  list("then free", step.free_list_after);
  out << " contents " << step.distinct_contents;
  return out.str();
}

}  // namespace naive
