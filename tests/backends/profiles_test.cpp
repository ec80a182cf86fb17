#include "workers/profiles/profiles.hpp"

#include "sweeps/definition/params.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "version/kernels_digest.hpp"

namespace {

namespace fs = std::filesystem;
const fs::path kProfiles = "sweeps";
const std::vector<std::string> kGpus = {
    "a100-40gb",   "a100-80gb", "a100-sxm-40gb", "a100-sxm-80gb", "b200-180gb",
    "gb200-186gb", "h100-80gb", "h200-141gb",    "l40s-48gb",     "rtx5090-32gb"};
const std::vector<std::string> kModels = {"llama-3.1-8b",      "llama-3.2-1b",   "mistral-7b",
                                          "opt-13b",           "qwen2.5-1.5b",   "qwen2.5-7b",
                                          "qwen3-8b",          "tiny-llama-3",   "tiny-opt",
                                          "tiny-yarn-llama-2", "yarn-llama-2-7b"};

using support::text_of;

/// A copy of the shipped profiles in which one file can be corrupted.
class ProfileFolder {
 public:
  ProfileFolder() {
    fs::copy(kProfiles / "gpus", path() / "gpus");
    fs::copy(kProfiles / "models", path() / "models");
  }
  fs::path path() const { return dir_.path(); }
  /// Replaces the only line of the file that starts with `start`.
  void replace_line(const std::string& file, const std::string& start, const std::string& line) {
    std::string text = text_of(path() / file);
    const std::size_t from = text.find("\n" + start) + 1;
    REQUIRE(from != 0);
    text.replace(from, text.find('\n', from) - from, line);
    dir_.write(file, text);
  }
  std::string gpu_error(const std::string& name) const {
    return error([&] { worker::load_gpu_profile(path(), name); });
  }
  std::string model_error(const std::string& name) const {
    return error([&] { worker::load_model_config(path(), name); });
  }

 private:
  template <class Load>
  static std::string error(Load load) {
    try {
      load();
    } catch (const sweep::SpecError& error) {
      return error.what();
    }
    return "";
  }
  support::TempDir dir_;
};

std::vector<std::string> profiles_of(const std::string& device, std::int64_t mib) {
  std::vector<std::string> found;
  for (const std::string& name : kGpus)
    if (backends::is_device(worker::load_gpu_profile(kProfiles, name), device, mib))
      found.push_back(name);
  return found;
}

using Names = std::vector<std::string>;

bool mentions(const std::string& message, const Names& parts) {
  for (const std::string& part : parts)
    if (message.find(part) == std::string::npos) {
      std::cout << "\"" << message << "\" does not mention \"" << part << "\"\n";
      return false;
    }
  return true;
}

}  // namespace

TEST_CASE("every shipped profile loads") {
  CHECK(worker::profile_names(kProfiles / "gpus") == kGpus);
  CHECK(worker::profile_names(kProfiles / "models") == kModels);
  for (const std::string& name : kGpus)
    CHECK(worker::load_gpu_profile(kProfiles, name).name == name);
  for (const std::string& name : kModels)
    CHECK(worker::load_model_config(kProfiles, name).shape.name == name);
}

TEST_CASE("a device's name and memory tell its SKU, whatever the driver reports of the memory") {
  CHECK(profiles_of("NVIDIA H100 80GB HBM3", 81559) == Names{"h100-80gb"});
  CHECK(profiles_of("NVIDIA A100-PCIE-40GB", 40960) == Names{"a100-40gb"});
  CHECK(profiles_of("NVIDIA A100-PCIE-40GB", 40536) == Names{"a100-40gb"});
  CHECK(profiles_of("A100-PCIE-40GB", 40536) == Names{"a100-40gb"});
  CHECK(profiles_of("NVIDIA A100 80GB PCIe", 81920) == Names{"a100-80gb"});
  CHECK(profiles_of("NVIDIA A100-SXM4-40GB", 40960) == Names{"a100-sxm-40gb"});
  CHECK(profiles_of("NVIDIA A100-SXM4-80GB", 81920) == Names{"a100-sxm-80gb"});
  CHECK(profiles_of("A100-SXM-80GB", 81251) == Names{"a100-sxm-80gb"});
  CHECK(profiles_of("NVIDIA H200", 143771) == Names{"h200-141gb"});
  CHECK(profiles_of("NVIDIA B200", 183359) == Names{"b200-180gb"});
  CHECK(profiles_of("NVIDIA GB200", 189471) == Names{"gb200-186gb"});
  CHECK(profiles_of("NVIDIA L40S", 46068) == Names{"l40s-48gb"});
  CHECK(profiles_of("NVIDIA GeForce RTX 5090", 32607) == Names{"rtx5090-32gb"});
}

