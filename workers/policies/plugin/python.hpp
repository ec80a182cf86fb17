#pragma once
// Private to this room: a policy as a Python class.
#include <cstdint>
#include <string>
#include <string_view>

#include "sweeps/process/child_process.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/policies/plugin/kvsweep_policy.h"

namespace policies {

/// The text of analysis/python/kvsweep_policy.py.
std::string_view python_module();

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

  /// Begins a cell, with a new object of the class.
  void create(const kvsweep_setup& setup);

  /// Sends the call of a function, by its number in kvsweep_policy.py, with the bytes of its
  /// arguments. Calls without an answer are sent together with the next that has one.
  void tell(std::uint32_t function, std::string_view values, std::string_view last = {});
  /// The bytes that answer the last call, of which there must be `size`. Valid until the next call.
  std::string_view answer(std::size_t size);

 private:
  void send_all();
  void receive(void* to, std::size_t size);
  void await_first(engine::Nanos most_loading);
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_with_end();

  std::string path_;
  sweep::ChildProcess process_;
  sweep::Descriptor channel_{-1};  // at whose end the process ends
  bool serves_ = false;            // it has said what it offers
  std::string unsent_, answer_, imported_;
  kvsweep_policy table_{};
};

}  // namespace policies
