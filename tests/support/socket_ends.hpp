#pragma once
#include "workers/rank/local_channels.hpp"

namespace support {

/// Connects two ends, which have these numbers, within one process.
inline void connect(worker::SocketChannel& one, int one_number, worker::SocketChannel& other,
                    int other_number) {
  auto [here, there] = worker::socket_pair();
  one.connect(other_number, std::move(here));
  other.connect(one_number, std::move(there));
}

}  // namespace support
