#include "tests/engine/replay/workload.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "sweeps/text/input_text.hpp"
#include "sweeps/text/strict_json.hpp"
#include "workers/engine/base/errors.hpp"

namespace worker {
namespace {

using engine::InputError;
using engine::TokenId;
using nlohmann::json;

/// A JSON object with its place in the file, for error messages.
class Reader {
 public:
  Reader(const json& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value.is_object()) fail("must be an object", value);
  }

  /// Refuses keys that mean nothing here.
  void only(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : value_.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      std::string all;
      for (const std::string_view each : known)
        all += (all.empty() ? "" : ", ") + std::string(each);
      throw InputError(place_ + ": key \"" + key + "\" is unknown; known are " + all);
    }
  }
  std::string text(const char* key) const {
    const json& v = at(key);
    if (!v.is_string()) fail_at(key, "must be a string", v);
    return v.get<std::string>();
  }
  bool boolean(const char* key) const {
    const json& v = at(key);
    if (!v.is_boolean()) fail_at(key, "must be true or false", v);
    return v.get<bool>();
  }
  int integer(const char* key, std::int64_t min, std::int64_t max) const {
    return integer(at(key), key, min, max);
  }
  std::optional<int> optional_integer(const char* key, std::int64_t min, std::int64_t max) const {
    if (!has(key)) return std::nullopt;
    return integer(key, min, max);
  }
  double share(const char* key) const {
    const json& v = at(key);
    if (!v.is_number() || !(v.get<double>() >= 0 && v.get<double>() <= 1))
      fail_at(key, "must be a number between 0 and 1", v);
    return v.get<double>();
  }
  std::optional<double> optional_number(const char* key) const {
    if (!has(key)) return std::nullopt;
    if (!at(key).is_number()) fail_at(key, "must be a number", at(key));
    return at(key).get<double>();
  }
  const json& array(const char* key) const {
    const json& v = at(key);
    if (!v.is_array()) fail_at(key, "must be an array", v);
    return v;
  }
  std::vector<TokenId> tokens(const char* key) const {
    std::vector<TokenId> ids;
    for (const json& token : array(key))
      ids.push_back(static_cast<TokenId>(integer(token, key, 0, INT32_MAX)));
    return ids;
  }
  bool has(const char* key) const { return value_.contains(key); }
  const json& at(const char* key) const {
    if (!has(key)) throw InputError(place_ + ": " + key + " is missing");
    return value_[key];
  }
  std::string place(const char* key) const { return place_ + "." + key; }

  [[noreturn]] void fail_at(const char* key, const std::string& problem, const json& found) const {
    throw InputError(place(key) + " " + problem + ", found " + found.dump().substr(0, 80));
  }

 private:
  int integer(const json& v, const char* key, std::int64_t min, std::int64_t max) const {
    // A number above INT64_MAX is unsigned: read as signed it would be negative.
    const bool whole =
        v.is_number_integer() && (!v.is_number_unsigned() || v.get<std::uint64_t>() <= INT64_MAX);
    const bool fits = whole && v.get<std::int64_t>() >= min && v.get<std::int64_t>() <= max;
    if (!fits) {
      fail_at(key,
              "must be an integer between " + std::to_string(min) + " and " + std::to_string(max),
              v);
    }
    return v.get<int>();
  }
  [[noreturn]] void fail(const std::string& problem, const json& found) const {
    throw InputError(place_ + " " + problem + ", found " + found.dump().substr(0, 80));
  }

  const json& value_;
  std::string place_;
};

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of the file
constexpr int kMaxSteps = 1'000'000;    // every step up to the last arrival is one line of output
constexpr int kMaxTokens = 10'000'000;  // more in one request is a mistake, not a workload

std::vector<TokenId> read_prompt(const Reader& request) {
  const json& prompt = request.at("prompt");
  if (prompt.is_array()) return request.tokens("prompt");
  const Reader object(prompt, request.place("prompt"));
  object.only({"segments"});
  std::vector<TokenId> tokens;
  for (const json& segment : object.array("segments")) {
    const bool triple = segment.is_array() && segment.size() == 3 &&
                        segment[0].is_number_unsigned() && segment[1].is_number_unsigned() &&
                        segment[2].is_number_unsigned();
    if (!triple || segment[2].get<std::uint64_t>() > kMaxTokens) {
      object.fail_at("segments", "must hold [seed, start, length] triples of whole numbers",
                     segment);
    }
    const auto seed = segment[0].get<std::uint64_t>(), start = segment[1].get<std::uint64_t>();
    const auto length = segment[2].get<std::uint64_t>();
    if (tokens.size() + length > kMaxTokens)
      object.fail_at("segments", "must have at most " + std::to_string(kMaxTokens) + " tokens",
                     segment);
    for (std::uint64_t i = start; i < start + length; ++i) tokens.push_back(stream_token(seed, i));
  }
  return tokens;
}

