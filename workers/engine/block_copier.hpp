#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workers/engine/clock.hpp"
#include "workers/engine/ids.hpp"

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

/// A batch that is through. `busy` is how long its direction of the link worked for it.
struct CopyDone {
  CopyId id;
  Nanos busy;
  bool failed = false;  // what its copies should have written is unusable
};

/// Moves whole KV blocks between device and host in the background: on the host link of a GPU, with
/// a thread between two arenas, or in a model of a link.
///
/// Stores read what all steps executed before the submission have written. Loads overwrite their
/// blocks at any time from submission to completion, after the steps executed before it are
/// through. Each direction serves its batches in order of submission; the directions run side by
/// side. Until a batch is reported done, neither its blocks nor its slots may be given to anything
/// else.
class BlockCopier {
 public:
  virtual ~BlockCopier() = default;
  virtual CopyId submit(CopyDirection direction, std::span<const BlockCopy> copies, Nanos now) = 0;
  /// Appends the batches that have become complete since the last call. Called at step boundaries.
  virtual void poll(Nanos now, std::vector<CopyDone>& done) = 0;
  /// When the next batch will be complete, where that is known beforehand (a link model); empty
  /// when nothing is under way or only time will tell.
  virtual std::optional<Nanos> next_completion() const = 0;
  /// Takes back a batch that has not begun to move: none of it will. False when it is too late, or
  /// this copier cannot.
  virtual bool withdraw(CopyId, Nanos /*now*/) { return false; }
  /// Waits for whatever is under way (wall clock), so that an idle engine need not spin.
  virtual void wait() = 0;
};

}  // namespace engine
