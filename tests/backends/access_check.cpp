#include "tests/backends/access_check.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace backends {
namespace {

using kernels::AccessKernel;
using kernels::AccessKind;
using kernels::AccessRecord;
using kernels::SegmentHeader;

constexpr std::size_t kKinds = 4;
constexpr std::array<const char*, kKinds> kVerbs = {"read keys of", "read values of",
                                                    "wrote keys of", "wrote values of"};

bool is_write(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(AccessKind::write_key);
}

/// Checks one layer of one step.
class LayerCheck {
 public:
  LayerCheck(const ExpectedStep& expected, const AccessPattern& pattern, int layer,
             const std::vector<int>& heads)
      : expected_(expected), pattern_(pattern), layer_(layer), heads_(heads) {
    for (std::size_t row = 0; row < expected.rows.size(); ++row) {
      const auto& blocks = expected.rows[row].blocks;
      for (std::size_t i = 0; i < blocks.size(); ++i)
        places_.emplace(key(row, blocks[i]), static_cast<int>(i));
      starts_.push_back(all_blocks_);
      all_blocks_ += blocks.size();
    }
    slots_.resize(heads.size() * kKinds * all_blocks_);
  }

  void take(const SegmentHeader& header, const AccessRecord& record) {
    check_record(header, record);
    const auto head = std::ranges::find(heads_, int{record.kv_head});
    if (head == heads_.end())
      fail("head " + std::to_string(record.kv_head) + " is in the log, which is not logged");
    const std::size_t row = record.row;
    const int place = place_of(row, record);
    check_slots(row, place, record);
    counted(static_cast<std::size_t>(head - heads_.begin()), record.kind, row,
            static_cast<std::size_t>(place)) += record.n_slots;
  }

  void check_totals() {
    for (std::size_t head = 0; head < heads_.size(); ++head)
      for (std::uint8_t kind = 0; kind < kKinds; ++kind)
        for (std::size_t row = 0; row < expected_.rows.size(); ++row)
          for (std::size_t i = 0; i < expected_.rows[row].blocks.size(); ++i)
            check_total(head, kind, row, i);
  }

 private:
  static std::uint64_t key(std::size_t row, std::uint32_t block) {
    return static_cast<std::uint64_t>(row) << 32 | block;
  }
  std::int64_t& counted(std::size_t head, std::uint8_t kind, std::size_t row, std::size_t block) {
    return slots_[(head * kKinds + kind) * all_blocks_ + starts_[row] + block];
  }

  void check_record(const SegmentHeader& header, const AccessRecord& record) const {
    const bool append = header.kernel == static_cast<std::uint8_t>(AccessKernel::append);
    if (record.kind >= kKinds || append != is_write(record.kind))
      fail("kernel " + std::to_string(header.kernel) + " logged an access of kind " +
           std::to_string(record.kind));
    if (record.row >= expected_.rows.size())
      fail("row " + std::to_string(record.row) + " is in the log, of " +
           std::to_string(expected_.rows.size()));
    const std::uint64_t ends =
        std::uint64_t{record.ticks} + std::uint64_t{record.duration} * kernels::kDurationTicks;
    if (ends > header.end_clock - header.begin_clock)
      fail("an access ends " + std::to_string(ends) + " ticks behind its warp's begin, the warp " +
           std::to_string(header.end_clock - header.begin_clock));
  }

  int place_of(std::size_t row, const AccessRecord& record) const {
    const std::uint32_t block = block_of(record);
    const auto place = places_.find(key(row, block));
    if (place == places_.end())
      fail(describe(row) + ' ' + kVerbs[record.kind] + " block " + std::to_string(block) +
           ", which is not in its block table");
    return place->second;
  }

