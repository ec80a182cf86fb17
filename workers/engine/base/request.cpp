#include "workers/engine/base/request.hpp"

#include <algorithm>

namespace engine {
namespace {

BlockHash hash_of_block(const Request& request, const BlockHash& parent, int block,
                        int block_size) {
  const auto size = static_cast<std::size_t>(block_size);
  const auto begin = static_cast<std::size_t>(block) * size;
  const auto prompt = request.spec.prompt;
  if (begin + size <= prompt.size()) return chain_hash(parent, prompt.subspan(begin, size));
  const auto head = prompt.subspan(std::min(begin, prompt.size()));
  const std::span<const TokenId> outputs(request.outputs);
  return chain_hash(parent, head,
                    outputs.subspan(begin + head.size() - prompt.size(), size - head.size()));
}

}  // namespace

void hash_full_blocks(Request& request, int block_size) {
  if (!request.spec.known_hashes.empty()) return;
  auto next = static_cast<int>(request.own_hashes.size());
  for (; (next + 1) * block_size <= request.num_tokens(); ++next) {
    const BlockHash parent = next == 0 ? root_hash(request.spec.salt) : request.own_hashes.back();
    request.own_hashes.push_back(hash_of_block(request, parent, next, block_size));
  }
}

bool append_output(Request& request, TokenId token, int max_model_len, int block_size) {
  request.outputs.push_back(token);
  hash_full_blocks(request, block_size);
  return request.num_tokens() >= max_model_len ||
         request.num_outputs() >= request.spec.max_tokens || token == request.spec.eos;
}

}  // namespace engine
