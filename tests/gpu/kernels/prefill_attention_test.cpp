#include "kernels/attention/prefill/segments.hpp"
#include "kernels/device/capability.hpp"
#include "tests/gpu/kernels/attention_world.hpp"

using namespace gpu_test;

namespace {

void check_prefill(const WorldShape& shape, const std::vector<Sequence>& sequences) {
  INFO(name(shape.type) << ", group " << shape.group << ", head_dim " << shape.head_dim
                        << ", block size " << shape.block_size << ", first sequence "
                        << sequences[0].queries << " of " << sequences[0].context);
  AttentionWorld world(shape, sequences);
  const Floats expected = world.expected();
  for (const bool portable : {false, true}) {
    INFO((portable ? "portable kernel" : "this device's kernel"));
    check_rows(to_floats(shape.type, world.prefill({gpu::KvSource::paged, nullptr, portable})),
               expected, shape.head_dim, world.bound());
  }
}

WorldShape with_type(Type type) {
  WorldShape shape;
  shape.type = type;
  return shape;
}

}  // namespace

TEST_CASE("prompts of any length attend as in the reference", "[gpu][short]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int tokens : {1, 15, 16, 17, 47, 48, 49, 63, 64, 65, 127, 128, 129, 257})
      check_prefill(with_type(type), {{tokens, tokens}});
}

TEST_CASE("prompts and chunks attend to KV of e4m3 as in the reference", "[gpu][fp8][short]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128}) {
      for (const int tokens : {1, 16, 47, 64, 127, 128, 129, 257, 600})
        check_prefill({type, 4, 2, head_dim, 16, 0, true}, {{tokens, tokens}});
      for (const int block_size : {8, 24, 64, 96, 128})
        check_prefill({type, 3, 2, head_dim, block_size, 0, true}, {{150, 70}, {33, 33}, {777, 5}});
      for (const int prior : {17, 983, 4743})  // shared by CTAs in parts
        check_prefill({type, 4, 1, head_dim, 16, 0, true}, {{prior + 65, 65}});
    }
  std::vector<Sequence> many;  // more tiles than multiprocessors
  for (int i = 0; i < 90; ++i) many.push_back({100 + 7 * i, 1 + i});
  check_prefill({Type::bf16, 4, 2, 128, 16, 2, true}, many);
}

TEST_CASE("all groups, head widths and block sizes attend as in the reference", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (int group = 1; group <= 8; ++group)
      for (const int head_dim : {64, 128})
        for (const int block_size : {8, 16, 24, 64, 128})
          check_prefill({type, group, 2, head_dim, block_size, 0}, {{150, 70}, {33, 33}});
}

TEST_CASE("chunks after cached tokens attend as in the reference", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int prior : {1, 15, 16, 17, 64, 80, 983, 4743})
      for (const int queries : {1, 17, 65, 257}) {
        WorldShape shape = with_type(type);
        shape.kv_heads = 1;
        check_prefill(shape, {{prior + queries, queries}});
      }
}

TEST_CASE("contexts that end anywhere in a tile or a block attend as in the reference", "[gpu]") {
  NEEDS_DEVICE;
  for (const int block_size : {8, 24, 32, 40, 64, 96})
    for (const int context : {120, 121, 128, 129, 135, 136, 161, 200, 255, 256, 257}) {
      WorldShape shape;
      shape.type = context % 2 == 0 ? Type::f16 : Type::bf16;
      shape.group = context % 3 == 0 ? 8 : 4;
      shape.head_dim = context < 150 ? 128 : 64;
      shape.block_size = block_size;
      check_prefill(shape, {{context, 5}});
    }
}

TEST_CASE("a batch of more tiles than multiprocessors attends as in the reference", "[gpu]") {
  NEEDS_DEVICE;
  WorldShape shape;
  shape.block_size = 24;
  std::vector<Sequence> sequences;
  Numbers numbers(5);
  for (int i = 0; i < 230; ++i) {
    const int queries = 1 + numbers.below(i % 10 == 0 ? 100 : 9);
    sequences.push_back({queries + numbers.below(i % 7 == 0 ? 400 : 40), queries});
  }
  check_prefill(shape, sequences);
}

TEST_CASE("sequences of all lengths share a launch, and blocks", "[gpu][short]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes) {
    WorldShape shape = with_type(type);
    shape.shared_blocks = 3;
    check_prefill(shape, {{257, 257}, {1, 1}, {100, 3}, {64, 64}, {300, 100}, {49, 1}, {130, 65}});
  }
}

