#include "workers/server/dialect/kinds.hpp"

namespace server {

std::unique_ptr<Dialect> make_dialect(Kind kind) {
  switch (kind) {
    case Kind::vllm:
      return make_vllm();
    case Kind::sglang:
      return make_sglang();
    case Kind::llamacpp:
      return make_llamacpp();
    case Kind::openai:
      break;
  }
  return make_openai();
}

}  // namespace server
