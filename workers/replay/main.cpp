#include <exception>
#include <iostream>

#include "workers/replay/replay.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: scheduler-replay WORKLOAD.json\n";
    return 2;
  }
  try {
    std::ios::sync_with_stdio(false);
    worker::replay_scheduling(argv[1], std::cout);
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "scheduler-replay: " << error.what() << '\n';
    return 2;
  }
}
