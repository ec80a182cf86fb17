#pragma once
#include <cstddef>
#include <memory>
#include <vector>

namespace engine {

/// An array that grows by chunks: elements are not copied, and room for a chunk at most is unused.
template <class T>
class Chunks {
 public:
  /// Elements that there is room for. Those that were never written have their default.
  std::size_t size() const { return chunks_.size() * kChunk; }
  void grow_to(std::size_t size) {
    while (this->size() < size) chunks_.push_back(std::make_unique<T[]>(kChunk));
  }
  const T& operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  T& operator[](std::size_t i) { return chunks_[i / kChunk][i % kChunk]; }

 private:
  static constexpr std::size_t kChunk = 1024;

  std::vector<std::unique_ptr<T[]>> chunks_;
};

}  // namespace engine
