#pragma once
#include <cstddef>
#include <vector>

#include "workers/backends/cuda/device/handles.hpp"
#include "workers/engine/step/block_copier.hpp"

namespace backends::cuda {

/// Copies between page-locked host memory and the device: to[i] = from[i], sizes[i] bytes.
struct CopyList {
  std::vector<void*>& to;
  std::vector<void*>& from;
  std::vector<std::size_t>& sizes;
};

/// Enqueues all copies of a list, in any order. One driver call on CUDA 12.8 and later, whatever
/// the number of copies. Page-locked memory only.
void copy_batch(const CopyList& list, engine::CopyDirection direction, const Stream& stream);

/// One driver call per copy; with pageable memory each returns when the copy is done.
void copy_one_by_one(const CopyList& list, const Stream& stream);

}  // namespace backends::cuda
