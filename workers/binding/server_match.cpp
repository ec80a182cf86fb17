// server.match: the sizes of engine.* as flags of a server. server.steps: its scheduler as one. And
// what scheduling policies inside vLLM demand of requests.
#include <algorithm>
#include <array>

#include "workers/binding/key_groups.hpp"
#include "workers/binding/server.hpp"

namespace worker {
namespace {

using server::EngineSizes;
using server::Kind;

/// A flag that gives a server a size or the type of its KV, under its short and its long name.
struct SizeFlag {
  const char *name, *other;
  std::optional<std::int64_t> value;  // empty: the flag stands alone
  std::string word = {};              // in place of a value
};

/// vLLM counts its null block. llama-server has no blocks: its
/// slots share one pool (-kvu), of which a turn may take any part.
std::vector<SizeFlag> flags_of(Kind kind, const EngineSizes& sizes) {
  if (kind == Kind::vllm)
    return {{"--num-gpu-blocks-override", "", *sizes.kv_tokens / *sizes.block_size + 1},
            {"--block-size", "", sizes.block_size},
            {"--max-num-seqs", "", sizes.max_num_seqs},
            {"--max-num-batched-tokens", "", sizes.max_num_batched_tokens},
            {"--max-model-len", "", sizes.max_model_len}};
  if (kind == Kind::sglang)
    return {{"--max-total-tokens", "", sizes.kv_tokens},
            {"--page-size", "", sizes.block_size},
            {"--max-running-requests", "", sizes.max_num_seqs},
            {"--chunked-prefill-size", "", sizes.max_num_batched_tokens},
            {"--context-length", "", sizes.max_model_len}};
  return {{"-kvu", "--kv-unified", {}},
          {"-c", "--ctx-size", sizes.kv_tokens},
          {"-np", "--parallel", sizes.max_num_seqs},
          {"-b", "--batch-size", sizes.max_num_batched_tokens},
          {"-ub", "--ubatch-size", sizes.max_num_batched_tokens}};
}

/// The words in one, as vLLM reads flags: "_" for "-", and "=" for a space behind one.
std::string flags_in(const std::vector<std::string>& command) {
  std::string text;
  for (std::string word : command) {
    if (word.starts_with("--"))
      for (std::size_t i = 0; i < word.size() && word[i] != '='; ++i)
        if (word[i] == '_') word[i] = '-';
    text += ' ' + word;
  }
  std::ranges::replace(text, '=', ' ');
  return text + ' ';
}

bool has_flag(const std::string& flags, const std::string& flag) {
  return !flag.empty() && flags.find(' ' + flag + ' ') != std::string::npos;
}

void refuse_own_flags(const ParamBinder& in, const server::ServerConfig& server,
                      const std::vector<SizeFlag>& flags) {
  const std::string own = flags_in(server.command);
  for (const SizeFlag& flag : flags)
    if (has_flag(own, flag.name) || has_flag(own, flag.other))
      in.fail("server.match", "gives the server " + std::string(flag.name) +
                                  ", and so does its command: leave it out there");
}

EngineSizes bind_sizes(ParamBinder& in, const ExperimentConfig& config) {
  const bool has_blocks = config.server->kind != Kind::llamacpp;
  const std::int64_t block = has_blocks ? in.integer("engine.block_size") : 1;
  EngineSizes sizes;
  if (has_blocks) sizes.block_size = block;
  sizes.kv_tokens = in.integer("engine.kv_tokens") / block * block;
  sizes.max_num_seqs = in.integer("engine.max_num_seqs");
  sizes.max_num_batched_tokens = in.integer("engine.max_num_batched_tokens");
  if (has_blocks) sizes.max_model_len = config.engine.scheduler.max_model_len;
  return sizes;
}

}  // namespace

void bind_match(ParamBinder& in, ExperimentConfig& config) {
  server::ServerConfig& server = *config.server;
  if (!in.boolean("server.match")) return;
  if (server.kind == Kind::openai)
    in.fail(
        "server.match",
        "needs server.kind \"vllm\", \"sglang\" or \"llamacpp\", whose flags for sizes are known");
  if (!server.url.empty())
    in.fail("server.match", "has no effect on the server at server.url, which runs already");
  const EngineSizes sizes = bind_sizes(in, config);
  const int longest = config.engine.scheduler.max_model_len;
  if (*sizes.kv_tokens < longest)
    in.fail("engine.kv_tokens", "must be at least engine.max_model_len (" +
                                    std::to_string(longest) + ") in whole blocks");
  bind_kv_dtype(in, config.model);
  if (config.model.fp8_kv && server.kind != Kind::vllm)
    in.fail("engine.kv_dtype", "must be \"bf16\" on a server of another kind than vllm");
  std::vector<SizeFlag> flags = flags_of(server.kind, sizes);
  if (config.model.fp8_kv) flags.push_back({"--kv-cache-dtype", "", {}, "fp8"});
  refuse_own_flags(in, server, flags);
  for (const SizeFlag& flag : flags) {
    server.command.emplace_back(flag.name);
    if (flag.value) server.command.push_back(std::to_string(*flag.value));
    if (!flag.word.empty()) server.command.push_back(flag.word);
  }
  server.match = sizes;
  const auto block = static_cast<int>(sizes.block_size.value_or(config.engine.kv.block_size));
  config.engine.kv.block_size = block;
  config.engine.kv.num_blocks = static_cast<int>(*sizes.kv_tokens / block) + 1;
}

void bind_steps(ParamBinder& in, server::ServerConfig& server) {
  const std::string key = "server.steps";
  if (!in.boolean(key)) return;
  if (server.kind != Kind::vllm)
    in.fail(key, "needs server.kind \"vllm\", whose scheduler writes its steps with kvsweep.vllm");
  if (!server.url.empty())
    in.fail(key, "has no effect on the server at server.url, which runs already");
  const std::string flags = flags_in(server.command);
  if (has_flag(flags, "--scheduler-cls"))
    in.fail(key, "gives the server --scheduler-cls, and so does its command: leave it out there");
  if (server.environment.contains("KVSWEEP_STEPS"))
    in.fail(key,
            "says where steps are written, and so does server.env.KVSWEEP_STEPS: leave it out");
  const bool sync = has_flag(flags, "--no-async-scheduling");
  server.command.emplace_back("--scheduler-cls");
  server.command.emplace_back(sync ? "kvsweep.vllm.Scheduler" : "kvsweep.vllm.AsyncScheduler");
}

void require_priorities(const ParamBinder& in, const server::ServerConfig& server) {
  const std::string key = "server.request.priority";
  if (server.kind != Kind::vllm || !server.url.empty() || !in.has(key)) return;
  const std::string flags = flags_in(server.command);
  if (has_flag(flags, "--scheduling-policy priority") || has_flag(flags, "--config")) return;
  in.fail(key,
          "has no effect, or fails every request: vLLM heeds priorities with --scheduling-policy "
          "priority alone, which server.command lacks");
}

void require_last_turns(const ParamBinder& in, const server::ServerConfig& server) {
  const std::string field = "vllm_xargs.is_last_step";
  if (server.environment.contains("KVSWEEP_POLICY") && !server.request.contains(field))
    in.fail("server.env.KVSWEEP_POLICY",
            "needs server.request " + field +
                " = \"{turn.last}\": a policy that admits jobs counts one until its last turn");
}

}  // namespace worker
