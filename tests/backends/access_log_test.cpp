// Processing of logged accesses: expectations, checks, clocks and buffers, with hand-written
// segments.
#include "workers/backends/access_log.hpp"

#include <atomic>
#include <numeric>
#include <set>

#include "tests/backends/access_check.hpp"
#include "tests/support/catch.hpp"
#include "workers/backends/background.hpp"
#include "workers/engine/base/errors.hpp"

using Catch::Matchers::Contains;
using namespace backends;
using engine::Nanos;
using kernels::AccessKernel;
using kernels::AccessKind;

namespace {

constexpr int kBlock = 16;

/// One request in blocks 5, 9 and 7 that decodes its 40th token, on a processor of 2 GHz with a
/// clock that read 1,000,000 when its nanoseconds read 500.
class DecodeStep {
 public:
  explicit DecodeStep(AccessLogOptions options = {})
      : log({.layers = IndexRanges::parse("0"),
             .heads = options.heads,
             .steps = options.steps,
             .max_records = options.max_records,
             .check = check_accesses},
            {.block_size = kBlock, .kv_heads = 1}, 2, 100) {
    for (const std::uint32_t block : {5u, 9u, 7u})
      request_.blocks.push_back(engine::BlockId{block});
    plan_.step = 3;
    plan_.scheduled.push_back({&request_, engine::SchedKind::running, 1, 39, 0, true, true});
    begin(AccessKernel::append);
    wrote(7, 7);
    begin(AccessKernel::decode_attention);
    for (const AccessKind kind : {AccessKind::read_key, AccessKind::read_value}) {
      read(kind, 5, 0, 16);
      read(kind, 9, 0, 16);
      read(kind, 7, 0, 8);
    }
  }

  void begin(AccessKernel kernel) {
    kernels::SegmentHeader header = {};
    header.kernel = static_cast<std::uint8_t>(kernel);
    header.step = 3;
    header.begin_clock = 1'000'000;
    header.end_clock = header.begin_clock + 4'000;
    header.begin_time = 500;
    header.end_time = header.begin_time + 2'000;
    headers.push_back(header);
    records.emplace_back();
  }
  kernels::AccessRecord& add(AccessKind kind, int block, int first, int count) {
    kernels::AccessRecord record = {};
    record.ticks = static_cast<std::uint32_t>(100 * (records.back().size() + 1));
    record.kind = static_cast<std::uint8_t>(kind);
    record.block[0] = static_cast<std::uint8_t>(block);
    record.first_slot = static_cast<std::uint8_t>(first);
    record.n_slots = static_cast<std::uint8_t>(count);
    return records.back().emplace_back(record);
  }
  void read(AccessKind kind, int block, int first, int count) {
    add(kind, block, first, count).duration = 10;
  }
  void wrote(int block, int slot) {
    add(AccessKind::write_key, block, slot, 1);
    add(AccessKind::write_value, block, slot, 1);
  }

  std::string problem() {
    if (!log.admit(plan_)) return "not logged";
    std::vector<AccessSegment> segments;
    for (std::size_t i = 0; i < headers.size(); ++i) {
      headers[i].count = static_cast<std::uint32_t>(records[i].size());
      segments.push_back({&headers[i], records[i].data()});
    }
    try {
      log.add(expect_accesses(plan_, log.pattern()), segments);
    } catch (const AccessMismatch& mismatch) {
      return mismatch.what();
    }
    return "whole";
  }

  AccessLog log;
  std::vector<kernels::SegmentHeader> headers;
  std::vector<std::vector<kernels::AccessRecord>> records;  // by segment
  static constexpr std::size_t kAppend = 0, kAttention = 1;

 private:
  engine::Request request_;
  engine::StepPlan plan_;
};

}  // namespace

TEST_CASE("a log is whole when every slot of the context is read once and the new one is written",
          "[access]") {
  DecodeStep step;
  CHECK(step.problem() == "whole");
  CHECK(step.log.accesses().size() == 8);
  REQUIRE(step.log.rows().size() == 1);
  CHECK(step.log.rows()[0].read_slots == 40);
  CHECK(step.log.runs().size() == 2);
}

TEST_CASE("a log that lacks an access, or has one twice, is refused", "[access]") {
  DecodeStep lacks, twice;
  lacks.records[DecodeStep::kAttention].pop_back();
  CHECK_THAT(lacks.problem(),
             Contains("read values of 0 slots of block 7 for head 0, its tokens need 8"));
  twice.read(AccessKind::read_key, 9, 0, 16);
  CHECK_THAT(twice.problem(), Contains("read keys of 32 slots of block 9"));
}

TEST_CASE("a log with a block that is not the row's is refused", "[access]") {
  DecodeStep step;
  step.records[DecodeStep::kAttention][1].block[0] = 8;
  CHECK_THAT(
      step.problem(),
      Contains("row 0 (job 0, turn 0) read keys of block 8, which is not in its block table"));
}