namespace {

/// Computes tokens [begin, end) of a prompt as a chunk. The same seed gives the same blocks and the
/// same arena as in the world that computed the prompt whole.
Halves chunk_of(AttentionWorld& whole, const WorldShape& shape, int begin, int end, bool portable) {
  AttentionWorld part(shape, {{whole.tokens(), whole.tokens()}});
  const int qkv_width = whole.heads().qkv_width();
  const Halves qkv(whole.qkv().begin() + begin * qkv_width, whole.qkv().begin() + end * qkv_width);
  const Device<std::uint16_t> queries(qkv),
      out(static_cast<std::size_t>((end - begin) * whole.out_width()));
  const Device<std::int32_t> start(Ints{0, end - begin}), context(Ints{end});
  const PrefillWork work(part.heads(), {0, end - begin}, {end}, {0});
  gpu::PrefillAttention op;
  op.type = shape.type;
  op.shape = part.heads();
  work.give(op);
  op.query_start = start.get();
  op.context = context.get();
  op.tokens = end - begin;
  op.qkv = queries.get();
  op.kv = part.kv();
  op.scale = part.scale();
  op.out = out.get();
  op.portable = portable;
  gpu::prefill_attention(op, nullptr);
  return out.host();
}

void check_chunks(const WorldShape& shape, int prompt, const std::vector<int>& chunks) {
  AttentionWorld whole(shape, {{prompt, prompt}});
  for (const bool portable : {false, true}) {
    const Halves expected = whole.prefill({gpu::KvSource::paged, nullptr, portable});
    for (const int chunk : chunks) {
      INFO(name(shape.type) << ", chunks of " << chunk << (portable ? ", portable kernel" : ""));
      for (int begin = 0; begin < prompt; begin += 4 * chunk) {
        const Halves found =
            chunk_of(whole, shape, begin, std::min(prompt, begin + chunk), portable);
        REQUIRE(
            std::equal(found.begin(), found.end(), expected.begin() + begin * whole.out_width()));
      }
    }
  }
}

}  // namespace

TEST_CASE("a prompt's rows are bitwise the same in chunks of any length", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes) check_chunks(with_type(type), 300, {1, 16, 37, 64, 100});
  check_chunks({Type::bf16, 1, 2, 64, 24, 0}, 700, {33, 128, 129});
  check_chunks({Type::f16, 8, 1, 128, 8, 0}, 700, {33, 128, 129});
  check_chunks({Type::bf16, 7, 2, 128, 16, 0}, 300, {16, 37});
  for (const int group : {3, 5, 6}) check_chunks({Type::bf16, group, 2, 64, 16, 0}, 300, {20, 37});
}

TEST_CASE("a prompt's rows over KV of e4m3 are bitwise the same in chunks of any length",
          "[gpu][fp8]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128}) {
      check_chunks({type, 4, 2, head_dim, 16, 0, true}, 300, {1, 37, 100});
      check_chunks({type, 7, 1, head_dim, 24, 0, true}, 4500, {500});
    }
}

TEST_CASE("a prompt of several segments is bitwise the same in chunks of any length", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes) check_chunks(with_type(type), 5000, {150, 300, 1100});
  check_chunks({Type::bf16, 8, 1, 64, 24, 0}, 4500, {133, 500});
}

TEST_CASE("tokens after long prefixes attend as in the reference, bitwise alike in parts and whole",
          "[gpu]") {
  NEEDS_DEVICE;
  const std::vector<std::vector<Sequence>> batches = {
      {{7064, 64}},
      {{2500, 1}},
      {{21000, 40}, {300, 300}, {6000, 1}},
      {{3000, 700}, {18000, 129}, {2049, 7}},
  };
  const bool e4m3 = GENERATE(false, true);
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128})
      for (const auto& sequences : batches) {
        WorldShape shape = with_type(type);
        shape.head_dim = head_dim;
        shape.e4m3 = e4m3;
        INFO(name(type) << ", head_dim " << head_dim << ", first sequence " << sequences[0].queries
                        << " of " << sequences[0].context);
        AttentionWorld world(shape, sequences);
        CHECK(world.prefill_plan().parts.empty() == !gpu::has_wgmma());
        const Halves found = world.prefill();
        world.check_result(found);
        for (int i = 0; i < 3; ++i) REQUIRE(world.prefill() == found);
        REQUIRE(world.prefill({.parts = false}) == found);
      }
}

TEST_CASE("a group of seven heads is cut into parts as others are", "[gpu]") {
  NEEDS_DEVICE;
  AttentionWorld world({Type::bf16, 7, 4, 128, 16, 0}, {{7064, 64}, {300, 300}, {6000, 1}});
  const Halves found = world.prefill();
  world.check_result(found);
  REQUIRE(world.prefill({.parts = false}) == found);
}

TEST_CASE("parts cover every key of every item once, and have their own slots", "[gpu]") {
  using kernels::gpu::prefill::segment_begin, kernels::gpu::prefill::segment_of;
  const gpu::HeadShape shape = {8, 2, 128};
  const Ints start = {0, 40, 41, 841}, context = {20040, 9000, 30000};
  const gpu::PrefillPlan plan = gpu::plan_prefill(shape, start, context, {0, 1, 2}, 132);
  REQUIRE(!plan.parts.empty());
  CHECK(static_cast<int>(plan.parts.size()) <= gpu::most_prefill_parts(132));
  const auto items = plan.tiles.size() * 2;
  std::vector<int> covered(items, 0), last_slot(items, -1), first_slot(items, -1);
  for (const gpu::PrefillPart& part : plan.parts) {
    const auto item = static_cast<std::size_t>(part.item);
    CHECK(part.begin == covered[item]);  // an item's parts follow one another
    CHECK(part.begin < part.end);
    CHECK(segment_begin(segment_of(part.begin)) == part.begin);
    if (part.begin == 0) first_slot[item] = part.slot;
    if (part.begin == 0) CHECK(segment_of(part.end - 1) + 1 == part.cut);
    CHECK(part.slot == first_slot[item]);
    last_slot[item] = part.slot + 1 + segment_of(part.end - 1) - part.cut;
    covered[item] = part.end;
  }
  for (std::size_t i = 0; i < items; ++i) {
    const gpu::PrefillTile tile = plan.tiles[i / 2];
    const auto s = static_cast<std::size_t>(tile.sequence);
    const int queries = start[s + 1] - start[s];
    const int keys =
        std::min(context[s], context[s] - queries + tile.first + gpu::prefill_tile_tokens(shape));
    CHECK(covered[i] == (keys + 127) / 128);
    if (i > 0 && last_slot[i] > first_slot[i]) CHECK(first_slot[i] > last_slot[i - 1]);
  }
}

