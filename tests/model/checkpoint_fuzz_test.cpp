#include <random>

#include "tests/model/checkpoint_folder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/json_pieces.hpp"
#include "workers/engine/base/errors.hpp"

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

/// Changes, removes, repeats or inserts a few bytes, mostly where the header is.
void mutate(std::string& file, Random& random) {
  const std::size_t near =
      random() % 4 == 0 ? file.size() : std::min<std::size_t>(file.size(), 900);
  if (near == 0) return;
  const std::size_t at = below(random, near);
  switch (random() % 6) {
    case 0:
      file[at] = static_cast<char>(random());
      break;
    case 1:
      file[at] = static_cast<char>(file[at] ^ (1 << random() % 8));
      break;
    case 2:
      file.erase(at, 1 + below(random, 9));
      break;
    case 3:
      file.insert(at, support::kJsonPieces[below(random, support::kJsonPieces.size())]);
      break;
    case 4:
      file.resize(at);
      break;
    case 5:
      file.insert(at, file.substr(below(random, near), below(random, 30)));
      break;
  }
}

/// Opens and reads everything; true when the file was accepted.
bool loads(const support::TempDir& dir, const model::ModelConfig& config) {
  try {
    const auto checkpoint = model::open_checkpoint(dir.path(), config);
    support::all_values(*checkpoint, config);
    return !checkpoint->digest().empty();
  } catch (const engine::InputError& error) {
    REQUIRE(std::string(error.what()).find(dir.path().string()) != std::string::npos);
    return false;
  }
}

}  // namespace

TEST_CASE("a damaged index is refused with its position, or read") {
  const model::ModelConfig config = support::small_config("llama-3");
  const support::TempDir dir;
  support::write_shards(
      dir, support::tensors_of(*model::random_weights(config, 1), config, model::DType::bf16, ""),
      4);
  const auto text_of = [](const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  const std::string index = text_of(dir.path() / "model.safetensors.index.json");
  Random random(7);
  int refused = 0;
  for (int i = 0; i < support::scaled(1000); ++i) {
    std::string file = index;
    mutate(file, random);
    dir.write("model.safetensors.index.json", file);
    refused += loads(dir, config) ? 0 : 1;
  }
  CHECK(refused > 0);
}
