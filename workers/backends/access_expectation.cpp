#include "workers/backends/access_expectation.hpp"

#include <algorithm>
#include <numeric>

namespace backends {
namespace {

std::int64_t parts(std::int64_t length, std::int64_t size) { return (length + size - 1) / size; }

std::vector<int> tiles_of(const engine::ScheduledRequest& share, const AccessPattern& pattern) {
  const int context = share.computed_before + share.num_tokens;
  if (share.decode) return {context};
  if (pattern.prompts_unread && share.computed_before == 0) return {};
  const int size = pattern.query_tile > 0 ? pattern.query_tile : share.num_tokens;
  std::vector<int> tiles;
  for (int first = 0; first < share.num_tokens; first += size)
    tiles.push_back(std::min(context, share.computed_before + first + size));
  return tiles;
}

AccessRow row_of(const engine::ScheduledRequest& share, const AccessPattern& pattern) {
  const engine::Request& request = *share.request;
  AccessRow row;
  row.job = static_cast<std::int32_t>(index(request.spec.job));
  row.turn = request.spec.turn;
  row.decode = share.decode;
  row.context = share.computed_before + share.num_tokens;
  row.new_tokens = share.num_tokens;
  row.tiles = tiles_of(share, pattern);
  for (std::int64_t i = 0; i < parts(row.context, pattern.block_size); ++i)
    row.blocks.push_back(index(request.blocks.at(static_cast<std::size_t>(i))));
  return row;
}

}  // namespace

std::int64_t AccessRow::read_slots() const {
  return std::accumulate(tiles.begin(), tiles.end(), std::int64_t{0});
}

std::int64_t pieces(std::int64_t length, std::int64_t tile, std::int64_t block) {
  if (tile == 0) return parts(length, block);
  return parts(length, tile) + parts(length, block) - parts(length, std::lcm(tile, block));
}

ExpectedStep expect_accesses(const engine::StepPlan& plan, const AccessPattern& pattern) {
  ExpectedStep expected;
  expected.step = plan.step;
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    const AccessRow& row = expected.rows.emplace_back(row_of(share, pattern));
    const int tile = row.decode ? pattern.decode_tile : pattern.prefill_tile;
    expected.writes += 2 * std::int64_t{row.new_tokens};
    for (const int keys : row.tiles) expected.reads += 2 * pieces(keys, tile, pattern.block_size);
  }
  return expected;
}

}  // namespace backends
