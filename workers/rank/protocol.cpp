#include "workers/rank/protocol.hpp"

#include <bit>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace worker {
namespace {

static_assert(std::endian::native == std::endian::little);

// The wire format: the fields of each struct in this order.
constexpr auto fields(const Progress*) {
  return std::tuple(&Progress::finished_jobs, &Progress::jobs, &Progress::steps, &Progress::now_s,
                    &Progress::serving);
}
constexpr auto fields(const Hello*) {
  return std::tuple(&Hello::host, &Hello::pid, &Hello::start_ticks, &Hello::cores,
                    &Hello::memory_gib, &Hello::backend, &Hello::sku, &Hello::sku_source,
                    &Hello::device_name, &Hello::device_mib, &Hello::device_id, &Hello::device_uuid,
                    &Hello::slurm_job, &Hello::program, &Hello::engine_digest);
}
constexpr auto fields(const sweep::Attempt*) {
  return std::tuple(&sweep::Attempt::cell, &sweep::Attempt::number);
}
constexpr auto fields(const Heartbeat*) {
  return std::tuple(&Heartbeat::attempt, &Heartbeat::progress);
}
constexpr auto fields(const Done*) { return std::tuple(&Done::attempt, &Done::result); }
constexpr auto fields(const Failed*) {
  return std::tuple(&Failed::attempt, &Failed::kind, &Failed::reason, &Failed::poisoned,
                    &Failed::machine_fault, &Failed::wrong_server);
}
constexpr auto fields(const Abandoned*) { return std::tuple(&Abandoned::attempt); }
constexpr auto fields(const Goodbye*) {
  return std::tuple(&Goodbye::stuck, &Goodbye::unable, &Goodbye::wrong_input);
}
constexpr auto fields(const Assign*) {
  return std::tuple(&Assign::attempt, &Assign::config, &Assign::keep_memory);
}
constexpr auto fields(const Abandon*) { return std::tuple(&Abandon::attempt); }
constexpr auto fields(const Stop*) { return std::tuple(); }
constexpr auto fields(const Welcome*) {
  return std::tuple(&Welcome::backend, &Welcome::model_of, &Welcome::weights_group,
                    &Welcome::group_rank, &Welcome::group_size);
}

template <class Struct, class Fn>
void for_each_field(Struct& value, Fn fn) {
  std::apply([&](auto... member) { (fn(value.*member), ...); },
             fields(static_cast<const Struct*>(nullptr)));
}

/// Appends a value to a frame; numbers and flags as they are in memory.
template <class T>
void put(const T& value, std::string& frame) {
  if constexpr (std::is_arithmetic_v<T>) {
    frame.append(reinterpret_cast<const char*>(&value), sizeof value);
  } else if constexpr (std::is_enum_v<T>) {
    put(static_cast<std::int32_t>(value), frame);
  } else if constexpr (std::is_same_v<T, std::string>) {
    put(std::uint64_t{value.size()}, frame);
    frame += value;
  } else {
    for_each_field(value, [&frame](const auto& field) { put(field, frame); });
  }
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = below<std::uint8_t>(2, "flag with value ") != 0;
    } else if constexpr (std::is_same_v<T, sweep::CellStatus>) {
      constexpr std::uint32_t kStatuses = static_cast<int>(sweep::CellStatus::quarantined) + 1;
      value = static_cast<T>(below<std::uint32_t>(kStatuses, "unknown cell status "));
    } else if constexpr (std::is_arithmetic_v<T>) {
      std::memcpy(&value, take(sizeof value).data(), sizeof value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      std::uint64_t size = 0;
      get(size);
      value = std::string(take(size));
    } else {
      for_each_field(value, [this](auto& field) { get(field); });
    }
  }
  void expect_end() const {
    if (!bytes_.empty())
      throw ProtocolError("message with " + std::to_string(bytes_.size()) + " bytes too many");
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size())
      throw ProtocolError("truncated message: a field of " + std::to_string(size) +
                          " bytes where " + std::to_string(bytes_.size()) + " are left");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  template <class T>
  T below(T end, const char* problem) {
    T value{};
    get(value);
    if (value >= end) throw ProtocolError(problem + std::to_string(value));
    return value;
  }

