#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>

#include "tests/engine/replay/against.hpp"
#include "tests/engine/replay/replay.hpp"
#include "workers/engine/base/errors.hpp"

namespace {

using engine::Version;
using worker::AsyncVariant;

struct Call {
  std::string workload;
  Version version = Version::may_2026;
  std::optional<AsyncVariant> variant = std::nullopt;  // empty: synchronous
  std::string recording{};                             // to compare with; empty: none
};

std::optional<Call> call_of(std::span<char*> arguments) {
  Call call;
  std::size_t at = 0;
  const auto left = [&] { return arguments.size() - at; };
  const auto next_is = [&](std::string_view text) {
    const bool is = left() > 1 && arguments[at] == text;
    at += is ? 1 : 0;
    return is;
  };
  if (next_is("--scheduler")) {
    const std::string_view name = arguments[at++];
    if (name != "v1" && name != "vllm-0.26" && name != "vllm-0.33") return std::nullopt;
    if (name == "vllm-0.26") call.version = Version::v0_26;
    if (name == "vllm-0.33") call.version = Version::v0_33;
  }
  if (next_is("--async")) {
    call.variant = next_is("--late-abort") ? AsyncVariant::late_abort
                   : next_is("--eos")      ? AsyncVariant::eos
                                           : AsyncVariant::none;
  }
  if (next_is("--against")) call.recording = arguments[at++];
  if (left() != 1 || arguments[at][0] == '-') return std::nullopt;
  call.workload = arguments[at];
  return call;
}

void replay(const Call& call, std::ostream& out) {
  if (call.variant) {
    worker::replay_async_scheduling(call.workload, call.version, *call.variant, out);
  } else {
    worker::replay_scheduling(call.workload, call.version, out);
  }
}

/// Whether the replay equals the recording; says where it does not.
bool equals(const Call& call) {
  std::ifstream recording(call.recording);
  if (!recording) throw engine::InputError(call.recording + ": cannot be read");
  std::ostringstream replayed;
  replay(call, replayed);
  return worker::equals_recording(replayed.str(), recording, std::cout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto call = call_of(std::span(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
  if (!call) {
    std::cerr << "usage: scheduler-replay [--scheduler v1|vllm-0.26|vllm-0.33] "
                 "[--async [--late-abort|--eos]] [--against RECORDING.jsonl] WORKLOAD.json\n";
    return 2;
  }
  try {
    std::ios::sync_with_stdio(false);
    if (!call->recording.empty()) return equals(*call) ? 0 : 1;
    replay(*call, std::cout);
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "scheduler-replay: " << error.what() << '\n';
    return 2;
  }
}
