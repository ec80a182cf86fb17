// What a cell's keys mean to the backends that really execute a model.
#include <filesystem>

#include "tests/experiment/cell.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::Cell;

namespace {

struct Setting {
  std::string key;
  sweep::Value value;
};

Cell on(const std::string& backend) { return Cell().on(backend); }
Cell on_cpu() { return on("cpu").set("engine.kv_tokens", 20'000); }

/// Whether the setting makes another cell.
bool matters(const Cell& cell, const Setting& setting) {
  return Cell(cell).put(setting.key, setting.value).identity() != cell.identity();
}

const std::vector<Setting> kOfModels = {{"engine.dtype", std::string("float16")},
                                        {"engine.debug", true},
                                        {"weights.seed", std::int64_t{2}}};
const std::vector<Setting> kOfGpus = {
    {"engine.gpu_memory_utilization", 0.5},
    {"engine.prefill_attention", std::string("contiguous")},
};

}  // namespace

TEST_CASE("a model executed on the host is told the size of its KV pool") {
  CHECK(on("cpu").refusal() ==
        "cell.toml: the key \"engine.kv_tokens\" is missing; it must be given where backend is cpu "
        "and engine.emulate is not set");
  const auto config = on_cpu().config();
  CHECK(config.backend == "cpu");
  CHECK(config.engine.kv.num_blocks == 1 + 20'000 / 16);
  CHECK(config.transformer.has_value());
}

TEST_CASE("a GPU computes in the model's own type, the host in any") {
  for (const std::string type : {"float32", "float16"}) {
    INFO(type);
    CHECK_THAT(on("cuda").set("engine.dtype", type).refusal(),
               StartsWith("cell.toml:5:1: engine.dtype must be the model's bfloat16 on a GPU"));
    CHECK(on_cpu().set("engine.dtype", type).refusal() == "accepted");
  }
  CHECK(on("cuda").set("engine.dtype", "bfloat16").refusal() == "accepted");
  CHECK(on("cuda").config().transformer->dtype == model::DType::bf16);
}

TEST_CASE("a pool is either another card's or a number of tokens") {
  for (const std::string backend : {"sim", "cuda"}) {
    INFO(backend);
    const Cell emulating = on(backend).set("engine.emulate", "a100-40gb");
    CHECK(emulating.refusal() == "accepted");
    CHECK_THAT(Cell(emulating).set("engine.kv_tokens", 20'000).refusal(),
               StartsWith("cell.toml:5:1: engine.emulate names a pool, and so does "
                          "engine.kv_tokens: give one of them"));
  }
  CHECK_THAT(on("cuda").set("engine.emulate", "a100").refusal(),
             StartsWith("cell.toml:5:1: unknown gpu \"a100\""));
}

TEST_CASE("a card that emulates another has that one's pool") {
  const auto blocks = [](const Cell& cell) { return cell.config().engine.kv.num_blocks; };
  const Cell emulating = Cell().set("engine.emulate", "a100-40gb");
  CHECK(blocks(emulating) == blocks(Cell().set("gpu", "a100-40gb")));
  CHECK(blocks(emulating) != blocks(Cell()));
}

TEST_CASE("a simulated cell does not depend on how the model would be executed") {
  for (const auto& settings : {kOfModels, kOfGpus})
    for (const Setting& setting : settings) {
      INFO(setting.key);
      CHECK_FALSE(matters(Cell(), setting));
    }
}

TEST_CASE("settings for executing the model make another cell where it is executed") {
  for (const Setting& setting : kOfModels) {
    INFO(setting.key);
    CHECK(matters(on_cpu(), setting));
    if (setting.key != "engine.dtype") CHECK(matters(on("cuda"), setting));
  }
  for (const Setting& setting : kOfGpus) {
    INFO(setting.key);
    CHECK_FALSE(matters(on_cpu(), setting));
    CHECK(matters(on("cuda"), setting));
  }
  // A pool of so many tokens takes what it takes.
  CHECK_FALSE(matters(on("cuda").set("engine.kv_tokens", 20'000), kOfGpus[0]));
}

TEST_CASE("a checkpoint that is not there is refused at its key, with the place it names") {
  for (const std::string backend : {"cpu", "cuda"}) {
    INFO(backend);
    Cell cell = on(backend);
    const std::string refusal =
        cell.set("engine.kv_tokens", 20'000).set("weights.checkpoint", "/nowhere/model").refusal();
    CHECK_THAT(refusal, StartsWith("cell.toml:6:1: weights.checkpoint "));
    CHECK_THAT(refusal, Contains("/nowhere/model"));
  }
}

TEST_CASE("a checkpoint of another model is refused at its key, naming what differs") {
  const std::string folder = std::filesystem::absolute("tests/fixtures/models/llama-3").string();
  const std::string refusal = on("cpu")
                                  .set("engine.kv_tokens", 20'000)
                                  .set("model", "tiny-llama-3")
                                  .set("weights.checkpoint", folder)
                                  .refusal();
  CHECK_THAT(refusal, Contains("weights.checkpoint "));
  CHECK_THAT(refusal, Contains("config.json: hidden: found 64, expected the 256 of the model"));
}
