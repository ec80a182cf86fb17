#include "kernels/blocks/host_rows.hpp"

#include <memory>

#include "tests/gpu/kernels/device.hpp"

using namespace gpu_test;
namespace gpu = kernels::gpu;

namespace {

/// Numbers in page-locked host memory.
class HostInts {
 public:
  explicit HostInts(const Ints& values) : size_(values.size()) {
    void* data = nullptr;
    kernels::gpu::check(cudaHostAlloc(&data, std::max<std::size_t>(1, size_) * 4, 0),
                        "cudaHostAlloc");
    data_.reset(static_cast<std::int32_t*>(data));
    std::copy(values.begin(), values.end(), data_.get());
  }
  const std::int32_t* get() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::int32_t* data) const { cudaFreeHost(data); }
  };
  std::size_t size_;
  std::unique_ptr<std::int32_t, Free> data_;
};

Ints counted(int count) {
  Ints values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = 7 * i + 1;
  return values;
}

}  // namespace

TEST_CASE("rows from the host get their places, and what lies between them stays", "[gpu]") {
  NEEDS_DEVICE;
  const HostInts from(counted(12));
  const Device<std::int32_t> to(Ints(20, -1));
  const gpu::HostRows rows{from.get(), to.get(), 3, 4, 4, 6};
  gpu::fetch_host_rows(&rows, 1, nullptr);
  CHECK(to.host() ==
        Ints{1, 8, 15, 22, -1, -1, 29, 36, 43, 50, -1, -1, 57, 64, 71, 78, -1, -1, -1, -1});
}

TEST_CASE("matrices of all sizes come in one go, empty ones too", "[gpu]") {
  NEEDS_DEVICE;
  const Ints many = counted(300'000), few = counted(5);
  const HostInts from_many(many), from_few(few);
  const Device<std::int32_t> to_many(Ints(many.size(), -1)), to_few(Ints(few.size() + 1, -1));
  const gpu::HostRows parts[] = {{from_many.get(), to_many.get(), 1, 300'000, 300'000, 300'000},
                                 {nullptr, nullptr, 0, 0, 0, 0},
                                 {from_few.get(), to_few.get(), 5, 1, 1, 1}};
  gpu::fetch_host_rows(parts, 3, nullptr);
  CHECK(to_many.host() == many);
  CHECK(to_few.host() == Ints{1, 8, 15, 22, 29, -1});
}
