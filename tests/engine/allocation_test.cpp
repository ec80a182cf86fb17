// Counts allocations of the process, so it is an executable of its own.
#include <cstdlib>
#include <new>

#include "tests/engine/support/engine_world.hpp"
#include "tests/support/catch.hpp"

namespace {
long num_allocations = 0;
}

void* operator new(std::size_t size) {
  ++num_allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++num_allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

using namespace support;

namespace {

/// Number of allocations in `steps` engine steps.
long allocations_of(EngineWorld& world, int steps) {
  const long before = num_allocations;
  for (int i = 0; i < steps; ++i) world.engine.step();
  return num_allocations - before;
}

/// Serves a batch of requests once, so that every buffer reaches its size.
void warm_up(EngineWorld& world, const std::vector<Tokens>& prompts) {
  for (const Tokens& prompt : prompts) world.submit(prompt, 600);
  while (!world.engine.idle()) world.engine.step();
  world.engine.step();
}

std::vector<Tokens> eight_prompts() {
  std::vector<Tokens> prompts;
  for (int i = 0; i < 8; ++i) prompts.push_back(tokens(100 + 3 * i, i));
  return prompts;
}

}  // namespace

TEST_CASE("the counter sees an allocation", "[allocation]") {
  const long before = num_allocations;
  const auto prompt = tokens(1);
  CHECK(num_allocations > before);
}

TEST_CASE("a warm engine decodes without allocating", "[allocation]") {
  EngineWorld world;
  const auto prompts = eight_prompts();
  warm_up(world, prompts);
  for (const Tokens& prompt : prompts) world.submit(prompt, 600);
  world.engine.step();
  CHECK(allocations_of(world, 500) == 0);
  CHECK_FALSE(world.engine.idle());
}

TEST_CASE("a request takes room for its blocks, and for their contents, when it is admitted",
          "[allocation]") {
  EngineWorld world;
  const auto prompts = eight_prompts();
  warm_up(world, prompts);
  warm_up(world, prompts);  // now with prefix hits
  for (const Tokens& prompt : prompts) world.submit(prompt, 600);
  CHECK(allocations_of(world, 1) == 2 * 8);
}

TEST_CASE("a warm engine evicts and preempts without allocating", "[allocation]") {
  EngineWorldConfig config;
  config.engine.kv.num_blocks = 1 + 256;  // needed: eight sequences of 45 blocks
  EngineWorld world(config);
  const auto prompts = eight_prompts();
  warm_up(world, prompts);
  for (const Tokens& prompt : prompts) world.submit(prompt, 600);
  world.engine.step();
  int preempted = 0;
  const long before = num_allocations;
  while (!world.engine.idle())
    preempted += static_cast<int>(world.engine.step().plan->preempted.size());
  CHECK(num_allocations - before == 0);
  CHECK(preempted > 0);
}