TEST_CASE("a card that matches a SKU only in part has none") {
  CHECK(profiles_of("NVIDIA A100-SXM4-80GB", 40960).empty());
  CHECK(profiles_of("NVIDIA A100-SXM-64GB", 65536).empty());
  CHECK(profiles_of("NVIDIA H100 PCIe", 81559).empty());
  CHECK(profiles_of("NVIDIA H200 NVL", 143771).empty());
  CHECK(profiles_of("NVIDIA GeForce RTX 5090 D", 32607).empty());
  CHECK(profiles_of("NVIDIA H200", 71000).empty());  // a MIG slice of one
}

TEST_CASE("a profile copied from a measured card is refused until it says that it is estimated") {
  ProfileFolder folder;
  fs::copy(folder.path() / "gpus/h100-80gb.toml", folder.path() / "gpus/h100-nvl-94gb.toml");
  CHECK(mentions(folder.gpu_error("h100-nvl-94gb"),
                 {"h100-nvl-94gb.toml:", "kernels.estimated must be true", "on h100-80gb"}));
  folder.replace_line("gpus/h100-nvl-94gb.toml", "estimated", "estimated = true");
  CHECK(folder.gpu_error("h100-nvl-94gb").empty());
}

TEST_CASE("measured constants are of older kernels unless they carry this program's digest") {
  const std::string file = "gpus/h100-80gb.toml", line = "kernels_digest";
  ProfileFolder folder;
  const auto is_older = [&] {
    return worker::load_gpu_profile(folder.path(), "h100-80gb").measured->is_older;
  };
  CHECK(is_older());
  folder.replace_line(file, line, std::string(line) + " = \"" + worker::kKernelsDigest + '"');
  CHECK_FALSE(is_older());
  folder.replace_line(file, line, "# not known");
  CHECK(is_older());
  folder.replace_line(file, "pair_ps", "pair_ps = 1\nkernels_digest = \"3553f7f6\"");
  CHECK(mentions(folder.gpu_error("h100-80gb"), {"measured.kernels_digest", "64 hex digits"}));
}

TEST_CASE("no two profiles of one name pattern overlap in memory") {
  for (const std::string& a : kGpus) {
    for (const std::string& b : kGpus) {
      const auto first = worker::load_gpu_profile(kProfiles, a);
      const auto second = worker::load_gpu_profile(kProfiles, b);
      if (a == b || first.name_pattern != second.name_pattern) continue;
      CHECK((first.memory_max_mib < second.memory_min_mib ||
             second.memory_max_mib < first.memory_min_mib));
    }
  }
}

