#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <deque>
#include <mutex>
#include <stdexcept>

#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/model/convert.hpp"
#include "workers/model/json_fields.hpp"
#include "workers/model/safetensors.hpp"
#include "workers/model/weights.hpp"

namespace model {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

/// The name without the inner model's prefix.
std::string without_prefix(const std::string& name) {
  for (const std::string prefix : {"model.decoder.", "decoder.", "model."})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

bool is_file(const fs::path& path) {
  std::error_code impossible;  // for example a name that is too long
  return fs::is_regular_file(path, impossible);
}

/// Maps a file read-only for the lifetime of the object, even if another file takes its name. If it
/// is truncated meanwhile, an access ends the process with SIGBUS.
class MappedFile {
 public:
  /// Throws sweep::FileError.
  explicit MappedFile(const std::string& path) {
    const sweep::Descriptor file(path, O_RDONLY);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) sweep::throw_read_error("look at", path, errno);
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;
    begin_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (begin_ == MAP_FAILED) sweep::throw_read_error("map", path, errno);
  }
  ~MappedFile() {
    if (size_ > 0) ::munmap(begin_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(begin_), size_};
  }

 private:
  std::size_t size_ = 0;
  void* begin_ = nullptr;
};

struct FoundTensor {
  StoredTensor tensor;
  std::string file;  // for messages
  std::string name;  // as it is in the file
};

/// All tensors of a folder, by their names without prefix.
class TensorFiles {
 public:
  explicit TensorFiles(const fs::path& dir) : dir_(dir) {
    if (is_file(dir / kSingleFile)) {
      place_ = (dir / kSingleFile).string();
      for (const auto& [name, tensor] : open(kSingleFile)) add(kSingleFile, name, tensor);
    } else if (is_file(dir / kIndexFile)) {
      place_ = (dir / kIndexFile).string();
      open_shards();
    } else {
      throw engine::InputError(dir.string() + ": found neither " + kSingleFile + " nor " +
                               kIndexFile);
    }
  }

  const FoundTensor& need(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      throw engine::InputError(place_ + ": tensor " + name +
                               " is missing: found it neither alone nor behind \"model.\", "
                               "\"model.decoder.\" or \"decoder.\"");
    return found->second;
  }

 private:
  using Tensors = std::map<std::string, StoredTensor>;

  Tensors open(const std::string& file) {
    const std::string path = (dir_ / file).string();
    try {
      sweep::check_is_file(path);
      files_.emplace_back(path);
    } catch (const sweep::FileError& error) {
      throw engine::InputError(error.what());
    }
    return parse_safetensors(files_.back().bytes(), path);
  }
  void add(const std::string& file, const std::string& name, const StoredTensor& tensor) {
    const auto [at, is_new] = tensors_.try_emplace(
        without_prefix(name), FoundTensor{tensor, (dir_ / file).string(), name});
    if (!is_new)
      throw engine::InputError(place_ + ": found both " + at->second.name + " and " + name +
                               ", expected one of them");
  }
  void open_shards() {
    const nlohmann::json index = parse_object(read_text(place_), place_);
    const JsonFields fields(index, place_);
    if (!fields.has("weight_map") || !index["weight_map"].is_object())
      fields.refuse("weight_map", "an object of tensors and the files that hold them");
    std::map<std::string, Tensors> opened;
    for (const auto& [name, file] : index["weight_map"].items())
      add_from_shard(opened, name, shard_name(name, file));
  }
  /// A plain file name: a checkpoint must not refer to files outside its folder.
  std::string shard_name(const std::string& tensor, const nlohmann::json& file) const {
    const fs::path path = file.is_string() ? file.get<std::string>() : "";
    if (path.empty() || path.filename() != path || path == "." || path == ".." ||
        !is_file(dir_ / path))
      throw engine::InputError(place_ + ": tensor " + shown(tensor) + ": found " + shown(file) +
                               ", expected the name of a file beside the index");
    return path.string();
  }
  void add_from_shard(std::map<std::string, Tensors>& opened, const std::string& name,
                      const std::string& file) {
    if (opened.count(file) == 0) opened[file] = open(file);
    const auto found = opened[file].find(name);
    if (found == opened[file].end())
      throw engine::InputError((dir_ / file).string() + ": tensor " + shown(name) +
                               " is missing, expected here by " + place_);
    add(file, name, found->second);
  }

