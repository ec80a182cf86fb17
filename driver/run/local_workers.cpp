#include "driver/run/local_workers.hpp"

#include <utility>

namespace driver {

LocalWorkers::LocalWorkers(int count, Serve serve) : count_(count), serve_(std::move(serve)) {
  for (int i = 0; i < count; ++i) start();
}

std::vector<int> LocalWorkers::numbers() const {
  std::vector<int> all;
  for (int number = 1; number <= count_; ++number) all.push_back(number);
  return all;
}

int LocalWorkers::start() {
  const int number = ++last_;
  auto [here, there] = worker::socket_pair();
  processes_[number] = std::make_unique<sweep::ChildProcess>([&] {
    worker::SocketChannel channel;
    channel.connect(0, std::move(there));
    return serve_(channel);
  });
  sockets_.connect(number, std::move(here));
  return number;
}

std::optional<worker::Received> LocalWorkers::poll() {
  std::optional<worker::Received> received = sockets_.poll();
  if (received && std::holds_alternative<worker::Hello>(received->message))
    greeted_.insert(received->from);
  return received;
}

std::vector<worker::GoneEnd> LocalWorkers::gone() {
  for (const worker::GoneEnd& gone : sockets_.gone()) {
    const int number = gone.number;
    const sweep::ChildEnd end = processes_.at(number)->wait();
    processes_.erase(number);
    // One that ends before it can work would be followed by others that do.
    const int successor = greeted_.contains(number) ? start() : number;
    departures_.push_back({{number, sweep::is_crash(end.signal), end.signal}, successor});
  }
  std::vector<worker::GoneEnd> named;
  std::erase_if(departures_, [&](const Departure& each) {
    const bool succeeded =
        greeted_.contains(each.successor) || !processes_.contains(each.successor);
    if (succeeded) named.push_back(each.end);
    return succeeded;
  });
  return named;
}

}  // namespace driver