  std::string_view bytes_;
};

struct Header {
  std::uint16_t version;
  std::uint16_t tag;
  std::uint64_t payload_bytes;
};

Header header_of(std::string_view frame) {
  Reader in(frame.substr(0, kFrameHeaderBytes));
  Header header{};
  in.get(header.version);
  in.get(header.tag);
  in.get(header.payload_bytes);
  if (header.version != kProtocolVersion)
    throw ProtocolError("message of protocol version " + std::to_string(header.version) +
                        ", this program speaks version " + std::to_string(kProtocolVersion));
  if (header.tag < 1 || header.tag > std::variant_size_v<Message>)
    throw ProtocolError("unknown message kind " + std::to_string(header.tag) + ", known are 1 to " +
                        std::to_string(std::variant_size_v<Message>));
  if (header.payload_bytes > kMaxPayloadBytes)
    throw ProtocolError("message of " + std::to_string(header.payload_bytes) + " bytes, at most " +
                        std::to_string(kMaxPayloadBytes) + " are allowed");
  return header;
}

template <std::size_t... kIndex>
Message empty_message(std::size_t index, std::index_sequence<kIndex...>) {
  Message message;
  ((index == kIndex ? void(message.emplace<kIndex>()) : void()), ...);
  return message;
}

std::size_t text_bytes(const Message& message) {
  if (const auto* done = std::get_if<Done>(&message)) return done->result.size();
  if (const auto* assign = std::get_if<Assign>(&message)) return assign->config.size();
  return 0;
}

}  // namespace

int tag_of(const Message& message) { return static_cast<int>(message.index()) + 1; }

std::string encode(const Message& message) {
  const std::size_t large = text_bytes(message);
  constexpr std::size_t kRoomForTheRest = 64;  // the other fields of messages with a large payload
  if (large > kMaxPayloadBytes - kRoomForTheRest)
    throw ProtocolError("a message cannot carry " + std::to_string(large) + " bytes");
  std::string frame;
  frame.reserve(kFrameHeaderBytes + large + kRoomForTheRest);
  put(kProtocolVersion, frame);
  put(static_cast<std::uint16_t>(tag_of(message)), frame);
  put(std::uint64_t{0}, frame);  // of the payload, once it is known
  std::visit([&](const auto& fields) { put(fields, frame); }, message);
  const std::uint64_t payload = frame.size() - kFrameHeaderBytes;
  std::memcpy(frame.data() + kFrameHeaderBytes - sizeof payload, &payload, sizeof payload);
  return frame;
}

Message decode(std::string_view frame) {
  if (frame.size() < kFrameHeaderBytes)
    throw ProtocolError("truncated message of " + std::to_string(frame.size()) + " bytes");
  const Header header = header_of(frame);
  Reader in(frame.substr(kFrameHeaderBytes));
  if (header.payload_bytes != frame.size() - kFrameHeaderBytes)
    throw ProtocolError("message of " + std::to_string(frame.size() - kFrameHeaderBytes) +
                        " bytes with a header that says " + std::to_string(header.payload_bytes));
  Message message =
      empty_message(header.tag - 1u, std::make_index_sequence<std::variant_size_v<Message>>{});
  std::visit([&](auto& fields) { in.get(fields); }, message);
  in.expect_end();
  return message;
}

void FrameReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  check_header();
}

void FrameReader::check_header() {
  if (frame_bytes_ || buffer_.size() < kFrameHeaderBytes) return;
  frame_bytes_ = kFrameHeaderBytes + header_of(buffer_).payload_bytes;
  // Grows with the bytes that arrive instead of reserving: a damaged length must not cost memory.
}

std::optional<Message> FrameReader::next() {
  if (!frame_bytes_ || buffer_.size() < *frame_bytes_) return std::nullopt;
  Message message = decode(std::string_view(buffer_).substr(0, *frame_bytes_));
  buffer_.erase(0, *frame_bytes_);
  if (buffer_.empty()) buffer_ = std::string();  // frees the memory of a large result
  frame_bytes_.reset();
  check_header();
  return message;
}

}  // namespace worker
