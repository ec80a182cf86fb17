#include "sweeps/files/sha256.hpp"
#include "tests/model/checkpoint_folder.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"

using model::DType;
using nlohmann::json;
using support::NamedTensor;
using support::safetensors_file;
using support::small_config;

namespace {

const std::vector<std::string> kNames = {"llama-3", "yarn-llama-2", "opt"};

/// A checkpoint of random weights. A test can corrupt its tensors before it is written.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(const std::string& name = "llama-3", DType type = DType::f32,
                            const std::string& prefix = "model.")
      : config(small_config(name)), source(model::random_weights(config, 8)) {
    tensors = support::tensors_of(*source, config, type, prefix);
  }
  NamedTensor& operator[](const std::string& name) {
    for (NamedTensor& tensor : tensors)
      if (tensor.name == name) return tensor;
    throw std::out_of_range(name);
  }
  std::unique_ptr<model::WeightSource> open() const {
    dir.write("model.safetensors", safetensors_file(tensors));
    return model::open_checkpoint(dir.path(), config);
  }
  std::unique_ptr<model::WeightSource> open_shards(std::size_t each) const {
    support::write_shards(dir, tensors, each);
    return model::open_checkpoint(dir.path(), config);
  }
  /// The error of model::open_checkpoint() for the folder, without the folder's name.
  std::string refusal() const {
    try {
      model::open_checkpoint(dir.path(), config);
    } catch (const engine::InputError& error) {
      const std::string folder = dir.path().string(), what = error.what();
      return what.starts_with(folder) ? what.substr(folder.size()) : "names no file: " + what;
    }
    return "";
  }
  std::string refusal_of_tensors() const {
    dir.write("model.safetensors", safetensors_file(tensors));
    return refusal();
  }

  model::ModelConfig config;
  std::unique_ptr<model::WeightSource> source;
  std::vector<NamedTensor> tensors;
  support::TempDir dir;
};

auto values(const std::unique_ptr<model::WeightSource>& source, const CheckpointFolder& folder) {
  return support::all_values(*source, folder.config);
}

}  // namespace

TEST_CASE("a checkpoint in one file or in shards gives back what was written") {
  for (const std::string& name : kNames) {
    CAPTURE(name);
    const CheckpointFolder folder(name);
    const CheckpointFolder sharded(name);
    CHECK(values(folder.open(), folder) == values(folder.source, folder));
    CHECK(values(sharded.open_shards(5), sharded) == values(folder.source, folder));
  }
}

TEST_CASE("tensors are found behind any prefix that checkpoints use") {
  for (const std::string prefix : {"", "model.", "decoder.", "model.decoder."}) {
    CAPTURE(prefix);
    const CheckpointFolder folder("opt", DType::f32, prefix);
    CHECK(values(folder.open(), folder) == values(folder.source, folder));
  }
}

TEST_CASE("a checkpoint stored in any type is read as any type, rounded once") {
  for (const DType stored : {DType::f32, DType::bf16, DType::f16})
    for (const DType wanted : {DType::f32, DType::bf16, DType::f16}) {
      CAPTURE(model::to_text(stored), model::to_text(wanted));
      const CheckpointFolder folder("llama-3", stored);
      const auto checkpoint = folder.open();
      for (const model::Parameter& p : model::weight_layout(folder.config, wanted).parameters) {
        const auto bytes = [&](DType type) {
          return std::vector<std::byte>(
              static_cast<std::size_t>(p.elements() * model::size_of(type)));
        };
        std::vector<std::byte> as_stored = bytes(stored), expected = bytes(wanted), got = expected;
        folder.source->read(p, stored, as_stored);
        model::convert(stored, as_stored, wanted, expected);
        checkpoint->read(p, wanted, got);
        REQUIRE(got == expected);
      }
    }
}

TEST_CASE("a checkpoint written by transformers opens unchanged") {
  for (const std::string& name : model_fixtures::kCheckpoints) {
    CAPTURE(name);
    const model_fixtures::Reference reference(name);
    const auto checkpoint = reference.weights();
    CHECK(checkpoint->describe() == (model_fixtures::kFolder / name).string());
    const auto all = support::all_values(*checkpoint, reference.config);
    for (const auto& [parameter, floats] : all) {
      CAPTURE(parameter);
      double sum = 0, squares = 0;
      for (const float value : floats) sum += value, squares += value * value;
      const double count = static_cast<double>(floats.size()), mean = sum / count;
      const bool norm = parameter.find("norm.weight") != std::string::npos;
      CHECK(mean == Approx(norm ? 1.0 : 0.0).margin(0.06));  // as the fixtures' script draws them
      CHECK(squares / count - mean * mean > 0.004);
    }
  }
}

TEST_CASE("a tied head needs no tensor, and ignores one that is there") {
  CheckpointFolder folder("opt");
  REQUIRE(folder.config.shape.tied_embeddings);
  const std::string digest = folder.open()->digest();
  folder.tensors.push_back({"lm_head.weight", "F32", {24, 16}, std::string(24 * 16 * 4, '\0')});
  const auto checkpoint = folder.open();
  CHECK(values(checkpoint, folder) == values(folder.source, folder));
  CHECK(checkpoint->digest() == digest);
}

