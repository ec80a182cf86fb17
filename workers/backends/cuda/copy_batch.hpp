#pragma once
#include <cstddef>
#include <vector>

#include "workers/backends/cuda/handles.hpp"
#include "workers/engine/block_copier.hpp"

namespace backends::cuda {

/// Copies between page-locked host memory and the device: to[i] = from[i], sizes[i] bytes.
struct CopyList {
  std::vector<void*>& to;
  std::vector<void*>& from;
  std::vector<std::size_t>& sizes;
};

/// Enqueues all of a list, in any order among themselves. One call of the driver on CUDA 12.8 and
/// later, whatever the number of copies; page-locked memory only.
void copy_batch(const CopyList& list, engine::CopyDirection direction, const Stream& stream);

/// One call a copy; with pageable memory each returns when it is done.
void copy_one_by_one(const CopyList& list, const Stream& stream);

/// Whether copy_batch() is one call of the driver.
bool has_batched_copies();

}  // namespace backends::cuda