TEST_CASE("a log of slots without a token, or of a write to an old one, is refused", "[access]") {
  DecodeStep beyond, old;
  beyond.records[DecodeStep::kAttention][2].n_slots = 9;
  CHECK_THAT(beyond.problem(), Contains("read keys of tokens 32 to 40 of a context of 40"));
  old.records[DecodeStep::kAppend][0].first_slot = 6;
  CHECK_THAT(old.problem(), Contains("wrote keys of tokens 38 to 38"));
}

TEST_CASE("a log with times outside of its warp's is refused", "[access]") {
  DecodeStep step;
  step.records[DecodeStep::kAttention][0].ticks = 3'841;  // and 160 ticks until the data arrives
  CHECK_THAT(step.problem(), Contains("ends 4001 ticks behind its warp's begin, the warp 4000"));
}

TEST_CASE("a segment of an earlier step, of a layer that is not logged, or of no row is refused",
          "[access]") {
  DecodeStep earlier, layer, row, kind;
  earlier.headers[1].step = 2;
  CHECK_THAT(earlier.problem(), Contains("it holds a segment of step 2"));
  layer.headers[1].layer = 1;
  CHECK_THAT(layer.problem(), Contains("and layer 1"));
  row.records[DecodeStep::kAttention][3].row = 1;
  CHECK_THAT(row.problem(), Contains("row 1 is in the log, of 1"));
  kind.records[DecodeStep::kAttention][3].kind = 2;
  CHECK_THAT(kind.problem(), Contains("kernel 2 logged an access of kind 2"));
}

TEST_CASE("ticks become nanoseconds by the two clocks at both ends, whatever the frequency",
          "[access]") {
  DecodeStep step;
  CHECK(step.problem() == "whole");
  std::multiset<std::uint64_t> times;
  for (const Access& access : step.log.accesses()) {
    times.insert(access.time);
    const bool write = access.kind >= AccessKind::write_key;
    CHECK(access.duration_ns == (write ? 0u : 80u));  // 160 ticks of half a nanosecond
  }
  CHECK(times == std::multiset<std::uint64_t>{550, 550, 600, 600, 650, 700, 750, 800});
  CHECK(std::ranges::is_sorted(step.log.accesses(), {}, &Access::time));
}

TEST_CASE("logging stops before the step that would exceed the most records, and says where",
          "[access]") {
  DecodeStep fits({.max_records = 8}), exceeds({.max_records = 7});
  CHECK(fits.problem() == "whole");
  CHECK_FALSE(fits.log.stopped_at().has_value());
  CHECK(exceeds.problem() == "not logged");
  CHECK(exceeds.log.stopped_at() == 3u);
  CHECK(exceeds.log.accesses().empty());
}

TEST_CASE("steps that are not asked for are not logged", "[access]") {
  DecodeStep step({.steps = IndexRanges::parse("1-2,4")});
  CHECK(step.problem() == "not logged");
  CHECK_FALSE(step.log.stopped_at().has_value());
}

TEST_CASE("layers and heads that the model does not have are refused", "[access]") {
  const AccessPattern pattern{.block_size = kBlock, .kv_heads = 2};
  const auto log = [&](AccessLogOptions options) { AccessLog(options, pattern, 4, 100); };
  CHECK_NOTHROW(log({.layers = IndexRanges::parse("3")}));
  CHECK_THROWS_WITH(log({.layers = IndexRanges::parse("0-4")}),
                    "record.access_layers names layer 4, the model has 4 (from 0)");
  CHECK_THROWS_WITH(log({.heads = IndexRanges::parse("2")}), Contains("names head 2"));
  CHECK_THROWS_WITH(AccessLog({}, pattern, 4, 1 << 25), Contains("16777216"));
}

TEST_CASE("ranges hold what they name", "[access]") {
  const IndexRanges some = IndexRanges::parse("0,4,8-11");
  CHECK(some.of(10) == std::vector<int>{0, 4, 8, 9});
  CHECK(some.last() == 11);
  CHECK(IndexRanges::parse("all").of(3) == std::vector<int>{0, 1, 2});
  for (const char* wrong : {"", "none", "3-", "-3", "4-2", "1,,2", "1.5", "99999999999999999999"}) {
    INFO(wrong);
    CHECK_THROWS_AS(IndexRanges::parse(wrong), engine::InputError);
  }
}

TEST_CASE("pieces are counted as they are cut", "[access]") {
  for (const int tile : {1, 16, 48})
    for (const int block : {1, 8, 16, 24, 64})
      for (const int length : {0, 1, 15, 16, 17, 48, 95, 191, 193, 1000}) {
        std::set<int> cuts;
        for (int at = 0; at < length; ++at)
          if (at % tile == 0 || at % block == 0) cuts.insert(at);
        INFO(tile << ' ' << block << ' ' << length);
        CHECK(pieces(length, tile, block) == static_cast<std::int64_t>(cuts.size()));
        CHECK(pieces(length, 0, block) == (length + block - 1) / block);
      }
}

