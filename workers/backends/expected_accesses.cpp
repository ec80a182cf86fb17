#include "workers/backends/expected_accesses.hpp"

#include <numeric>

namespace backends {
namespace {

std::int64_t parts(std::int64_t length, std::int64_t size) { return (length + size - 1) / size; }

AccessRow row_of(const engine::ScheduledRequest& share, const AccessPattern& pattern) {
  const engine::Request& request = *share.request;
  AccessRow row;
  row.job = static_cast<std::int32_t>(index(request.spec.job));
  row.turn = request.spec.turn;
  row.decode = share.decode;
  row.context = share.computed_before + share.num_tokens;
  row.new_tokens = share.num_tokens;
  for_each_tile(share, pattern, [&](int keys) { row.tiles.push_back(keys); });
  row.blocks.reserve(static_cast<std::size_t>(parts(row.context, pattern.block_size)));
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

AccessCount count_accesses(const engine::StepPlan& plan, const AccessPattern& pattern) {
  AccessCount count;
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    const int tile = share.decode ? pattern.decode_tile : pattern.prefill_tile;
    count.writes += 2 * std::int64_t{share.num_tokens};
    for_each_tile(share, pattern,
                  [&](int keys) { count.reads += 2 * pieces(keys, tile, pattern.block_size); });
  }
  return count;
}

ExpectedStep expect_accesses(const engine::StepPlan& plan, const AccessPattern& pattern) {
  ExpectedStep expected;
  expected.step = plan.step;
  for (const engine::ScheduledRequest& share : plan.scheduled)
    expected.rows.push_back(row_of(share, pattern));
  const AccessCount count = count_accesses(plan, pattern);
  expected.reads = count.reads;
  expected.writes = count.writes;
  return expected;
}

}  // namespace backends
