#include <algorithm>
#include <memory>
#include <stdexcept>

#include "tests/fuzz/targets.hpp"
#include "workers/server/dialect/dialect.hpp"

namespace fuzz {
namespace {

using server::Kind;

/// The answer in a stream that arrives in parts of `size` bytes; null where it is refused.
std::unique_ptr<server::Answer> answer_in(std::string_view stream, std::size_t size, Kind kind) {
  const auto dialect = server::make_dialect(kind);
  auto answer = std::make_unique<server::Answer>();
  server::SseParser events;
  try {
    for (; !stream.empty(); stream.remove_prefix(std::min(size, stream.size())))
      events.feed(stream.substr(0, size),
                  [&](std::string_view data) { dialect->take(data, *answer); });
  } catch (const server::BadAnswer&) {
    return nullptr;
  }
  return answer;
}

/// True when one kind of server could have sent the stream. It is read alike however it is split.
bool accepts(std::string_view stream) {
  bool closed = false;
  for (const Kind kind : {Kind::openai, Kind::vllm, Kind::sglang, Kind::llamacpp}) {
    const auto whole = answer_in(stream, stream.size(), kind), split = answer_in(stream, 3, kind);
    const bool same = (whole == nullptr) == (split == nullptr) &&
                      (!whole || (whole->tokens == split->tokens && whole->ids == split->ids &&
                                  whole->closed == split->closed));
    if (!same) throw std::logic_error("a stream depends on where it is split");
    closed |= whole != nullptr && whole->closed;
  }
  return closed;
}

}  // namespace

Target server_stream_target() {
  return {"server_stream",
          accepts,
          [] {
            return std::vector<std::string>{
                "data: {\"choices\":[{\"text\":\"a\",\"token_ids\":[5]}]}\n\n"
                "data: {\"choices\":[{\"text\":\"\",\"token_ids\":[6,7],\"finish_reason\":"
                "\"length\"}]}\r\n\r\ndata: {\"choices\":[],\"usage\":{\"completion_tokens\":3,"
                "\"prompt_tokens_details\":{\"cached_tokens\":16}}}\n\ndata: [DONE]\n\n",
                ": ping\n\ndata: {\"output_ids\":[5,6],\"meta_info\":{\"completion_tokens\":2,"
                "\"cached_tokens\":4,\"cached_tokens_details\":{\"host\":1},\"finish_reason\":"
                "{\"type\":\"length\"}}}\n\ndata: [DONE]\n\n",
                "data: {\"tokens\":[56],\"tokens_predicted\":4}\n\n"
                "data: {\"stop_type\":\"limit\",\"tokens_predicted\":6,\"timings\":"
                "{\"cache_n\":3}}\n\n"};
          },
          {"data:", "\n\n", "\r", "{", "}", "[", "]", "null", "-1", "1e308", "4294967296", "[DONE]",
           "\"error\":", "\xff", ":"}};
}

}  // namespace fuzz
