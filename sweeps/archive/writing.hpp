#pragma once
// Turns failed writes into ArchiveNoSpace or ArchiveWriteFailed.
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "sweeps/archive/errors.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// The errno behind an error, 0 if there is none. HDF5 quotes it in its message.
inline int error_number_of(const FileError& error) { return error.error_number; }
inline int error_number_of(const H5Error& error) {
  constexpr std::string_view kQuote = "errno = ";
  const std::string_view text = error.what();
  const std::size_t at = text.find(kQuote);
  return at == text.npos ? 0 : std::atoi(text.data() + at + kQuote.size());
}

template <class Error>
bool wants_space(const Error& error) {
  const int number = error_number_of(error);
  return number == ENOSPC || number == EDQUOT;
}

/// The reason for a message: only the system's text if HDF5 quotes an errno.
inline std::string reason_of(const FileError& error) { return error.what(); }
inline std::string reason_of(const H5Error& error) {
  const int number = error_number_of(error);
  return number == 0 ? error.what() : std::generic_category().message(number);
}

template <class Error>
[[noreturn]] void throw_write_failed(const std::string& archive, const Error& error) {
  const std::string text = archive + ": " + reason_of(error) + "; what was there is untouched";
  if (wants_space(error)) throw ArchiveNoSpace(text, folder_of(archive));
  throw ArchiveWriteFailed(text);
}

/// Runs `action`. A failed write becomes ArchiveNoSpace or ArchiveWriteFailed.
template <class Action>
void writing(const std::string& archive, const Action& action) {
  try {
    action();
  } catch (const FileError& error) {
    throw_write_failed(archive, error);
  } catch (const H5Error& error) {
    throw_write_failed(archive, error);
  }
}

}  // namespace sweep
