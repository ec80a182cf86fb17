#pragma once
// Private to this room: a policy as a Python class.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "workers/engine/base/clock.hpp"
#include "workers/policies/plugin/kvsweep_policy.h"

namespace policies {

/// "is not loaded within 30 s"
std::string not_loaded_within(engine::Nanos most);

/// The class in a Python file, in a process of its own, as a table of functions. An exception in
/// Python leaves the table's functions as an engine::InputError.
class PythonPolicy {
 public:
  /// Starts python3. Throws engine::InputError when that fails, when the file defines no policy, or
  /// when it takes longer to run than `most_loading`.
  PythonPolicy(const std::string& path, engine::Nanos most_loading);
  ~PythonPolicy();
  PythonPolicy(const PythonPolicy&) = delete;
  PythonPolicy& operator=(const PythonPolicy&) = delete;

  const kvsweep_policy& table() const { return table_; }
  /// SHA-256 of what the file has imported from its folder, in hexadecimal digits; may be empty.
  const std::string& imported() const { return imported_; }

  /// Sends the call of a function, by its number in kvsweep_policy.py, with the bytes of its
  /// arguments. Calls without an answer are sent together with the next that has one.
  template <class... Parts>
  void tell(std::uint32_t function, const Parts&... parts) {
    begin(function, (std::size_t{0} + ... + bytes_of(parts).size()));
    (append(bytes_of(parts)), ...);
  }
  /// The same, and returns the answer's bytes, of which there must be `size`. Valid until the next
  /// call.
  template <class... Parts>
  std::span<const std::byte> ask(std::uint32_t function, std::size_t size, const Parts&... parts) {
    tell(function, parts...);
    return answer(size);
  }

 private:
  template <class T>
  static std::span<const std::byte> bytes_of(const T& value) {
    if constexpr (requires { std::as_bytes(std::span(value)); }) {
      return std::as_bytes(std::span(value));
    } else {
      return std::as_bytes(std::span(&value, 1));
    }
  }
  void begin(std::uint32_t function, std::size_t size);
  void append(std::span<const std::byte> bytes) {
    unsent_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::span<const std::byte> answer(std::size_t size);
  void send_all();
  void receive(void* to, std::size_t size);
  void end();
  void await_first(engine::Nanos most_loading);
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_with_end();

  std::string path_;
  int channel_ = -1;
  int process_ = -1;
  bool serves_ = false;  // it has said what it offers
  std::string unsent_, answer_, imported_;
  kvsweep_policy table_{};
};

}  // namespace policies
