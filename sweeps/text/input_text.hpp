#pragma once
// Uses only the standard library, so rooms that do not link the sweep library can include it.
#include <algorithm>
#include <cerrno>
#include <istream>
#include <new>
#include <string>
#include <system_error>

namespace sweep {

/// "64 MiB" for a multiple of 1 MiB, else the number of bytes.
inline std::string size_text(std::size_t bytes) {
  constexpr std::size_t kMib = std::size_t{1} << 20;
  return bytes % kMib == 0 ? std::to_string(bytes / kMib) + " MiB"
                           : std::to_string(bytes) + " bytes";
}

/// Returns what `read()` returns. If an allocation fails in it, throws an Error that names the
/// file.
template <class Error, class Read>
auto or_no_memory(const std::string& file, Read read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw Error(file + ": does not fit into memory");
  }
}

/// Reads the rest of a stream, at most `most` bytes. Throws Error, prefixed with the file's name,
/// when there is more or it does not fit into memory, and std::system_error when a read
/// fails.
template <class Error>
std::string input_text(std::istream& in, const std::string& file, std::size_t most) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  return or_no_memory<Error>(file, [&] {
    std::string text;
    while (in.good()) {
      const std::size_t before = text.size();
      text.resize(before + std::min(kChunk, most + 1 - before));
      in.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
      text.resize(before + static_cast<std::size_t>(in.gcount()));
      if (text.size() > most)
        throw Error(file + ": is larger than the " + size_text(most) + " allowed");
    }
    if (in.bad())
      throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(),
                              file + ": cannot be read");
    return text;
  });
}

}  // namespace sweep
