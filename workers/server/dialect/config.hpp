#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace server {

enum class Kind : std::uint8_t { openai, vllm, sglang, llamacpp };

/// The answers that the prompt of a turn continues: recorded ones, those that the
/// server generated, or recorded answers that the server was made to generate.
enum class Chain : std::uint8_t { recorded, generated, forced };

/// How a server's caches are emptied between cells.
enum class Reset : std::uint8_t {
  automatic,  // its own reset, checked by a probe, or else a restart
  restart,
  none
};

using Scalar = std::variant<bool, std::int64_t, double, std::string>;

/// Sizes of a server in the terms of engine.*: those that it must have, or those that it reports.
struct EngineSizes {
  std::optional<std::int64_t> kv_tokens;   // of the KV pool
  std::optional<std::int64_t> block_size;  // tokens of a KV block
  std::optional<std::int64_t> max_num_seqs;
  std::optional<std::int64_t> max_num_batched_tokens;
  std::optional<std::int64_t> max_model_len;

  /// Each with its name behind "engine.".
  auto named() const {
    using Named = std::pair<const char*, std::optional<std::int64_t>>;
    return std::array<Named, 5>{{{"kv_tokens", kv_tokens},
                                 {"block_size", block_size},
                                 {"max_num_seqs", max_num_seqs},
                                 {"max_num_batched_tokens", max_num_batched_tokens},
                                 {"max_model_len", max_model_len}}};
  }
};

/// How a cell's server is started and spoken to. Texts may hold placeholders of run time:
/// command and environment {port}, request {job.id}, {job.index}, {turn.index}, {turn.last},
/// {tool.name} and {gap.expected_s}.
struct ServerConfig {
  Kind kind = Kind::openai;
  std::string kind_name;
  std::string profile;
  std::vector<std::string> command;                // words; empty: the server is at `url`
  std::string url;                                 // "http://host:8000", without a final slash
  std::map<std::string, std::string> environment;  // a value may be "env:VARIABLE"
  std::map<std::string, std::string> headers;  // by name, the environment variables of their values
  std::map<std::string, Scalar> request;       // fields added to each turn's body; dots nest
  std::string version;
  std::string model;                 // name in requests; empty: none is sent
  std::string model_file;            // weights that the command names; empty: none
  std::optional<EngineSizes> match;  // what it must have (server.match); the command says so
  Chain chain = Chain::recorded;
  Reset reset = Reset::automatic;
  bool steps = false;  // its scheduler writes its steps (server.steps); the command says so
  std::uint32_t vocabulary = 0;  // ids of prompts are below it
  int max_model_len = 0;         // longest turn, prompt and answer
  double ready_s = 900;          // longest start
  double silent_s = 300;         // a turn that receives nothing for this long has failed

  /// Distinguishes servers: equal values are served by one start.
  auto start() const {
    return std::tie(kind, command, url, environment, headers, version, model, model_file);
  }
};

}  // namespace server
