#include "workers/profiles/profiles.hpp"

#include <algorithm>
#include <limits>
#include <regex>

#include "sweeps/files/sha256.hpp"
#include "version/kernels_digest.hpp"

namespace worker {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPoolBlockTokens = 16;

struct Document {
  sweep::ParamMap params;
};

/// Every key of a profile must be there: a profile is data about a card or a model, so there is no
/// sensible default for any of it. A switch that few have is off where it is not named.
class ProfileReader : Document, public sweep::ParamReader {
 public:
  explicit ProfileReader(const fs::path& file)
      : Document{sweep::load_flat_toml(file.string())}, ParamReader(params, file.string()) {}

  bool has_table(const std::string& table) const {
    const auto first = params.lower_bound(table + ".");
    return first != params.end() && first->first.starts_with(table + ".");
  }
  /// NAME of all keys TABLE.NAME.KEY.
  std::vector<std::string> tables_in(const std::string& table, const std::string& key) const {
    std::vector<std::string> names;
    for (const auto& [path, param] : params)
      if (path.starts_with(table + '.') && path.ends_with('.' + key))
        names.push_back(path.substr(table.size() + 1, path.size() - table.size() - key.size() - 2));
    return names;
  }
  bool is_on(const std::string& key) { return boolean(key, false); }
  int count(const std::string& key, int min) {
    return static_cast<int>(integer(key, min, std::numeric_limits<int>::max()));
  }
  double positive(const std::string& key) { return number(key, 1e-9, 1e9); }
  double not_negative(const std::string& key) { return number(key, 0, 1e9); }
};

/// The file of a named profile; `kind` is "gpu", "model" or "policy".
fs::path profile_file(const fs::path& folder, const std::string& kind, const std::string& name) {
  const std::vector<std::string> known = profile_names(folder);
  if (std::find(known.begin(), known.end(), name) != known.end()) return folder / (name + ".toml");
  throw sweep::SpecError("unknown " + kind + " \"" + name + '"' + sweep::suggestion(name, known) +
                         ", " + folder.string() + " has: " + sweep::joined(known));
}

void read_device(ProfileReader& in, backends::GpuProfile& gpu) {
  gpu.name_pattern = in.text("device.name_pattern");
  try {
    std::regex compiled(gpu.name_pattern);
  } catch (const std::regex_error& error) {
    in.fail("device.name_pattern", std::string("must be a regular expression: ") + error.what());
  }
  constexpr std::int64_t kMaxMib = 1 << 24;
  gpu.form_factor = in.choice("device.form_factor", {"sxm", "pcie", "superchip"});
  gpu.power_limit_w = in.positive("device.power_limit_w");
  if (in.has("device.price_per_hour")) gpu.price_per_hour = in.positive("device.price_per_hour");
  gpu.memory_min_mib = in.integer("device.memory_min_mib", 1, kMaxMib);
  gpu.memory_max_mib = in.integer("device.memory_max_mib", gpu.memory_min_mib, kMaxMib);
  gpu.memory_mib = in.integer("device.memory_mib", gpu.memory_min_mib, gpu.memory_max_mib);
  gpu.hbm_gb_s = in.positive("device.hbm_gb_s");
  gpu.bf16_tflops = in.positive("device.bf16_tflops");
}

backends::LinkRates read_link(ProfileReader& in) {
  return {.pinned_h2d_gb_s = in.positive("link.pinned_h2d_gb_s"),
          .pinned_d2h_gb_s = in.positive("link.pinned_d2h_gb_s"),
          .pageable_h2d_gb_s = in.positive("link.pageable_h2d_gb_s"),
          .pageable_d2h_gb_s = in.positive("link.pageable_d2h_gb_s"),
          .duplex_factor = in.number("link.duplex_factor", 0.5, 1)};
}

/// Published pools, per model of the models folder: any other key is unknown.
std::map<std::string, std::int64_t> read_pools(ProfileReader& in,
                                               const std::vector<std::string>& models) {
  std::map<std::string, std::int64_t> pools;
  for (const std::string& name : models) {
    const std::string key = "kv_tokens." + name;
    if (!in.has(key)) continue;
    const std::int64_t tokens =
        in.integer(key, kPoolBlockTokens, std::numeric_limits<std::int64_t>::max());
    if (tokens % kPoolBlockTokens != 0) in.fail(key, "must be a multiple of 16, whole KV blocks");
    pools[name] = tokens;
  }
  return pools;
}

std::optional<backends::PublishedFit> read_published(ProfileReader& in,
                                                     const std::vector<std::string>& models) {
  if (!in.has_table("published")) return std::nullopt;
  return backends::PublishedFit{.model = in.choice("published.model", models),
                                .slope_us_per_token = in.positive("published.slope_us_per_token"),
                                .intercept_ms = in.not_negative("published.intercept_ms")};
}

backends::MeasuredFit read_fit(ProfileReader& in, const std::string& table,
                               const std::vector<std::string>& models) {
  return {.model = in.choice(table + "model", models),
          .base_ms = in.not_negative(table + "base_ms"),
          .token_us = in.positive(table + "token_us"),
          .kv_token_ns = in.not_negative(table + "kv_token_ns"),
          .pair_ps = in.not_negative(table + "pair_ps")};
}

/// Tables [servers."vllm 0.26".async], and the same with sync.
std::map<std::string, backends::MeasuredFit> read_servers(ProfileReader& in,
                                                          const std::vector<std::string>& models) {
  std::map<std::string, backends::MeasuredFit> servers;
  for (const std::string& name : in.tables_in("servers", "base_ms")) {
    const std::string table = "servers." + name + '.';
    if (!name.ends_with(".async") && !name.ends_with(".sync"))
      in.fail(table + "base_ms", "stands in [servers.\"NAME VERSION\".async] or .sync");
    backends::MeasuredFit& fit = servers[name] = read_fit(in, table, models);
    fit.server = name.substr(0, name.rfind('.'));
    const auto if_given = [&](const char* key) {
      return in.has(table + key) ? in.not_negative(table + key) : 0;
    };
    fit.request_ms = if_given("request_ms");
    fit.tier_step_us = if_given("tier_step_us");
    fit.load_block_us = if_given("load_block_us");
  }
  return servers;
}

std::optional<backends::MeasuredFit> read_measured(ProfileReader& in,
                                                   const std::vector<std::string>& models) {
  if (!in.has_table("measured")) return std::nullopt;
  backends::MeasuredFit fit = read_fit(in, "measured.", models);
  const std::string key = "measured.kernels_digest";
  if (in.has(key)) fit.kernels_digest = in.text(key);
  if (in.has(key) && !sweep::is_sha256(fit.kernels_digest))
    in.fail(key, "must be a SHA-256, 64 hex digits");
  fit.is_older = fit.kernels_digest != kKernelsDigest;
  return fit;
}

backends::KernelFit read_kernels(ProfileReader& in, const std::vector<std::string>& models) {
  backends::KernelFit fit{.estimated = in.boolean("kernels.estimated"),
                          .model = in.choice("kernels.model", models),
                          .gemm_norm = in.count("kernels.gemm_norm", 1),
                          .gemm_launch_us = in.not_negative("kernels.gemm_launch_us"),
                          .gemm_gb_s = in.positive("kernels.gemm_gb_s"),
                          .gemm_tflops = in.positive("kernels.gemm_tflops"),
                          .prefill_launch_us = in.not_negative("kernels.prefill_launch_us"),
                          .prefill_token_ns = in.not_negative("kernels.prefill_token_ns"),
                          .prefill_tflops = in.positive("kernels.prefill_tflops"),
                          .decode_launch_us = in.not_negative("kernels.decode_launch_us"),
                          .decode_row_ns = in.not_negative("kernels.decode_row_ns"),
                          .decode_gb_s = in.positive("kernels.decode_gb_s"),
                          .step_overhead_us = in.not_negative("kernels.step_overhead_us")};
  const bool power_of_two = (fit.gemm_norm & (fit.gemm_norm - 1)) == 0;
  if (!power_of_two || fit.gemm_norm > 8) in.fail("kernels.gemm_norm", "must be 1, 2, 4 or 8");
  return fit;
}

model::ModelShape read_shape(ProfileReader& in, const std::string& name) {
  return {.name = name,
          .layers = in.count("layers", 1),
          .hidden = in.count("hidden", 1),
          .heads = in.count("heads", 1),
          .kv_heads = in.count("kv_heads", 1),
          .head_dim = in.count("head_dim", 1),
          .intermediate = in.count("intermediate", 1),
          .vocab = in.count("vocab", 1),
          .max_context = in.count("max_context", 1),
          .dtype_bytes = in.count("dtype_bytes", 1),
          .gated_mlp = in.boolean("gated_mlp"),
          .tied_embeddings = in.boolean("tied_embeddings"),
          .biases = in.boolean("biases"),
          .learned_positions = in.count("learned_positions", 0),
          .qkv_biases = in.is_on("qkv_biases"),
          .qk_norms = in.is_on("qk_norms")};
}

model::Architecture read_architecture(ProfileReader& in) {
  return in.choice("architecture", {"llama", "opt"}) == "llama" ? model::Architecture::llama
                                                                : model::Architecture::opt;
}

/// The table [rope]: what the kind of scaling needs, and nothing else.
void read_rope(ProfileReader& in, model::ModelConfig& config) {
  using Kind = model::RopeScaling::Kind;
  model::RopeScaling& scaling = config.rope_scaling;
  config.rope_theta = in.number("rope.theta", 1.001, 1e12);
  const std::string kind = in.choice("rope.scaling", {"none", "llama3", "yarn"});
  if (kind == "none") return;
  scaling.factor = in.number("rope.factor", 1, 1e6);
  scaling.original_max_context = in.count("rope.original_max_context", 1);
  if (kind == "llama3") {
    scaling.kind = Kind::llama3;
    scaling.low_freq_factor = in.positive("rope.low_freq_factor");
    scaling.high_freq_factor = in.positive("rope.high_freq_factor");
    if (scaling.high_freq_factor <= scaling.low_freq_factor)
      in.fail("rope.high_freq_factor", "must be above rope.low_freq_factor");
  } else {
    scaling.kind = Kind::yarn;
    scaling.beta_fast = in.positive("rope.beta_fast");
    scaling.beta_slow = in.positive("rope.beta_slow");
    if (scaling.beta_fast <= scaling.beta_slow)
      in.fail("rope.beta_fast", "must be above rope.beta_slow");
  }
}

/// Checks what every backend relies on: no architecture mixes the parts of the two.
void check_consistent(const ProfileReader& in, const model::ModelConfig& config) {
  constexpr int kPositionOffset = 2;  // rows of OPT's table before the first position
  const model::ModelShape& s = config.shape;
  const bool opt = config.architecture == model::Architecture::opt;
  if (s.heads % s.kv_heads != 0) in.fail("kv_heads", "must divide heads");
  if (s.dtype_bytes != model::size_of(config.dtype)) in.fail("dtype_bytes", "must be dtype's size");
  if (s.gated_mlp == opt) in.fail("gated_mlp", "must be true for llama and false for opt");
  if (s.biases != opt) in.fail("biases", "must be false for llama and true for opt");
  if (opt && s.qkv_biases) in.fail("qkv_biases", "must be false for opt, which has biases");
  if (opt && s.qk_norms) in.fail("qk_norms", "must be false for opt");
  if (!opt && s.head_dim % 2 != 0) in.fail("head_dim", "must be even, for rotary positions");
  if (opt && s.kv_heads != s.heads) in.fail("kv_heads", "must be heads for opt");
  if (opt && s.heads * s.head_dim != s.hidden)
    in.fail("head_dim", "must be hidden / heads for opt");
  if (s.learned_positions != (opt ? s.max_context + kPositionOffset : 0))
    in.fail("learned_positions", "must be 0 for llama and max_context + 2 for opt");
}

}  // namespace

