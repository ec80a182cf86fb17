#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

/// One reader of bytes that others wrote. Two drivers share it: fuzz_test.cpp, in ctest, and
/// libfuzzer_driver.cpp.
struct Target {
  std::string name;
  /// Reads `bytes` as this input: true when they are accepted, false when they are refused as the
  /// reader's header says, with the input's name. Anything else that comes out is a finding.
  bool (*accepts)(std::string_view bytes);
  std::vector<std::string> (*seeds)();
  std::vector<std::string> words{};  // of the format, to insert
  bool in_ctest = true;              // false: bytes may get as far as libraries that do not bear it
};

/// By name. Throws std::out_of_range.
const Target& target(std::string_view name);

/// A reader's error does not say what it read.
struct Undocumented : std::logic_error {
  using std::logic_error::logic_error;
};

/// Whether `read()` returns; what it throws must be an Error that names `input`.
template <class Error, class Read>
bool accepted(std::string_view input, Read read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (what.find(input) == what.npos) throw Undocumented(error.what());
    return false;
  }
}

/// A file in memory for readers that take a path.
class InputFile {
 public:
  InputFile();
  /// With a link to it of this name, for readers that take a folder.
  explicit InputFile(const std::string& link);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  const std::string& holding(std::string_view bytes) const;  // its path

 private:
  int descriptor_;
  std::string path_;
};

Target server_stream_target();
Target sweep_target();
Target gzip_target();
Target requests_target();
Target arrivals_target();
Target trace_target();
Target safetensors_target();
Target config_target();
Target frames_target();
Target shard_target();
Target repaired_shard_target();

}  // namespace fuzz
