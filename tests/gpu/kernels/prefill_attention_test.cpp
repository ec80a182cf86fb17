#include "tests/gpu/kernels/attention_world.hpp"

using namespace gpu_test;

namespace {

void check_prefill(const WorldShape& shape, const std::vector<Sequence>& sequences) {
  INFO(name(shape.type) << ", group " << shape.group << ", head_dim " << shape.head_dim
                        << ", block size " << shape.block_size << ", first sequence "
                        << sequences[0].queries << " of " << sequences[0].context);
  AttentionWorld world(shape, sequences);
  world.check_result(world.prefill());
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
    for (const int tokens : {1, 15, 16, 17, 47, 48, 49, 63, 64, 65, 257})
      check_prefill(with_type(type), {{tokens, tokens}});
}

TEST_CASE("all groups, head widths and block sizes attend as in the reference", "[gpu]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes)
    for (const int group : {1, 2, 4, 8})
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

TEST_CASE("sequences of all lengths share a launch, and blocks", "[gpu][short]") {
  NEEDS_DEVICE;
  for (const Type type : kHalfTypes) {
    WorldShape shape = with_type(type);
    shape.shared_blocks = 3;
    check_prefill(shape, {{257, 257}, {1, 1}, {100, 3}, {64, 64}, {300, 100}, {49, 1}, {130, 65}});
  }
}

TEST_CASE("a prompt's rows are bitwise the same in chunks of any length", "[gpu]") {
  NEEDS_DEVICE;
  const int prompt = 300;
  for (const Type type : kHalfTypes) {
    AttentionWorld whole(with_type(type), {{prompt, prompt}});
    const Halves expected = whole.prefill();
    const int width = whole.out_width(), qkv_width = whole.heads().qkv_width();
    for (const int chunk : {1, 16, 37, 64, 100}) {
      INFO(name(type) << ", chunks of " << chunk);
      for (int begin = 0; begin < prompt; begin += 4 * chunk) {
        const int end = std::min(prompt, begin + chunk);
        // The same seed gives the same blocks and the same arena, whatever is computed.
        AttentionWorld part(with_type(type), {{prompt, prompt}});
        Halves qkv(whole.qkv().begin() + begin * qkv_width, whole.qkv().begin() + end * qkv_width);
        const Device<std::uint16_t> queries(qkv),
            out(static_cast<std::size_t>((end - begin) * width));
        const Device<std::int32_t> start(Ints{0, end - begin}), context(Ints{end});
        const auto tiles = gpu::prefill_tiles(part.heads(), {0, end - begin}, {end}, {0});
        const Device<gpu::PrefillTile> list(tiles);
        gpu::PrefillAttention op;
        op.type = type;
        op.shape = part.heads();
        op.tiles = static_cast<int>(tiles.size());
        op.tile_list = list.get();
        op.query_start = start.get();
        op.context = context.get();
        op.qkv = queries.get();
        op.kv = part.kv();
        op.scale = part.scale();
        op.out = out.get();
        gpu::prefill_attention(op, nullptr);
        const Halves found = out.host();
        REQUIRE(std::equal(found.begin(), found.end(), expected.begin() + begin * width));
      }
    }
  }
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

TEST_CASE("tiles cover every query once, those with most keys first", "[gpu]") {
  const gpu::HeadShape shape = {8, 2, 128};
  const int tokens = gpu::prefill_tile_tokens(shape);
  const auto tiles =
      gpu::prefill_tiles(shape, {0, 100, 101, 101, 365}, {100, 900, 5, 264}, {0, 1, 3});
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

TEST_CASE("a group that tiles do not know is refused", "[gpu]") {
  gpu::PrefillAttention op;
  op.shape = {6, 2, 128};
  op.kv.layout.block_size = 16;
  op.tiles = 1;
  CHECK_THROWS_AS(gpu::prefill_attention(op, nullptr), std::invalid_argument);
}
