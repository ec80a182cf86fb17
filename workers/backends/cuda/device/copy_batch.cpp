#include "workers/backends/cuda/device/copy_batch.hpp"

namespace backends::cuda {
namespace {

#if CUDART_VERSION >= 12080
/// Nothing writes a host slot while it is loaded, so the source may be read early. A device block
/// that is stored may still be written by the step that the stream waits for.
cudaMemcpyAttributes attributes(engine::CopyDirection direction) {
  cudaMemcpyAttributes how{};
  how.srcAccessOrder = direction == engine::CopyDirection::load ? cudaMemcpySrcAccessOrderAny
                                                                : cudaMemcpySrcAccessOrderStream;
  how.flags = cudaMemcpyFlagPreferOverlapWithCompute;
  return how;
}

void enqueue(const CopyList& list, engine::CopyDirection direction, const Stream& stream) {
  cudaMemcpyAttributes how = attributes(direction);
  std::size_t first = 0;
#if CUDART_VERSION >= 13000
  check(cudaMemcpyBatchAsync(list.to.data(), list.from.data(), list.sizes.data(), list.to.size(),
                             &how, &first, 1, stream.get()),
        "copying KV blocks");
#else
  std::size_t failed = 0;
  check(cudaMemcpyBatchAsync(list.to.data(), list.from.data(), list.sizes.data(), list.to.size(),
                             &how, &first, 1, &failed, stream.get()),
        "copying KV blocks");
#endif
}
#else
void enqueue(const CopyList& list, engine::CopyDirection, const Stream& stream) {
  copy_one_by_one(list, stream);
}
#endif

}  // namespace

void copy_batch(const CopyList& list, engine::CopyDirection direction, const Stream& stream) {
  if (!list.to.empty()) enqueue(list, direction, stream);
}

void copy_one_by_one(const CopyList& list, const Stream& stream) {
  for (std::size_t i = 0; i < list.to.size(); ++i)
    check(cudaMemcpyAsync(list.to[i], list.from[i], list.sizes[i], cudaMemcpyDefault, stream.get()),
          "copying a KV block");
}

}  // namespace backends::cuda