TEST_CASE("items are cut only where whole ones would leave CTAs idle", "[gpu]") {
  const gpu::HeadShape shape = {32, 8, 128};
  const auto parts = [&](int queries, int context, int sharers) {
    return gpu::plan_prefill(shape, {0, queries}, {context}, {0}, sharers).parts.size();
  };
  CHECK(parts(64, 7064, 132) == 112);     // 16 items of seven segments each
  CHECK(parts(700, 100700, 132) == 528);  // 176 items in three parts: four for each CTA
  CHECK(parts(64, 7064, 0) == 0);         // a kernel whose CTAs cannot share
  CHECK(parts(500, 500, 132) == 0);       // no row has a second segment
  CHECK(parts(8192, 8192, 132) == 0);     // many items for each CTA
  CHECK(parts(2048, 102048, 132) == 0);   // likewise
}

TEST_CASE("keys read from the projection give bitwise what blocks give", "[gpu][short]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int head_dim : {64, 128}) {
      WorldShape shape = with_type(type);
      shape.head_dim = head_dim;
      AttentionWorld world(shape, {{257, 257}, {1, 1}, {64, 64}, {100, 100}});
      Ints positions, sequence;
      for (const std::int32_t s : world.all_sequences())
        for (int i = 0; i < world.context()[static_cast<std::size_t>(s)]; ++i) {
          positions.push_back(i);
          sequence.push_back(s);
        }
      const Device<std::int32_t> d_positions(positions), d_sequence(sequence);
      world.empty_arena();
      gpu::AppendKv append;
      append.type = type;
      append.shape = world.heads();
      append.tokens = world.tokens();
      append.qkv = world.device_qkv();
      append.keep_contiguous = true;
      append.positions = d_positions.get();
      append.sequence = d_sequence.get();
      append.kv = world.kv();
      gpu::append_kv(append, nullptr);
      const Halves paged = world.prefill(), contiguous = world.prefill(gpu::KvSource::contiguous);
      CHECK(paged == contiguous);
      CHECK(!std::isnan(
          distance(to_floats(type, paged).data(), to_floats(type, paged).data(), paged.size())));
    }
}

TEST_CASE("prefill attention gives the same bits run after run", "[gpu]") {
  NEEDS_DEVICE;
  AttentionWorld world(with_type(Type::bf16), {{1000, 400}, {257, 257}});
  const Halves first = world.prefill();
  for (int i = 0; i < 5; ++i) REQUIRE(world.prefill() == first);
}

TEST_CASE("each half of a tile has as many whole tokens as fit in 64 rows", "[gpu]") {
  const int halves[] = {64, 32, 21, 16, 12, 10, 9, 8};
  for (int group = 1; group <= 8; ++group)
    CHECK(gpu::prefill_tile_tokens({2 * group, 2, 128}) == 2 * halves[group - 1]);
}

TEST_CASE("tiles cover every query once, those with most keys first", "[gpu]") {
  const gpu::HeadShape shape = {8, 2, 128};
  const int tokens = gpu::prefill_tile_tokens(shape);
  const auto tiles =
      gpu::plan_prefill(shape, {0, 100, 101, 101, 365}, {100, 900, 5, 264}, {0, 1, 3}, 132).tiles;
  std::vector<int> covered(4, 0);
  int last = 1 << 30;
  for (const gpu::PrefillTile& tile : tiles) {
    const int prior[] = {0, 899, 5, 0}, queries[] = {100, 1, 0, 264};
    CHECK(tile.first % tokens == 0);
    covered[static_cast<std::size_t>(tile.sequence)] +=
        std::min(tokens, queries[tile.sequence] - tile.first);
    CHECK(prior[tile.sequence] + tile.first <= last);
    last = prior[tile.sequence] + tile.first;
  }
  CHECK(covered == std::vector<int>{100, 1, 0, 264});
}

TEST_CASE("a group of more than eight heads is refused", "[gpu]") {
  gpu::PrefillAttention op;
  op.shape = {18, 2, 128};
  op.kv.layout.block_size = 16;
  op.tiles = op.tokens = 1;
  CHECK_THROWS_AS(gpu::prefill_attention(op, nullptr), std::invalid_argument);
}
