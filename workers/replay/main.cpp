#include <exception>
#include <iostream>
#include <optional>
#include <span>
#include <string_view>

#include "workers/replay/replay.hpp"

namespace {

using worker::AsyncVariant;

struct Call {
  std::string workload;
  std::optional<AsyncVariant> variant;  // empty: synchronous
};

std::optional<Call> call_of(std::span<char*> arguments) {
  if (arguments.size() == 1 && arguments[0][0] != '-') return Call{arguments[0], {}};
  if (arguments.size() < 2 || arguments.size() > 3) return std::nullopt;
  if (std::string_view(arguments[0]) != "--async") return std::nullopt;
  if (arguments.back()[0] == '-') return std::nullopt;
  if (arguments.size() == 2) return Call{arguments[1], AsyncVariant::none};
  const std::string_view option = arguments[1];
  if (option == "--late-abort") return Call{arguments[2], AsyncVariant::late_abort};
  if (option == "--eos") return Call{arguments[2], AsyncVariant::eos};
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const auto call = call_of(std::span(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
  if (!call) {
    std::cerr << "usage: scheduler-replay [--async [--late-abort|--eos]] WORKLOAD.json\n";
    return 2;
  }
  try {
    std::ios::sync_with_stdio(false);
    if (call->variant) {
      worker::replay_async_scheduling(call->workload, *call->variant, std::cout);
    } else {
      worker::replay_scheduling(call->workload, std::cout);
    }
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "scheduler-replay: " << error.what() << '\n';
    return 2;
  }
}
