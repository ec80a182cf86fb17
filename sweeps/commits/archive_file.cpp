#include "sweeps/commits/archive_file.hpp"

#include <unistd.h>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/text/text.hpp"

namespace sweep {

void ArchiveFile::check_is_ours(const std::string& more) const {
  if (identity_of(path_) == left_) return;
  throw ArchiveIncompatible(
      path_ +
      " is not the file that this run left there: it was replaced, changed or removed "
      "meanwhile, and is left as it is" +
      more);
}

void ArchiveFile::check_chunks() const {
  if (is_there()) open_archive_file(path_).check();
}

void ArchiveFile::replace(const std::string& finished, bool keep_previous) {
  const std::string name = temporary_name(path_ + ".d/previous");
  if (keep_previous && has_links_) {
    has_links_ = files_.link(path_, name);
    if (has_links_) {
      files_.rename(name, path_ + ".prev");
      files_.remove(name);  // rename keeps both names if they are links to one file
    } else if (warn_) {
      warn_("there can be no hard link to " + path_ +
            ", so the archive before each change is not kept");
    }
  }
  publish(files_, finished, path_);
}

void ArchiveFile::move_aside() {
  const std::string folder = path_ + ".d";
  const bool nothing_but_lock = names_in(folder).size() <= 1;
  if (!path_exists(path_) && !path_exists(path_ + ".prev") && nothing_but_lock) return;
  int number = 1;
  const auto aside = [&](const std::string& end) {
    return path_ + ".old" + std::to_string(number) + end;
  };
  while (path_exists(aside("")) || path_exists(aside(".d")) || path_exists(aside(".prev")))
    ++number;
  files_.make_folder(aside(".d"));
  for (const std::string& name : names_in(folder)) {
    if (name != "lock") files_.rename(folder + "/" + name, aside(".d/" + name));
  }
  ::rmdir(aside(".d").c_str());  // fails if a shard was moved there
  for (const char* end : {".prev", ""})
    if (path_exists(path_ + end)) files_.rename(path_ + end, aside(end));
  files_.sync_folder(folder_of(path_));
  std::vector<std::string> names = {aside(""), aside(".prev"), aside(".d")};
  std::erase_if(names, std::not_fn(path_exists));
  if (warn_) warn_("what was there is now " + joined(names));
}

}  // namespace sweep
