#pragma once
// Private to channel.cpp: owners of what MPI hands out, and its errors.
#include <mpi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "workers/rank/channel.hpp"

namespace worker::mpi {

/// Throws ChannelError, with the rank of the peer if it is not -1.
inline void check(int code, int peer, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  std::string message = std::string(call) + ": " + std::string(text, static_cast<size_t>(length));
  if (peer >= 0) message += " (peer: rank " + std::to_string(peer) + ")";
  throw ChannelError(peer, message);
}

/// A communicator.
class Comm {
 public:
  explicit Comm(MPI_Comm raw) : raw_(raw) {}
  ~Comm() { MPI_Comm_free(&raw_); }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  MPI_Comm get() const { return raw_; }

 private:
  MPI_Comm raw_;
};

/// A transfer in flight with the bytes that it reads or writes, which must not move until it has
/// ended.
struct Transfer {
  Transfer(int peer, int tag, std::string moved)
      : peer(peer), tag(tag), bytes(std::make_unique<std::string>(std::move(moved))) {}
  ~Transfer() {
    if (request == MPI_REQUEST_NULL) return;
    // Without a matching call of the peer MPI may still access the bytes, which therefore live
    // until the process ends.
    MPI_Request_free(&request);
    static_cast<void>(bytes.release());
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  bool ended(const char* what) {
    int flag = 0;
    check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), peer, what);
    return flag != 0;
  }

  int peer, tag;
  std::unique_ptr<std::string> bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// MPI from initialization to finalization.
class Session {
 public:
  explicit Session(bool on_one_host) {
    if (on_one_host) ::setenv("OMPI_MCA_pml", "ob1", 0);  // unless mpirun or the user named one
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED)
      throw std::runtime_error("MPI cannot be initialized with MPI_THREAD_FUNNELED");
  }
  ~Session() { MPI_Finalize(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

}  // namespace worker::mpi
