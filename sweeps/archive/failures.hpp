#pragma once
// Turns failed reads into ArchiveDamaged, failed writes into ArchiveNoSpace or ArchiveWriteFailed.
#include <cerrno>
#include <stdexcept>
#include <string>

#include "sweeps/archive/errors.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/hdf5/packed_tables.hpp"

namespace sweep {

/// Returns `read()`. What it throws of HDF5 and of tables means that the file is damaged.
template <class Read>
auto reading(const std::string& file, const Read& read) {
  try {
    return read();
  } catch (const OtherVersion& error) {
    throw ArchiveIncompatible(file + " " + error.what());
  } catch (const H5Error& error) {
    throw ArchiveDamaged(file + " is damaged: " + error.what());
  } catch (const TableError& error) {
    throw ArchiveDamaged(file + " is damaged: " + error.what());
  }
}

inline std::string text_of_failed_write(const std::string& archive,
                                        const std::runtime_error& error) {
  return archive + ": " + error.what() + "; what was there is untouched";
}

/// Runs `action`. A failed write becomes ArchiveNoSpace or ArchiveWriteFailed; ReadFailed stays.
template <class Action>
void writing(const std::string& archive, const Action& action) {
  try {
    action();
  } catch (const ReadFailed&) {
    throw;
  } catch (const FileError& error) {
    const std::string text = text_of_failed_write(archive, error);
    if (error.error_number == ENOSPC || error.error_number == EDQUOT)
      throw ArchiveNoSpace(text, folder_of(archive));
    if (is_denied(error.error_number)) throw ArchiveDenied(text);
    throw ArchiveWriteFailed(text);
  } catch (const H5Error& error) {
    throw ArchiveWriteFailed(text_of_failed_write(archive, error));
  }
}

}  // namespace sweep