TEST_CASE("a digest depends on values, types and configuration, not on files and tensor prefixes") {
  CheckpointFolder folder;
  const CheckpointFolder elsewhere("llama-3", DType::f32, "");
  const std::string digest = folder.open()->digest();
  CHECK(sweep::is_sha256(digest));
  CHECK(elsewhere.open_shards(3)->digest() == digest);
  CHECK(CheckpointFolder("llama-3", DType::bf16).open()->digest() != digest);
  CHECK(CheckpointFolder("yarn-llama-2").open()->digest() != digest);
  folder["model.layers.1.mlp.up_proj.weight"].bytes.back() ^= 1;
  CHECK(folder.open()->digest() != digest);
  CheckpointFolder other_positions;
  other_positions.config.rope_theta *= 2;
  CHECK(other_positions.open()->digest() != digest);
}

TEST_CASE("a missing tensor is refused with its name") {
  CheckpointFolder folder;
  folder["model.layers.1.self_attn.k_proj.weight"].name = "model.layers.2.self_attn.k_proj.weight";
  CHECK(folder.refusal_of_tensors() ==
        "/model.safetensors: tensor layers.1.self_attn.k_proj.weight is missing: found it neither "
        "alone nor behind \"model.\", \"model.decoder.\" or \"decoder.\"");
  CheckpointFolder headless;
  headless["lm_head.weight"].name = "head";
  CHECK(headless.refusal_of_tensors().find("tensor lm_head.weight is missing") !=
        std::string::npos);
}

TEST_CASE("a tensor of another shape or type than the model's is refused") {
  CheckpointFolder folder;
  folder["model.layers.0.mlp.down_proj.weight"].shape = {12, 16};
  CHECK(folder.refusal_of_tensors() ==
        "/model.safetensors: tensor model.layers.0.mlp.down_proj.weight: found shape [12,16], "
        "expected [16,12]");
  CheckpointFolder whole_numbers;
  whole_numbers["model.norm.weight"].dtype = "I32";
  CHECK(whole_numbers.refusal_of_tensors() ==
        "/model.safetensors: tensor model.norm.weight: found dtype I32, expected F32, BF16 or "
        "F16");
}

TEST_CASE("a tensor that is there under two prefixes is refused") {
  CheckpointFolder folder;
  folder.tensors.push_back(folder["model.norm.weight"]);
  folder.tensors.back().name = "norm.weight";
  CHECK(folder.refusal_of_tensors() ==
        "/model.safetensors: found both model.norm.weight and norm.weight, expected one of them");
}

TEST_CASE("a truncated or damaged file is refused with its name") {
  const CheckpointFolder folder;
  const std::string file = safetensors_file(folder.tensors);
  folder.dir.write("model.safetensors", file.substr(0, file.size() - 1));
  CHECK(folder.refusal().find("/model.safetensors: tensor ") == 0);
  folder.dir.write("model.safetensors", "");
  CHECK(folder.refusal().find("/model.safetensors: is truncated: found 0 bytes") == 0);
}

TEST_CASE("a folder without weights is refused") {
  CHECK(CheckpointFolder().refusal() ==
        ": found neither model.safetensors nor model.safetensors.index.json");
}

TEST_CASE("an index that names a missing file, or one outside its folder, is refused") {
  const CheckpointFolder folder;
  folder.open_shards(5);
  const std::string index = (folder.dir.path() / "model.safetensors.index.json").string();
  const json good = model_fixtures::read_json(index);
  const auto refusal_with = [&](const json& file) {
    json changed = good;
    changed["weight_map"]["model.norm.weight"] = file;
    folder.dir.write("model.safetensors.index.json", changed.dump());
    return folder.refusal();
  };
  const std::string place = "/model.safetensors.index.json: ";
  const std::string tensor = place + "tensor \"model.norm.weight\": found ";
  const std::string expected = ", expected the name of a file beside the index";
  CHECK(refusal_with("gone.safetensors") == tensor + "\"gone.safetensors\"" + expected);
  for (const json& file : {json("../x"), json("/etc/passwd"), json(".."), json(""), json(3),
                           json(std::string(100, 'a') + "/b"), json(nullptr)})
    CHECK(refusal_with(file) == tensor + file.dump() + expected);
  CHECK(refusal_with(std::string(5000, 'a')).find(expected) != std::string::npos);
  CHECK(refusal_with("shard-0.safetensors")
            .find("/shard-0.safetensors: tensor \"model.norm.weight\" is missing, expected here "
                  "by ") == 0);
  folder.dir.write("model.safetensors.index.json", "{}");
  CHECK(folder.refusal() == place +
                                "weight_map: found nothing, allowed: an object of tensors and the "
                                "files that hold them");
}

TEST_CASE("a parameter of another model is refused, whatever the buffer") {
  const CheckpointFolder folder;
  const auto checkpoint = folder.open();
  model::ModelConfig larger = folder.config;
  larger.shape.intermediate *= 2;
  const model::WeightLayout layout = model::weight_layout(larger, DType::f32);
  const model::Parameter& up =
      layout.parameters[static_cast<std::size_t>(layout.layers[0].up_weight)];
  std::vector<std::byte> bytes(static_cast<std::size_t>(up.elements() * 4));
  CHECK_THROWS_AS(checkpoint->read(up, DType::f32, bytes), std::invalid_argument);
}
