#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/files/durable_file.hpp"
#include "workers/rank/channel.hpp"

namespace worker {

/// Two connected stream sockets of this host, which a forked process inherits.
std::pair<sweep::Descriptor, sweep::Descriptor> socket_pair();

/// Messages over such sockets, one to each peer, between processes or threads of one host. A peer
/// whose process has ended is reported by gone(), after all that it had sent; how it ended is
/// unknown here. What is sent to it before that is dropped.
class SocketChannel : public BufferedChannel {
 public:
  /// Adds the end with that number.
  void connect(int peer, sweep::Descriptor socket);

  void send(int to, const Message& message) override;
  void wait(engine::Nanos longest) override;
  bool flush(engine::Nanos longest) override;
  std::vector<GoneEnd> gone() override;

 private:
  struct Peer {
    sweep::Descriptor socket;
    FrameReader frames{};
    std::string unsent{};
    std::size_t sent = 0;  // bytes of unsent that have left
    bool open = true;
  };
  static void write(Peer& to);
  void read(int number, Peer& from);
  void exchange() override;
  bool all_sent() const;
  /// Sleeps until a socket can be read, or written when bytes are left for it.
  void sleep(engine::Nanos longest) const;

  std::map<int, Peer> peers_;
  std::vector<GoneEnd> gone_;
};

}  // namespace worker
