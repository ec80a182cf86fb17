#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"

namespace engine {

/// A submitted batch of copies, counted from 1 in order of submission.
enum class CopyId : std::uint64_t {};

enum class CopyDirection : std::uint8_t {
  store,  // device block to host slot
  load,   // host slot to device block
};

struct BlockCopy {
  BlockId block;
  HostSlot slot;
};

/// A completed batch. `busy` is the time that its direction of the link spent on it.
struct CopyDone {
  CopyId id;
  Nanos busy;
  bool failed = false;  // the destinations of its copies are unusable
};

/// Copies whole KV blocks between device and host in the background: on the host link of a GPU,
/// with a thread between two arenas, or in a model of a link.
///
/// Stores read what all steps executed before the submission have written. Loads may overwrite
/// their blocks at any time between submission and completion, but not before the steps executed
/// before the submission are done. Each direction serves its batches in order of submission, and
/// the two directions run concurrently. Until a batch is reported done, its blocks and slots must
/// not be reused.
class BlockCopier {
 public:
  virtual ~BlockCopier() = default;
  virtual CopyId submit(CopyDirection direction, std::span<const BlockCopy> copies, Nanos now) = 0;
  /// Appends the batches completed since the last call. Called at step boundaries.
  virtual void poll(Nanos now, std::vector<CopyDone>& done) = 0;
  /// When the next batch will complete, if that is known in advance (a link model). Empty when
  /// nothing is in flight, or when the time is not known.
  virtual std::optional<Nanos> next_completion() const = 0;
  /// Withdraws a batch that has not started to move. False when it has started, or when this copier
  /// cannot withdraw.
  virtual bool withdraw(CopyId, Nanos /*now*/) { return false; }
  /// Waits for copies in flight (wall clock), so that an idle engine need not spin.
  virtual void wait() = 0;
};

}  // namespace engine
