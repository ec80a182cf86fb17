#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "sweeps/tables/status.hpp"
#include "workers/cell/progress.hpp"

namespace worker {

/// Bytes that are not a message of this version; what() names what was found and what is expected.
struct ProtocolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::uint16_t kProtocolVersion = 7;
/// Version, kind, payload length, little-endian; then the fields in the order of protocol.cpp, a
/// text behind its length in 8 bytes. Abandoned{cell 10, attempt 1} is
///
///     07 00 | 05 00 | 08 00 00 00 00 00 00 00 | 0a 00 00 00 | 01 00 00 00
///     version  kind   payload of 8 bytes        cell          attempt
inline constexpr std::size_t kFrameHeaderBytes = 2 + 2 + 8;
/// A longer payload means a damaged length, not a result.
inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{4} << 30;

// Worker to driver ---------------------------------------------------------------------------

/// A worker's description. Sent once, when it is ready to take cells.
struct Hello {
  std::string host{};
  int pid = 0;
  std::int64_t start_ticks = 0;  // start of the process, in clock ticks since its node booted
  int cores = 0;
  double memory_gib = 0;  // host memory of the node that cells may use
  std::string backend{};
  std::string sku{};          // empty: accepts cells of any SKU
  std::string sku_source{};   // "device", "--fake-device", "--as-sku" or empty
  std::string device_name{};  // by CUDA or NVML; empty without a device
  std::int64_t device_mib = 0;
  std::string device_id{};      // PCI bus id of the worker's GPU; empty without one
  std::string device_uuid{};    // NVML's; empty without one
  std::string slurm_job{};      // SLURM job of the worker, if any
  std::string program{};        // version and commit
  std::string engine_digest{};  // SHA-256 over the sources that execute cells
  friend bool operator==(const Hello&, const Hello&) = default;
};

/// The cell is running. Sent about once a second.
struct Heartbeat {
  sweep::Attempt attempt{};
  Progress progress{};
};

struct Done {
  sweep::Attempt attempt{};
  std::string result{};  // opaque here
};

struct Failed {
  sweep::Attempt attempt{};
  sweep::CellStatus kind = sweep::CellStatus::failed;
  std::string reason{};
  bool poisoned = false;       // the device is lost: this process can run no further cell
  bool machine_fault = false;  // memory, a disk or a limit failed, not the cell
  bool wrong_server = false;   // other than planned; the cell did not start
};

/// The cell has stopped at a step boundary on request.
struct Abandoned {
  sweep::Attempt attempt{};
};

/// The last message of a worker.
struct Goodbye {
  bool stuck = false;        // its cell did not stop, so the process must be killed
  std::string unable{};      // why it cannot serve at all, in place of its Hello
  bool wrong_input = false;  // `unable` is a fault of the user's input
};

// Driver to worker ---------------------------------------------------------------------------

struct Assign {
  sweep::Attempt attempt{};
  std::string config{};      // opaque here
  bool keep_memory = false;  // the worker keeps its host memory after the cell
};

struct Abandon {
  sweep::Attempt attempt{};
};

/// Abandon the running cell, if any, and exit.
struct Stop {};

/// The first message to a worker, before its Hello: what it will serve.
struct Welcome {
  std::string backend{};
  /// A cell with the model that all workers load before the first assignment, opaque here; empty:
  /// none.
  std::string model_of{};
  /// If not empty, the 128-byte id of the group in which the first worker sends the weights to the
  /// others.
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

/// Decodes exactly one frame. Throws ProtocolError.
Message decode(std::string_view frame);

/// Reassembles frames from the pieces in which they arrive. After an exception the stream is
/// unusable.
class FrameReader {
 public:
  /// Throws ProtocolError as soon as a header has an unknown version, an unknown kind or an
  /// impossible length.
  void feed(std::string_view bytes);
  /// The next complete message. Throws ProtocolError when its payload is invalid.
  std::optional<Message> next();
  bool empty() const { return buffer_.empty(); }

 private:
  void check_header();

  std::string buffer_;
  std::optional<std::size_t> frame_bytes_;  // of the first frame, once its header has arrived
};

}  // namespace worker
