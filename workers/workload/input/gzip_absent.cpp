#include "workers/workload/input/byte_source.hpp"

namespace workload {

std::unique_ptr<ByteSource> gzip_source(std::ifstream) { return nullptr; }

}  // namespace workload
