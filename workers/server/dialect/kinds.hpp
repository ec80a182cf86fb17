#pragma once
// Private to this room: one function a kind of server.
#include <memory>

#include "workers/server/dialect/dialect.hpp"

namespace server {

std::unique_ptr<Dialect> make_openai();
std::unique_ptr<Dialect> make_vllm();
std::unique_ptr<Dialect> make_sglang();
std::unique_ptr<Dialect> make_llamacpp();

}  // namespace server
