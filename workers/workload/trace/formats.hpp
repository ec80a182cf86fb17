#pragma once
// Private to this room.
#include <cstdint>
#include <functional>
#include <string>

#include "workers/workload/recorded_job.hpp"
#include "workers/workload/tokenizer/tokenizer.hpp"
#include "workers/workload/trace/session.hpp"

namespace workload {

/// Mixes all bits of two numbers (the finalizer of SplitMix64 over their combination).
constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// One reader a format. Each adds the sessions of the file at `path` to `set`, with notes about what
// it took, and throws engine::InputError at file and line.

/// Claude Code sessions as in kv-cache-tester: a JSON object a session.
void read_weka(const std::string& path, TraceSet& set);
/// A request a line with ids of blocks; sessions and waits where the lines name them.
void read_mooncake(const std::string& path, TraceSet& set);
/// Qwen-Bailian: a request a line, linked by chat_id and parent_chat_id.
void read_qwen(const std::string& path, TraceSet& set);
/// CSV with times and lengths: Azure's traces and BurstGPT.
void read_request_csv(const std::string& path, TraceSet& set);
/// A round a line, with tools.
void read_tracelab(const std::string& path, TraceSet& set);
/// A request a line, as read_sizes() reads it: two numbers of tokens, prompt and answer.
void read_lengths(const std::string& path, TraceSet& set);
/// Whether the first line that is no comment has two numbers of tokens.
bool lists_lengths(const std::string& path);
using ChatVisitor = std::function<void(const RecordedJob&, const InputPlace&)>;

/// The chats of a file of messages, or of sharegpt; of the latter those without an answer are left
/// out, and counted.
void visit_messages(const std::string& path, const ChatVisitor& visit);
int visit_sharegpt(const std::string& path, const ChatVisitor& visit);

/// OpenAI messages: a chat a line, as parse_job() reads it. Texts become ids of blocks.
void read_messages(const std::string& path, const Tokenizer& tokenizer, TraceSet& set);
/// ShareGPT: objects with conversations, a line each or in one list.
void read_sharegpt(const std::string& path, const Tokenizer& tokenizer, TraceSet& set);

/// The format that the file is in, where the one that was asked for is "auto".
std::string format_of(const std::string& path, const std::string& asked);

}  // namespace workload
