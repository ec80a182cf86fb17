#include "workers/rank/loopback_channel.hpp"

#include <utility>

namespace worker {

using engine::Nanos;

class LoopbackHub::End final : public Channel {
 public:
  End(LoopbackHub& hub, int number)
      : hub_(hub), number_(number), inbox_(*hub.inboxes_.at(index())) {}

  void send(int to, const Message& message) override {
    if (to < 0 || static_cast<std::size_t>(to) >= hub_.inboxes_.size())
      throw ChannelError(to, "there is no end " + std::to_string(to));
    Inbox& inbox = *hub_.inboxes_[static_cast<std::size_t>(to)];
    const std::lock_guard lock(inbox.mutex);
    inbox.messages.push_back({number_, message});
    inbox.arrived.notify_one();
  }
  std::optional<Received> poll() override {
    const std::lock_guard lock(inbox_.mutex);
    if (inbox_.messages.empty()) return std::nullopt;
    Received first = std::move(inbox_.messages.front());
    inbox_.messages.pop_front();
    return first;
  }
  void wait(Nanos longest) override {
    std::unique_lock lock(inbox_.mutex);
    inbox_.arrived.wait_for(lock, longest, [this] { return !inbox_.messages.empty(); });
  }
  bool flush(Nanos) override { return true; }

 private:
  std::size_t index() const { return static_cast<std::size_t>(number_); }
  LoopbackHub& hub_;
  int number_;
  Inbox& inbox_;
};

LoopbackHub::LoopbackHub(int ends) {
  for (int i = 0; i < ends; ++i) inboxes_.push_back(std::make_unique<Inbox>());
  for (int i = 0; i < ends; ++i) ends_.push_back(std::make_unique<End>(*this, i));
}
LoopbackHub::~LoopbackHub() = default;
Channel& LoopbackHub::end(int number) { return *ends_.at(static_cast<std::size_t>(number)); }

}  // namespace worker
