#include "workers/rank/local_channels.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace worker {
namespace {

using engine::Nanos;

constexpr std::size_t kReadBytes = std::size_t{256} << 10;

/// Whether a call on a socket that does not block can be repeated later.
bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

std::pair<sweep::Descriptor, sweep::Descriptor> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
    throw sweep::FileError("make", "a pair of sockets", errno);
  return {sweep::Descriptor(ends[0]), sweep::Descriptor(ends[1])};
}

void SocketChannel::connect(int peer, sweep::Descriptor socket) {
  peers_.emplace(peer, Peer{std::move(socket)});
}

void SocketChannel::send(int to, const Message& message) {
  if (std::ranges::count(gone_, to, &GoneEnd::number) > 0) return;
  const auto at = peers_.find(to);
  if (at == peers_.end() || !at->second.open)
    throw ChannelError(to, "the process of end " + std::to_string(to) + " is gone");
  at->second.unsent += encode(message);
  write(at->second);
}

void SocketChannel::write(Peer& to) {
  while (to.sent < to.unsent.size()) {
    const std::string_view left = std::string_view(to.unsent).substr(to.sent);
    const ssize_t written = ::send(to.socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (written < 0) return;  // later; when the peer is gone, reading says so
    to.sent += static_cast<std::size_t>(written);
  }
  to.unsent.clear();
  to.sent = 0;
}

void SocketChannel::read(int number, Peer& from) {
  thread_local std::array<char, kReadBytes> buffer;
  ssize_t taken = 0;
  while ((taken = ::recv(from.socket.get(), buffer.data(), buffer.size(), 0)) > 0)
    from.frames.feed({buffer.data(), static_cast<std::size_t>(taken)});
  const bool ended = taken == 0 || !is_for_later(errno);
  while (std::optional<Message> message = from.frames.next())
    ready_.push_back({number, std::move(*message)});
  if (!ended) return;
  from.open = false;
  from.unsent.clear();
  from.sent = 0;
  gone_.push_back({number});
}

void SocketChannel::exchange() {
  for (auto& [number, peer] : peers_) {
    if (!peer.open) continue;
    write(peer);
    read(number, peer);
  }
}

bool SocketChannel::all_sent() const {
  return std::ranges::all_of(peers_, [](const auto& entry) { return entry.second.unsent.empty(); });
}

void SocketChannel::sleep(Nanos longest) const {
  std::vector<pollfd> sockets;
  for (const auto& [number, peer] : peers_) {
    if (!peer.open) continue;
    const int wanted = peer.unsent.empty() ? POLLIN : POLLIN | POLLOUT;
    sockets.push_back({peer.socket.get(), static_cast<short>(wanted), 0});
  }
  const timespec span = span_of(longest);
  ::ppoll(sockets.data(), sockets.size(), &span, nullptr);
}

void SocketChannel::wait(Nanos longest) {
  if (ready_.empty()) sleep(longest);
}

bool SocketChannel::flush(Nanos longest) {
  const engine::WallClock clock;
  for (const Nanos until = clock.now() + longest;;) {
    exchange();
    const Nanos left = until - clock.now();
    if (all_sent() || left <= Nanos{0}) return all_sent();
    sleep(left);
  }
}

std::vector<GoneEnd> SocketChannel::gone() {
  return ready_.empty() ? std::exchange(gone_, {}) : std::vector<GoneEnd>();
}

}  // namespace worker
