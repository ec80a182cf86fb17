#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "sweeps/status.hpp"
#include "workers/client.hpp"

namespace worker {

/// Bytes that are no message of this version; what() says what was found and what is expected.
struct ProtocolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::uint16_t kProtocolVersion = 3;
/// Version, kind, payload length.
inline constexpr std::size_t kFrameHeaderBytes = 2 + 2 + 8;
/// A longer payload is a damaged length, not a result.
inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{4} << 30;

// Worker to driver ---------------------------------------------------------------------------

/// What a worker is. Sent once, when it can take cells.
struct Hello {
  std::string host{};
  int pid = 0;
  std::int64_t start_ticks = 0;  // when the process started, in clock ticks since its node did
  int cores = 0;
  double memory_gib = 0;  // host memory of its node that cells may use
  std::string backend{};
  std::string sku{};          // empty: plays any
  std::string sku_source{};   // "device", "--fake-device", "--as-sku" or empty
  std::string device_name{};  // as CUDA or NVML says it; empty without a device
  std::int64_t device_mib = 0;
  std::string device_id{};    // PCI bus id of the GPU that it owns; empty without one
  std::string device_uuid{};  // NVML's; empty without one
  std::string slurm_job{};    // that it runs in, if any
  friend bool operator==(const Hello&, const Hello&) = default;
};

/// The cell is running. Sent about once a second.
struct Heartbeat {
  int cell = 0;
  int attempt = 0;
  Progress progress{};
};

struct Done {
  int cell = 0;
  int attempt = 0;
  std::string result{};  // opaque here
};

struct Failed {
  int cell = 0;
  int attempt = 0;
  sweep::CellStatus kind = sweep::CellStatus::failed;
  std::string reason{};
  bool poisoned = false;  // the device is lost: this process can run no further cell
  bool hindered = false;  // by the machine (memory, a disk, a limit), whatever the cell is
};

/// The cell has stopped at a step boundary, as asked.
struct Abandoned {
  int cell = 0;
  int attempt = 0;
};

/// The last message of a worker. `stuck`: its cell did not stop, so the process has to be ended.
struct Goodbye {
  bool stuck = false;
};

// Driver to worker ---------------------------------------------------------------------------

struct Assign {
  int cell = 0;
  int attempt = 0;
  std::string config{};      // opaque here
  bool keep_memory = false;  // host memory stays with the worker when the cell is done
};

struct Abandon {
  int cell = 0;
  int attempt = 0;
};

/// Abandon the cell that runs, if any, and leave.
struct Stop {};

/// The first message that a worker gets, before it says hello: what it will serve.
struct Welcome {
  std::string backend{};
  /// A cell whose model all workers load before the first assignment, opaque here; empty: none.
  std::string model_of{};
  /// Where it is set, 128 bytes that name the group in which the first worker sends the weights to
  /// the others.
  std::string weights_group{};
  int group_rank = 0;
  int group_size = 1;
};

using Message = std::variant<Hello, Heartbeat, Done, Failed, Abandoned, Goodbye, Assign, Abandon,
                             Stop, Welcome>;

/// The kind of a message as a number from 1: the MPI tag.
int tag_of(const Message& message);

/// One frame: header, then payload; integers little-endian. Throws ProtocolError when the payload
/// exceeds kMaxPayloadBytes.
std::string encode(const Message& message);

/// The message of exactly one frame. Throws ProtocolError.
Message decode(std::string_view frame);

/// Frames out of the pieces in which they arrive. After an exception the stream is lost.
class FrameReader {
 public:
  /// Throws ProtocolError as soon as a header is of another version, kind or impossible length.
  void feed(std::string_view bytes);
  /// The next whole message. Throws ProtocolError when its payload is none.
  std::optional<Message> next();
  bool empty() const { return buffer_.empty(); }

 private:
  void check_header();

  std::string buffer_;
  std::optional<std::size_t> frame_bytes_;  // of the frame at the front, once its header is there
};

}  // namespace worker
