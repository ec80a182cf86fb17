#pragma once
#include <cstdint>
#include <span>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"

namespace policies {

/// A program that has arrived and is not over.
struct Program {
  enum class Phase : std::uint8_t {
    held,     // its turn waits and is held back
    queued,   // its turn waits to be served
    running,  // or its KV is being loaded
    tool,
  };
  engine::JobId root{};
  Phase phase = Phase::held;
  engine::Nanos since{0};  // of the phase
  int tokens = 0;          // of its contexts: prompt and output, subagents included
  int common = 0;          // of its contexts, but counted for an admitted program, so not in tokens
  int turns = 0;           // that have arrived; subagents' do not count
  bool admitted = false;   // turns of a program that is not admitted are held back when they arrive

  bool in_engine() const { return phase == Phase::queued || phase == Phase::running; }
  bool held() const { return phase == Phase::held; }
};

/// The programs that are held, in the order in which their turns would be served, then all others
/// by their number.
using Programs = std::span<Program* const>;

/// Decides which programs are admitted, by setting Program::admitted. A turn in the engine stays
/// there whatever is decided: its program is paused when it ends.
class AdmissionRule {
 public:
  virtual ~AdmissionRule() = default;
  /// A turn has arrived or ended.
  virtual void on_change(Programs programs, engine::Nanos now) = 0;
  /// The time between two calls of on_timer(); 0: it is never called.
  virtual engine::Nanos period() const { return engine::Nanos{0}; }
  virtual void on_timer(Programs, engine::Nanos) {}
  /// The program has ended.
  virtual void on_end(const Program&) {}
  /// Whether turns may be held back while nothing is in the engine. Otherwise the smallest program
  /// is admitted then, whatever the rule decides.
  virtual bool may_idle() const { return false; }
};

}  // namespace policies
