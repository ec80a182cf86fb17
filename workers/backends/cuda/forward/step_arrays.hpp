#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/attention/attention.hpp"
#include "kernels/blocks/host_rows.hpp"
#include "workers/backends/cuda/device/handles.hpp"
#include "workers/backends/cuda/forward/unapplied_samples.hpp"
#include "workers/backends/step_batch.hpp"

namespace backends::cuda {

/// A plan of prefill attention in device memory.
struct PrefillArrays {
  int num_tiles = 0;
  int num_parts = 0;
  const kernels::gpu::PrefillTile* tiles = nullptr;  // [num_tiles], device
  const kernels::gpu::PrefillPart* parts = nullptr;  // [num_parts], device
};

/// A step's arrays in device memory, and their lengths on the host.
struct StepArrays {
  int num_tokens = 0;                          // T
  int num_sequences = 0;                       // S
  int num_logits_rows = 0;                     // R
  int num_decodes = 0;                         // D
  int num_new_blocks = 0;                      // N
  int table_stride = 0;                        // block ids per sequence
  const std::int32_t* tokens = nullptr;        // [T]
  const std::int32_t* positions = nullptr;     // [T]
  const std::int32_t* sequence = nullptr;      // [T]
  const std::int32_t* query_start = nullptr;   // [S + 1]
  const std::int32_t* context = nullptr;       // [S]
  const std::int32_t* block_tables = nullptr;  // [S][table_stride]
  const std::int32_t* logits_rows = nullptr;   // [R]
  const std::int32_t* decode_rows = nullptr;   // [D] sequences that decode one token
  const std::int32_t* new_blocks = nullptr;    // [N]
  PrefillArrays paged;                         // chunks that attend to KV in blocks
  PrefillArrays contiguous;                    // whole prompts that attend to their own rows
};

/// Copies a step to the device: the arrays are in one piece of page-locked memory that a kernel
/// reads, so they do not wait for KV at the copy engine.
class StepUpload {
 public:
  StepUpload(const StepLimits& limits, const kernels::gpu::HeadShape& heads,
             kernels::gpu::KvSource prompts_from);

  /// Enqueues the copy. The result is valid until the next call, and the stream must have passed
  /// this copy before the call after that. The step must be within the limits (check_step).
  const StepArrays& upload(const StepBatch& batch, const engine::StepPlan& plan,
                           const Stream& stream);
  /// Uploads a step that decodes one token of each sequence, padded to `rows` sequences. For a
  /// given `rows`, arrays are always at the same addresses and tables have the same width, so
  /// launches on them can be repeated. Padding is marked by -1, as the kernels expect.
  const StepArrays& upload_decodes(const StepBatch& batch, int rows, const Stream& stream);
  /// Enqueues a kernel that fills in tokens of the uploaded step that the step before it samples.
  /// `sampled` is page-locked host memory, into which that step writes them.
  void take_tokens(const std::vector<UnappliedSamples::Taken>& taken, const std::int32_t* sampled,
                   const Stream& stream) const;
  /// The arrays of a step of upload_decodes().
  StepArrays decodes_of(int rows) const;
  /// Device memory of the arrays, in bytes.
  static std::size_t bytes(const StepLimits& limits);

 private:
  void sort_sequences(const StepBatch& batch, const engine::StepPlan& plan);
  template <class T>
  const T* append(const std::vector<T>& values);
  PrefillArrays append(const kernels::gpu::PrefillPlan& plan);
  kernels::gpu::HostRows part(const void* device, std::size_t count) const;
  const PinnedBuffer& host() const { return hosts_[turn_ % hosts_.size()]; }
  const std::int32_t* first_number() const { return device_.as<std::int32_t>(); }
  /// Writes an array to its place on the host, filled up to `rows` elements with `padding`.
  void pad(const std::int32_t* place, const std::vector<std::int32_t>& values, int rows,
           std::int32_t padding);

  StepLimits limits_;
  kernels::gpu::HeadShape heads_;
  kernels::gpu::KvSource prompts_from_;
  // In turns, so that a step can be written while the one before it is not copied yet.
  std::array<PinnedBuffer, 2> hosts_;
  std::size_t turn_ = 0;
  DeviceBuffer device_;
  std::size_t used_ = 0;
  StepArrays arrays_;
  std::vector<std::int32_t> decodes_, chunks_,
      prompts_;  // sequences, by kernel
};

}  // namespace backends::cuda