sweep::ParamMap load_policy_profile(const fs::path& dir, const std::string& name) {
  return sweep::load_flat_toml(profile_file(dir / "policies", "policy", name).string());
}

std::vector<std::string> profile_names(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator files(folder, error);
  if (error) throw sweep::SpecError(folder.string() + ": no such folder of profiles");
  std::vector<std::string> names;
  for (const fs::directory_entry& file : files)
    if (file.path().extension() == ".toml") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

backends::GpuProfile read_gpu(ProfileReader& in, const fs::path& dir, const std::string& name) {
  const std::vector<std::string> models = profile_names(dir / "models");
  backends::GpuProfile gpu;
  gpu.name = name;
  read_device(in, gpu);
  gpu.link = read_link(in);
  gpu.pool = {.utilization = in.number("pool.utilization", 0.01, 1),
              .overhead_gib = in.not_negative("pool.overhead_gib")};
  gpu.kv_tokens = read_pools(in, models);
  gpu.published = read_published(in, models);
  gpu.measured = read_measured(in, models);
  gpu.servers = read_servers(in, models);
  gpu.kernels = read_kernels(in, models);
  in.reject_unknown();
  return gpu;
}

/// Another card of the folder with these measured kernels; empty: there is none.
std::string card_with(const backends::GpuProfile& gpu, const fs::path& dir) {
  for (const std::string& name : profile_names(dir / "gpus")) {
    if (name == gpu.name || gpu.kernels.estimated) continue;
    try {
      ProfileReader other(profile_file(dir / "gpus", "gpu", name));
      if (read_gpu(other, dir, name).kernels == gpu.kernels) return name;
    } catch (const sweep::SpecError&) {
      // Refused when that card is used.
    }
  }
  return {};
}

}  // namespace

backends::GpuProfile load_gpu_profile(const fs::path& dir, const std::string& name) {
  ProfileReader in(profile_file(dir / "gpus", "gpu", name));
  backends::GpuProfile gpu = read_gpu(in, dir, name);
  if (const std::string other = card_with(gpu, dir); !other.empty())
    in.fail("kernels.estimated",
            "must be true: these kernels were measured on " + other + ", not on this card");
  return gpu;
}

model::ModelConfig load_model_config(const fs::path& dir, const std::string& name) {
  ProfileReader in(profile_file(dir / "models", "model", name));
  model::ModelConfig config;
  config.shape = read_shape(in, name);
  config.architecture = read_architecture(in);
  config.dtype = model::dtype_named(
      in.choice("dtype", {model::kDTypeNames.begin(), model::kDTypeNames.end()}));
  config.norm_eps = in.number("norm_eps", 1e-12, 1e-2);
  if (config.architecture == model::Architecture::llama) read_rope(in, config);
  in.reject_unknown();
  check_consistent(in, config);
  return config;
}

}  // namespace worker
