// Cuts the prompts of a step into tiles of queries and, where whole tiles would leave
// multiprocessors idle, the keys of each tile into parts.
#include <algorithm>

#include "kernels/attention/prefill/segments.hpp"
#include "kernels/attention/prefill/work.cuh"
#include "kernels/device/capability.hpp"

namespace kernels::gpu {
namespace {

constexpr int kMostParts = 8, kSlots = 16;  // for each sharer

/// The cost of a part in tiles of keys, the unit of all costs here. One that is not a whole item
/// leaves a slot for each segment, or one for all of them if it is the item's first.
int cost_of(const PrefillPart& part, int key_tiles) {
  if (part.begin == 0 && part.end == key_tiles) return key_tiles;
  const int slots =
      part.begin == 0 ? 1 : prefill::segment_of(part.end - 1) + 1 - prefill::segment_of(part.begin);
  return part.end - part.begin + 2 + slots;
}

/// The bound of a segment that is nearest to a tile of keys, and not behind the last one.
int nearest_bound(int key_tile, int key_tiles) {
  if (key_tile >= key_tiles) return key_tiles;
  const int segment = prefill::segment_of(key_tile), begin = prefill::segment_begin(segment);
  const int end = std::min(key_tiles, prefill::segment_begin(segment + 1));
  return key_tile - begin < end - key_tile ? begin : end;
}

/// The parts of all items, cut near multiples of `length`.
class Cut {
 public:
  Cut(const std::vector<int>& key_tiles, int heads, int length)
      : key_tiles_(key_tiles), heads_(heads), length_(length) {
    const int longest = *std::max_element(key_tiles.begin(), key_tiles.end());
    // First parts first: CTAs that run at the same time then read the same keys.
    for (int place = 0; place * length < longest; ++place)
      for (std::size_t tile = 0; tile < key_tiles.size(); ++tile) add_place(tile, place);
  }
  const std::vector<PrefillPart>& parts() const { return parts_; }
  /// Whether the workspace of this many CTAs has room for it.
  bool fits(int sharers) const {
    return slots_ <= kSlots * sharers && static_cast<int>(parts_.size()) <= kMostParts * sharers;
  }
  /// The largest cost of a CTA, which takes parts as prefill_wgmma::item_of() says, and of merging
  /// the slots of an item.
  int cost(int sharers) const {
    std::vector<int> costs(static_cast<std::size_t>(sharers), 0);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto ctas = static_cast<std::size_t>(sharers), place = i % ctas;
      costs[i / ctas % 2 == 0 ? place : ctas - 1 - place] +=
          cost_of(parts_[i], key_tiles_[static_cast<std::size_t>(parts_[i].item / heads_)]);
    }
    return *std::max_element(costs.begin(), costs.end()) + most_slots_ / 2;
  }

 private:
  void add_place(std::size_t tile, int place) {
    const int all = key_tiles_[tile];
    PrefillPart part = {};
    part.begin = nearest_bound(place * length_, all);
    part.end = nearest_bound((place + 1) * length_, all);
    if (part.begin >= part.end) return;
    const int cut = nearest_bound(length_, all);
    part.cut = prefill::segment_of(cut - 1) + 1;
    if (place == 0) first_slot_.push_back(slots_);
    // Items of a tile have their slots one after another.
    const int slots = cut == all ? 0 : 2 + prefill::segment_of(all - 1) - part.cut;
    for (int head = 0; head < heads_; ++head) {
      part.item = static_cast<int>(tile) * heads_ + head;
      part.slot = first_slot_[tile] + head * slots;
      parts_.push_back(part);
    }
    if (place == 0) slots_ += slots * heads_;
    most_slots_ = std::max(most_slots_, slots);
  }

  const std::vector<int>& key_tiles_;
  int heads_, length_;
  std::vector<int> first_slot_;  // of each tile
  int slots_ = 0, most_slots_ = 0;
  std::vector<PrefillPart> parts_;
};

/// The cheapest cut, or none if whole items are.
std::vector<PrefillPart> cut_keys(const std::vector<int>& key_tiles, int heads, int sharers) {
  const int items = static_cast<int>(key_tiles.size()) * heads;
  const int longest = *std::max_element(key_tiles.begin(), key_tiles.end());
  if (longest <= prefill::segment_begin(1) || 2 * items > kMostParts * sharers) return {};
  int least = Cut(key_tiles, heads, longest).cost(sharers);
  std::vector<PrefillPart> best;
  for (int parts = 2; parts * items <= kMostParts * sharers; ++parts) {
    const int length = (longest + parts - 1) / parts;
    const Cut cut(key_tiles, heads, length);
    if (const int cost = cut.cost(sharers); cost < least && cut.fits(sharers)) {
      least = cost;
      best = cut.parts();
    }
    if (length <= prefill::segment_begin(1)) break;  // shorter ones are cut alike
  }
  return best;
}

}  // namespace

int prefill_tile_tokens(const HeadShape& shape) {
  return prefill::TileRows(shape.group()).tokens();
}

int prefill_sharers() { return has_wgmma() ? multiprocessors() : 0; }

int most_prefill_parts(int sharers) { return kMostParts * sharers; }
int prefill_slots(int sharers) { return kSlots * sharers; }

PrefillPlan plan_prefill(const HeadShape& shape, const std::vector<std::int32_t>& query_start,
                         const std::vector<std::int32_t>& context,
                         const std::vector<std::int32_t>& sequences, int sharers) {
  const int tokens = prefill_tile_tokens(shape);
  const auto queries = [&](std::int32_t s) {
    const auto i = static_cast<std::size_t>(s);
    return query_start[i + 1] - query_start[i];
  };
  PrefillPlan plan;
  for (const std::int32_t s : sequences)
    for (int first = 0; first < queries(s); first += tokens) plan.tiles.push_back({s, first});
  const auto keys = [&](const PrefillTile& tile) {
    const std::int32_t all = context[static_cast<std::size_t>(tile.sequence)];
    return std::min(all, all - queries(tile.sequence) + tile.first + tokens);
  };
  std::stable_sort(plan.tiles.begin(), plan.tiles.end(),
                   [&](const auto& a, const auto& b) { return keys(a) > keys(b); });
  if (plan.tiles.empty() || sharers == 0) return plan;
  std::vector<int> key_tiles;
  for (const PrefillTile& tile : plan.tiles)
    key_tiles.push_back((keys(tile) + prefill::kKeyTile - 1) / prefill::kKeyTile);
  plan.parts = cut_keys(key_tiles, shape.kv_heads, sharers);
  return plan;
}

}  // namespace kernels::gpu