TEST_CASE("a chunk's query tiles each read the keys before their end", "[access]") {
  engine::Request request;
  for (std::uint32_t block = 1; block <= 10; ++block)
    request.blocks.push_back(engine::BlockId{block});
  engine::StepPlan plan;
  plan.scheduled.push_back({&request, engine::SchedKind::running, 70, 50, 0, false, false});
  AccessPattern pattern{.block_size = kBlock, .kv_heads = 1, .query_tile = 32};
  const ExpectedStep chunk = expect_accesses(plan, pattern);
  CHECK(chunk.rows[0].tiles == std::vector<int>{82, 114, 120});
  CHECK(chunk.rows[0].blocks.size() == 8);
  CHECK(chunk.writes == 140);
  pattern.query_tile = 0;
  CHECK(expect_accesses(plan, pattern).rows[0].tiles == std::vector<int>{120});
  pattern.prompts_unread = true;
  CHECK(expect_accesses(plan, pattern).rows[0].read_slots() == 120);  // a chunk, not a prompt
  plan.scheduled[0].computed_before = 0;
  CHECK(expect_accesses(plan, pattern).rows[0].read_slots() == 0);
}

TEST_CASE("a drifting clock is tied to the cell's by lines between instants", "[access]") {
  ClockTie tie;
  tie.add(1'000, Nanos{0});
  CHECK(tie.to_host(1'500) == Nanos{500});
  tie.add(2'001'000, Nanos{1'000'000});  // twice as fast
  CHECK(tie.to_host(1'001'000) == Nanos{500'000});
  CHECK(tie.residual() == Nanos{0});
  tie.add(4'001'000, Nanos{2'000'100});
  CHECK(tie.residual() == Nanos{50});
  CHECK(tie.to_host(3'001'000) == Nanos{1'500'050});
  CHECK(tie.to_host(0) == Nanos{-500});
}

TEST_CASE("buffers are emptied in the order in which they were filled", "[access]") {
  std::vector<int> emptied;
  BufferRing<int> ring({}, [&](int& buffer) { emptied.push_back(buffer); });
  for (int i = 0; i < 100; ++i) {
    int& buffer = ring.take();
    buffer = i;
    ring.pass_on(buffer);
  }
  ring.finish();
  std::vector<int> wanted(100);
  std::iota(wanted.begin(), wanted.end(), 0);
  CHECK(emptied == wanted);
}

TEST_CASE("a producer without a free buffer waits, and the wait is counted", "[access]") {
  std::atomic<BufferRing<int>*> ring{nullptr};
  BufferRing<int> made({}, [&](int&) {
    while (ring == nullptr || ring.load()->waits() == 0) std::this_thread::yield();
  });
  for (int i = 0; i < 3; ++i) made.pass_on(made.take());
  CHECK(made.waits() == 0);
  ring = &made;
  made.pass_on(made.take());
  made.finish();
  CHECK(made.waits() == 1);
  CHECK(made.waited() > Nanos{0});
}

TEST_CASE("an error while a buffer is emptied is thrown where buffers are filled", "[access]") {
  BufferRing<int> ring({}, [](int&) { throw AccessMismatch("wrong"); });
  ring.pass_on(ring.take());
  CHECK_THROWS_AS(ring.finish(), AccessMismatch);
  CHECK_THROWS_AS(ring.take(), AccessMismatch);
}

TEST_CASE("work is left to a backlog without waiting, and taken in its order", "[access]") {
  std::atomic<bool> may_take{false};
  std::vector<int> taken;
  Backlog<int> backlog([&](int& item) {
    while (!may_take) std::this_thread::yield();
    taken.push_back(item);
  });
  for (int i = 0; i < 100; ++i) backlog.add(i);  // none has been taken
  may_take = true;
  backlog.finish();
  std::vector<int> wanted(100);
  std::iota(wanted.begin(), wanted.end(), 0);
  CHECK(taken == wanted);
}

TEST_CASE("an error in a backlog is thrown where it is filled, and ends it", "[access]") {
  std::vector<int> taken;
  Backlog<int> backlog([&](int& item) {
    taken.push_back(item);
    if (item == 2) throw AccessMismatch("wrong");
  });
  backlog.add(1);
  backlog.finish();
  backlog.add(2);
  CHECK_THROWS_AS(backlog.finish(), AccessMismatch);
  CHECK_THROWS_AS(backlog.add(3), AccessMismatch);
  CHECK(taken == std::vector<int>{1, 2});
}