TEST_CASE("published KV pools are whole blocks within a block of the published figure") {
  const model::ModelShape llama = worker::load_model_config(kProfiles, "llama-3.1-8b").shape;
  const std::vector<std::pair<std::string, std::int64_t>> published = {{"h100-80gb", 458'000},
                                                                       {"a100-40gb", 90'000},
                                                                       {"a100-80gb", 200'000},
                                                                       {"h200-141gb", 825'000}};
  for (const auto& [gpu, tokens] : published) {
    CAPTURE(gpu);
    const std::int64_t pool =
        backends::kv_pool_tokens(worker::load_gpu_profile(kProfiles, gpu), llama);
    CHECK(pool % 16 == 0);
    CHECK(pool <= tokens);
    CHECK(pool > tokens - 16);
  }
  CHECK(backends::kv_pool_tokens(worker::load_gpu_profile(kProfiles, "h100-80gb"), llama) ==
        28'625 * 16);
}

TEST_CASE("without a published pool the KV gets the memory that the model leaves") {
  const auto pool = [](const std::string& gpu, const std::string& model) {
    return backends::kv_pool_tokens(worker::load_gpu_profile(kProfiles, gpu),
                                    worker::load_model_config(kProfiles, model).shape);
  };
  // 40,960 MiB x 0.95 - 2 GiB - 16,060,522,496 B of weights, at 131,072 B per token.
  CHECK(pool("a100-sxm-40gb", "llama-3.1-8b") == 172'368);
  CHECK(pool("h200-141gb", "yarn-llama-2-7b") < pool("h200-141gb", "llama-3.1-8b") / 3);
  for (const std::string& gpu : kGpus)
    for (const std::string& model : kModels) {
      CAPTURE(gpu, model);
      CHECK(pool(gpu, model) > 0);
      CHECK(pool(gpu, model) % 16 == 0);
    }
}

TEST_CASE("a card that the weights alone fill has no KV pool") {
  backends::GpuProfile small = worker::load_gpu_profile(kProfiles, "rtx5090-32gb");
  small.memory_mib = 24 * 1024;
  CHECK(backends::kv_pool_tokens(small, worker::load_model_config(kProfiles, "opt-13b").shape) ==
        0);
}

TEST_CASE("model shapes count the parameters of the published checkpoints") {
  CHECK(model::total_params(worker::load_model_config(kProfiles, "llama-3.1-8b").shape) ==
        8'030'261'248);
  CHECK(model::total_params(worker::load_model_config(kProfiles, "yarn-llama-2-7b").shape) ==
        6'738'415'616);
  CHECK(model::total_params(worker::load_model_config(kProfiles, "opt-13b").shape) ==
        12'853'473'280);
  const auto count = [](const char* name) {
    return model::total_params(worker::load_model_config(kProfiles, name).shape);
  };
  CHECK(count("llama-3.2-1b") == 1'235'814'400);
  CHECK(count("mistral-7b") == 7'248'023'552);
  CHECK(count("qwen2.5-1.5b") == 1'543'714'304);
  CHECK(count("qwen2.5-7b") == 7'615'616'512);
  CHECK(count("qwen3-8b") == 8'190'735'360);
}

TEST_CASE("model shapes give the bytes and the arithmetic of a token") {
  const model::ModelShape llama = worker::load_model_config(kProfiles, "llama-3.1-8b").shape;
  const model::ModelShape yarn = worker::load_model_config(kProfiles, "yarn-llama-2-7b").shape;
  const model::ModelShape opt = worker::load_model_config(kProfiles, "opt-13b").shape;
  CHECK(model::kv_bytes_per_token(llama) == 131'072);
  CHECK(model::kv_bytes_per_token(yarn) == 524'288);
  CHECK(model::kv_bytes_per_token(opt) == 819'200);
  CHECK(model::weight_bytes(llama) == 16'060'522'496);
  CHECK(model::linear_params(llama) == 6'979'321'856);
  CHECK(model::gemm_flops_per_token(llama) == 13'958'643'712);
  CHECK(model::gemm_flops_per_token(yarn) == 12'952'010'752);
  CHECK(model::gemm_flops_per_token(opt) == 25'165'824'000);
  CHECK(model::head_flops_per_row(llama) == 1'050'673'152);
  CHECK(model::attention_flops(llama, 1) == 524'288);
  CHECK(model::attention_flops(opt, 2) == 2 * 819'200);
}

TEST_CASE("an unknown profile is refused with the known ones and the nearest") {
  CHECK_THROWS_WITH(worker::load_gpu_profile(kProfiles, "h100-80g"),
                    "unknown gpu \"h100-80g\" (did you mean \"h100-80gb\"?), sweeps/gpus has: "
                    "a100-40gb, a100-80gb, a100-sxm-40gb, a100-sxm-80gb, b200-180gb, gb200-186gb, "
                    "h100-80gb, h200-141gb, l40s-48gb, rtx5090-32gb");
  CHECK_THROWS_WITH(worker::load_model_config(kProfiles, "llama-3.1-8"),
                    "unknown model \"llama-3.1-8\" (did you mean \"llama-3.1-8b\"?), "
                    "sweeps/models has: llama-3.1-8b, llama-3.2-1b, mistral-7b, "
                    "opt-13b, qwen2.5-1.5b, qwen2.5-7b, qwen3-8b, tiny-llama-3, tiny-opt, "
                    "tiny-yarn-llama-2, yarn-llama-2-7b");
  CHECK_THROWS_AS(worker::load_gpu_profile(kProfiles, "../gpus/h100-80gb"), sweep::SpecError);
  CHECK_THROWS_WITH(worker::profile_names("nowhere/gpus"),
                    "nowhere/gpus: no such folder of profiles");
}

TEST_CASE("a missing key of a profile is named with its file") {
  ProfileFolder folder;
  folder.replace_line("gpus/h100-80gb.toml", "gemm_tflops", "");
  CHECK(mentions(folder.gpu_error("h100-80gb"),
                 {"h100-80gb.toml", "\"kernels.gemm_tflops\" is missing"}));
  folder.replace_line("models/opt-13b.toml", "vocab", "");
  CHECK(mentions(folder.model_error("opt-13b"), {"opt-13b.toml", "\"vocab\""}));
}

TEST_CASE("an unknown key of a profile is named with its file and line") {
  ProfileFolder folder;
  folder.replace_line("gpus/l40s-48gb.toml", "hbm_gb_s", "hbm_gb_s = 864\nhbm_gbs = 900");
  CHECK(mentions(
      folder.gpu_error("l40s-48gb"),
      {"l40s-48gb.toml:", "unknown key \"device.hbm_gbs\"", "did you mean \"device.hbm_gb_s\"?"}));
  folder.replace_line("models/opt-13b.toml", "vocab", "vocab = 50272\nvocabulary = 1");
  CHECK(mentions(folder.model_error("opt-13b"), {"unknown key \"vocabulary\""}));
}

TEST_CASE("a pool for a model that does not exist is an unknown key") {
  ProfileFolder folder;
  folder.replace_line("gpus/h100-80gb.toml", "\"llama-3.1-8b\"", "\"lama-3.1-8b\" = 458000");
  CHECK(mentions(folder.gpu_error("h100-80gb"), {"unknown key \"kv_tokens.lama-3.1-8b\""}));
}

TEST_CASE("impossible values of a profile are refused") {
  ProfileFolder folder;
  SECTION("a pool that is not whole blocks") {
    folder.replace_line("gpus/h100-80gb.toml", "\"llama-3.1-8b\"", "\"llama-3.1-8b\" = 458001");
    CHECK(mentions(folder.gpu_error("h100-80gb"), {"multiple of 16", "458001"}));
  }
  SECTION("a memory range with swapped ends") {
    folder.replace_line("gpus/h100-80gb.toml", "memory_min_mib", "memory_min_mib = 90000");
    CHECK(mentions(folder.gpu_error("h100-80gb"), {"device.memory_max_mib"}));
  }
  SECTION("a name pattern that is not a regular expression") {
    folder.replace_line("gpus/h100-80gb.toml", "name_pattern", "name_pattern = '(H100'");
    CHECK(mentions(folder.gpu_error("h100-80gb"), {"must be a regular expression"}));
  }
  SECTION("a norm that is not a power of two") {
    folder.replace_line("gpus/h100-80gb.toml", "gemm_norm", "gemm_norm = 3");
    CHECK(mentions(folder.gpu_error("h100-80gb"), {"must be 1, 2, 4 or 8, found 3"}));
  }
  SECTION("a rate of zero") {
    folder.replace_line("gpus/h100-80gb.toml", "pinned_h2d_gb_s", "pinned_h2d_gb_s = 0");
    CHECK(mentions(folder.gpu_error("h100-80gb"), {"link.pinned_h2d_gb_s"}));
  }
  SECTION("KV heads that do not divide the query heads") {
    folder.replace_line("models/llama-3.1-8b.toml", "kv_heads", "kv_heads = 7");
    CHECK(mentions(folder.model_error("llama-3.1-8b"), {"kv_heads must divide heads, found 7"}));
  }
}