std::vector<TokenId> read_outputs(const Reader& request) {
  const int count = request.integer("output_len", 1, kMaxTokens);
  std::vector<TokenId> tokens;
  if (request.has("output_tokens")) tokens = request.tokens("output_tokens");
  if (tokens.empty() || request.has("out_seed")) {
    const int seed = request.integer("out_seed", 0, INT32_MAX);
    for (auto i = tokens.size(); i < static_cast<std::size_t>(count); ++i) {
      tokens.push_back(stream_token(static_cast<std::uint64_t>(seed), i));
    }
  }
  if (tokens.size() < static_cast<std::size_t>(count)) {
    request.fail_at("output_tokens", "must give output_len tokens", request.at("output_tokens"));
  }
  tokens.resize(static_cast<std::size_t>(count));
  return tokens;
}

ScriptedRequest read_request(const json& value, const std::string& place) {
  const Reader reader(value, place);
  reader.only({"id", "arrival_step", "abort_step", "priority", "arrival_time", "prompt",
               "output_len", "out_seed", "output_tokens"});
  ScriptedRequest request;
  request.id = reader.text("id");
  request.arrival_step = reader.integer("arrival_step", 0, kMaxSteps);
  request.abort_step = reader.optional_integer("abort_step", 0, kMaxSteps);
  request.priority = reader.has("priority") ? reader.integer("priority", INT32_MIN, INT32_MAX) : 0;
  request.arrival_time = reader.optional_number("arrival_time");
  if (request.arrival_time && !(std::abs(*request.arrival_time) < 1e9)) {
    reader.fail_at("arrival_time", "must be between -1e9 and 1e9", value["arrival_time"]);
  }
  request.prompt = read_prompt(reader);
  request.outputs = read_outputs(reader);
  return request;
}

ScriptedTier read_tier(const Reader& tier) {
  tier.only({"blocks", "policy", "transfer_steps", "offload_prompt_only", "store_threshold"});
  ScriptedTier read;
  engine::TierConfig& config = read.config;
  config.kind = engine::TierKind::offload;
  config.host_blocks = tier.integer("blocks", 1, 1 << 28);
  config.transfers.quantum_blocks = INT32_MAX;
  const std::string policy = tier.text("policy");
  if (policy != "lru" && policy != "arc")
    tier.fail_at("policy", "must be \"lru\" or \"arc\"", policy);
  config.arc = policy == "arc";
  read.transfer_steps = tier.integer("transfer_steps", 1, kMaxSteps);
  if (tier.has("offload_prompt_only"))
    config.store_mode =
        tier.boolean("offload_prompt_only") ? engine::StoreMode::prompt : engine::StoreMode::all;
  config.store_threshold = tier.optional_integer("store_threshold", 0, INT32_MAX).value_or(0);
  return read;
}

/// What releases before 0.33 do not have.
void read_newer(const Reader& config, SchedulerWorkload& workload) {
  engine::SchedulerConfig& s = workload.scheduler;
  const auto refuse = [&](const char* key) {
    if (config.has(key)) config.fail_at(key, "needs --scheduler vllm-0.33", config.at(key));
  };
  if (s.version != engine::Version::v0_33)
    for (const char* key : {"watermark", "long_prefill_token_threshold_adaptive"}) refuse(key);
  if (s.version == engine::Version::may_2026) return refuse("tier");
  workload.kv.partial_blocks_first = true;
  if (config.has("watermark"))
    s.watermark_blocks = static_cast<int>(config.share("watermark") * workload.kv.num_blocks);
  if (config.has("long_prefill_token_threshold_adaptive"))
    s.adaptive_prefill_threshold = config.boolean("long_prefill_token_threshold_adaptive");
  if (!config.has("tier")) return;
  if (!workload.kv.prefix_caching)
    config.fail_at("tier", "needs enable_prefix_caching", config.at("tier"));
  workload.tier = read_tier(Reader(config.at("tier"), config.place("tier")));
  workload.tier->config.as_v0_26 = s.version == engine::Version::v0_26;
}

