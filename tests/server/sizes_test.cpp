// server.match: what a server is given of engine.*, and what it reports.
#include "tests/server/world.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::figure;
using support::note;
using support::ServerWorld;

TEST_CASE("the sizes that a server reports are stored, and others than it was given refuse it") {
  for (const char* kind : {"vllm", "sglang"}) {
    ServerWorld world;
    const sweep::CellResult as_it_is = world.scripted(kind).run();
    CHECK(figure(as_it_is, "server_kv_tokens") == (kind[0] == 'v' ? 4095 * 16 : 4096));
    CHECK(figure(as_it_is, "server_max_model_len") == 16384);
    CHECK(note(as_it_is, "server_match").empty());
    world.put("server.match", true).put("engine.kv_tokens", std::int64_t{8192});
    world.put("engine.max_num_seqs", std::int64_t{4});
    const sweep::CellResult matched = world.run();
    CHECK(figure(matched, "server_kv_tokens") == 8192);
    CHECK(figure(matched, "server_block_size") == 16);
    CHECK(figure(matched, "server_max_model_len") == 4096);
    CHECK_THAT(note(matched, "server_match"),
               Contains(kind[0] == 'v' ? "does not report max_num_seqs, max_num_batched_tokens"
                                       : "as the server reports"));
    CHECK_THAT(world.scripted(kind, "--fault pool").failure(),
               StartsWith("server.match: engine.kv_tokens is 8192, but the server reports "));
  }
}

TEST_CASE("a real llama-server takes its sizes from engine.*, and reports a pool that it rounds") {
  ServerWorld world;
  if (!world.llama("-cram 0"))
    SKIP_TEST(
        "no llama-server: set LLAMA_SERVER_SANDBOX to a folder of tools/llama-server-sandbox");
  world.put("server.match", true).put("engine.kv_tokens", std::int64_t{8192});
  world.put("engine.max_num_seqs", std::int64_t{3});
  const sweep::CellResult cell = world.run();
  CHECK(figure(cell, "server_kv_tokens") == 8192);
  CHECK(figure(cell, "server_max_num_seqs") == 3);
  CHECK(note(cell, "server_pool") == "8192 tokens for 3 slots");
  world.put("engine.kv_tokens", std::int64_t{8000});
  CHECK(world.failure() == "server.match: engine.kv_tokens is 8000, but the server reports 8192");
}
