#pragma once
// Private to this folder: how failures to write are told.
#include <cerrno>
#include <string>

#include "sweeps/archive_errors.hpp"
#include "sweeps/durable_file.hpp"
#include "sweeps/h5.hpp"

namespace sweep {

/// Whether the system said so; HDF5 quotes it.
inline bool wants_space(const FileError& error) {
  return error.error_number == ENOSPC || error.error_number == EDQUOT;
}
inline bool wants_space(const H5Error& error) {
  const std::string text = error.what();
  const auto quotes = [&](int number) {
    return text.find("errno = " + std::to_string(number) + ',') != std::string::npos;
  };
  return quotes(ENOSPC) || quotes(EDQUOT);
}

template <class Error>
[[noreturn]] void throw_write_failed(const std::string& archive, const Error& error) {
  const std::string folder = folder_of(archive), untouched = "; what was there is untouched";
  if (wants_space(error)) {
    throw ArchiveNoSpace(archive + ": no space left in " + folder + untouched, folder);
  }
  throw ArchiveWriteFailed(archive + ": " + error.what() + untouched);
}

/// Runs `action`; failures to write become ArchiveNoSpace or another ArchiveWriteFailed.
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