void read_config(const Reader& config, SchedulerWorkload& workload) {
  config.only({"num_gpu_blocks", "block_size", "enable_prefix_caching", "max_num_batched_tokens",
               "max_num_seqs", "max_model_len", "long_prefill_token_threshold",
               "enable_chunked_prefill", "scheduler_reserve_full_isl", "policy", "watermark",
               "long_prefill_token_threshold_adaptive", "tier"});
  workload.kv.num_blocks = config.integer("num_gpu_blocks", 2, 1 << 28);
  workload.kv.block_size = config.integer("block_size", 1, 1 << 16);
  workload.kv.prefix_caching = config.boolean("enable_prefix_caching");
  engine::SchedulerConfig& s = workload.scheduler;
  s.max_num_batched_tokens = config.integer("max_num_batched_tokens", 1, INT32_MAX);
  s.max_num_seqs = config.integer("max_num_seqs", 1, INT32_MAX);
  s.max_model_len = config.integer("max_model_len", 2, kMaxTokens);
  s.long_prefill_token_threshold = config.integer("long_prefill_token_threshold", 0, INT32_MAX);
  s.chunked_prefill = config.boolean("enable_chunked_prefill");
  s.reserve_full_sequence = config.boolean("scheduler_reserve_full_isl");
  read_newer(config, workload);
  workload.order = config.text("policy");
  if (workload.order != "fcfs" && workload.order != "priority") {
    config.fail_at("policy", "must be \"fcfs\" or \"priority\"", workload.order);
  }
  if (s.max_num_batched_tokens < s.max_num_seqs) {
    config.fail_at("max_num_batched_tokens", "must be at least max_num_seqs",
                   s.max_num_batched_tokens);
  }
  if (!s.chunked_prefill && s.max_num_batched_tokens < s.max_model_len) {
    config.fail_at("max_num_batched_tokens",
                   "must be at least max_model_len without chunked prefill",
                   s.max_num_batched_tokens);
  }
}

/// Refuses a sequence that can never fit: it would be preempted and resumed forever.
void check_request(const SchedulerWorkload& workload, const ScriptedRequest& request,
                   const std::string& place) {
  const auto fail = [&](const std::string& problem) {
    throw InputError(place + " (" + request.id + ") " + problem);
  };
  const auto prompt = static_cast<int>(request.prompt.size());
  const int max_len = workload.scheduler.max_model_len;
  if (prompt < 1 || prompt >= max_len) {
    fail("must have a prompt of 1 to " + std::to_string(max_len - 1) + " tokens, found " +
         std::to_string(prompt));
  }
  const int bs = workload.kv.block_size;
  const int needed =
      (std::min(prompt + static_cast<int>(request.outputs.size()), max_len) - 1 + bs - 1) / bs;
  if (needed > workload.kv.num_blocks - 1) {
    fail("needs " + std::to_string(needed) + " blocks, found " +
         std::to_string(workload.kv.num_blocks - 1) + " usable in the pool");
  }
}

}  // namespace

std::uint64_t splitmix64(std::uint64_t x) {
  std::uint64_t z = x + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

TokenId stream_token(std::uint64_t seed, std::uint64_t i) {
  return static_cast<TokenId>(splitmix64(seed * 1'000'003 + i) % 32'000);
}

namespace {

SchedulerWorkload read_scheduler_workload(const std::string& path, engine::Version version) {
  std::ifstream file(path);
  if (!file) throw InputError(path + ": cannot be read");
  json document;
  try {
    document = sweep::strict_json(sweep::input_text<InputError>(file, path, kMostBytes));
  } catch (const sweep::JsonRefused& refused) {
    throw InputError(path + ": is not JSON: " + refused.what());
  }
  const Reader root(document, path + ": workload");
  root.only({"name", "note", "config", "requests"});
  SchedulerWorkload workload;
  workload.scheduler.version = version;
  workload.name = root.text("name");
  read_config(Reader(root.at("config"), path + ": config"), workload);
  std::set<std::string> ids;
  for (const json& value : root.array("requests")) {
    const std::string place = path + ": requests[" + std::to_string(workload.requests.size()) + "]";
    workload.requests.push_back(read_request(value, place));
    const ScriptedRequest& request = workload.requests.back();
    if (!ids.insert(request.id).second)
      throw InputError(place + ".id must be unique, found \"" + request.id + "\" again");
    check_request(workload, request, place);
  }
  return workload;
}

}  // namespace

SchedulerWorkload load_scheduler_workload(const std::string& path, engine::Version version) {
  return sweep::or_no_memory<InputError>(path,
                                         [&] { return read_scheduler_workload(path, version); });
}

}  // namespace worker