  void check_slots(std::size_t row, int place, const AccessRecord& record) const {
    const AccessRow& of = expected_.rows[row];
    const int first = place * pattern_.block_size + record.first_slot;
    const int from = is_write(record.kind) ? of.context - of.new_tokens : 0;
    if (record.n_slots == 0 || first < from || first + record.n_slots > of.context ||
        record.first_slot + record.n_slots > pattern_.block_size)
      fail(describe(row) + ' ' + kVerbs[record.kind] + " tokens " + std::to_string(first) + " to " +
           std::to_string(first + record.n_slots - 1) + " of a context of " +
           std::to_string(of.context));
  }

  std::int64_t expected_slots(std::uint8_t kind, const AccessRow& row, std::size_t block) const {
    const int size = pattern_.block_size, begin = static_cast<int>(block) * size;
    if (is_write(kind)) {
      const int from = row.context - row.new_tokens;
      return std::max(0, std::min(row.context, begin + size) - std::max(from, begin));
    }
    std::int64_t slots = 0;
    for (const int keys : row.tiles) slots += std::clamp(keys - begin, 0, size);
    return slots;
  }

  void check_total(std::size_t head, std::uint8_t kind, std::size_t row, std::size_t block) {
    const std::int64_t found = counted(head, kind, row, block);
    const std::int64_t wanted = expected_slots(kind, expected_.rows[row], block);
    if (found != wanted)
      fail(describe(row) + ' ' + kVerbs[kind] + ' ' + std::to_string(found) + " slots of block " +
           std::to_string(expected_.rows[row].blocks[block]) + " for head " +
           std::to_string(heads_[head]) + ", its tokens need " + std::to_string(wanted));
  }

  std::string describe(std::size_t row) const {
    const AccessRow& of = expected_.rows[row];
    return "row " + std::to_string(row) + " (job " + std::to_string(of.job) + ", turn " +
           std::to_string(of.turn) + ')';
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw AccessMismatch("access log of step " + std::to_string(expected_.step) + ", layer " +
                         std::to_string(layer_) + ": " + problem);
  }

  const ExpectedStep& expected_;
  const AccessPattern& pattern_;
  int layer_;
  const std::vector<int>& heads_;
  std::unordered_map<std::uint64_t, int> places_;  // index of a row's block in its table
  std::vector<std::size_t> starts_;                // start of a row's blocks among all blocks
  std::size_t all_blocks_ = 0;
  std::vector<std::int64_t> slots_;  // [head][kind][row's block]
};

/// Groups segments by logged layer. Throws when one belongs to another layer or step.
std::vector<std::vector<const AccessSegment*>> by_layer(const ExpectedStep& expected,
                                                        const std::vector<int>& layers,
                                                        std::span<const AccessSegment> segments) {
  std::vector<std::vector<const AccessSegment*>> sorted(layers.size());
  for (const AccessSegment& segment : segments) {
    const auto layer = std::ranges::find(layers, int{segment.header->layer});
    const bool of_step = segment.header->step == static_cast<std::uint16_t>(expected.step);
    if (layer == layers.end() || !of_step)
      throw AccessMismatch("access log of step " + std::to_string(expected.step) +
                           ": it holds a segment of step " + std::to_string(segment.header->step) +
                           " (modulo 65536) and layer " + std::to_string(segment.header->layer));
    sorted[static_cast<std::size_t>(layer - layers.begin())].push_back(&segment);
  }
  return sorted;
}

}  // namespace

void check_accesses(const ExpectedStep& expected, const AccessPattern& pattern,
                    const LoggedParts& parts, std::span<const AccessSegment> segments) {
  const auto sorted = by_layer(expected, parts.layers, segments);
  for (std::size_t i = 0; i < parts.layers.size(); ++i) {
    LayerCheck layer(expected, pattern, parts.layers[i], parts.heads);
    for (const AccessSegment* segment : sorted[i])
      for (std::uint32_t n = 0; n < segment->header->count; ++n)
        layer.take(*segment->header, segment->records[n]);
    layer.check_totals();
  }
}

}  // namespace backends