  fs::path dir_;
  std::string place_;  // the file that lists the tensors
  std::deque<MappedFile> files_;
  std::map<std::string, FoundTensor> tensors_;
};

DType type_of(const FoundTensor& found) {
  if (found.tensor.dtype == "F32") return DType::f32;
  if (found.tensor.dtype == "BF16") return DType::bf16;
  if (found.tensor.dtype == "F16") return DType::f16;
  throw engine::InputError(found.file + ": tensor " + found.name + ": found dtype " +
                           found.tensor.dtype + ", expected F32, BF16 or F16");
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return nlohmann::json(shape).dump();
}

/// Checks type and shape of one part of a parameter.
void check_part(const FoundTensor& found, const Parameter& parameter, std::int64_t rows) {
  std::vector<std::int64_t> expected{rows};
  if (!parameter.is_vector()) expected.push_back(parameter.cols);
  if (found.tensor.shape != expected)
    throw engine::InputError(found.file + ": tensor " + found.name + ": found shape " +
                             shape_text(found.tensor.shape) + ", expected " + shape_text(expected));
  type_of(found);
}

/// All settings that change the meaning of the same tensors.
std::string meaning_text(const ModelConfig& c) {
  const RopeScaling& r = c.rope_scaling;
  return sweep::formatted(
      "architecture=%d heads=%d kv_heads=%d head_dim=%d norm_eps=%.17g theta=%.17g "
      "scaling=%d factor=%.17g original=%d low=%.17g high=%.17g fast=%.17g slow=%.17g "
      "attention=%.17g tied=%d\n",
      static_cast<int>(c.architecture), c.shape.heads, c.shape.kv_heads, c.shape.head_dim,
      c.norm_eps, c.rope_theta, static_cast<int>(r.kind), r.factor, r.original_max_context,
      r.low_freq_factor, r.high_freq_factor, r.beta_fast, r.beta_slow, r.attention_factor,
      c.shape.tied_embeddings);
}

class Checkpoint : public WeightSource {
 public:
  Checkpoint(const fs::path& dir, const ModelConfig& config)
      : dir_(dir), config_(config), layout_(weight_layout(config, config.dtype)), files_(dir) {
    for (const Parameter& parameter : layout_.parameters)
      for (const auto& [tensor, rows] : parameter.parts)
        check_part(files_.need(tensor), parameter, rows);
  }

  std::string describe() const override { return dir_.string(); }

  std::string digest() const override {
    std::call_once(digest_once_, [this] { digest_ = compute_digest(); });
    return digest_;
  }

  void read(const Parameter& parameter, DType type, std::span<std::byte> out) const override {
    const std::int64_t row_elements = parameter.is_vector() ? 1 : parameter.cols;
    for (const auto& [tensor, rows] : parameter.parts) {
      const FoundTensor& found = files_.need(tensor);
      const auto elements = static_cast<std::size_t>(rows * row_elements);
      const std::size_t bytes = elements * size_of(type);
      if (found.tensor.bytes.size() != elements * size_of(type_of(found)) || out.size() < bytes)
        throw std::invalid_argument("checkpoint: " + parameter.name +
                                    " is no parameter of this model or its buffer is too small");
      convert(type_of(found), found.tensor.bytes, type, out.first(bytes));
      out = out.subspan(bytes);
    }
  }

 private:
  std::string compute_digest() const {
    std::string text = meaning_text(config_);
    for (const Parameter& parameter : layout_.parameters)
      for (const auto& [name, rows] : parameter.parts) {
        const StoredTensor& tensor = files_.need(name).tensor;
        text += name + ' ' + tensor.dtype + ' ' + shape_text(tensor.shape) + ' ' +
                sweep::sha256_of(
                    {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()}) +
                '\n';
      }
    return sweep::sha256_of(text);
  }

  fs::path dir_;
  ModelConfig config_;
  WeightLayout layout_;
  TensorFiles files_;
  mutable std::once_flag digest_once_;
  mutable std::string digest_;
};

}  // namespace

std::unique_ptr<WeightSource> open_checkpoint(const fs::path& dir, const ModelConfig& config) {
  return std::make_unique<Checkpoint>(dir, config);
}

}  // namespace model
