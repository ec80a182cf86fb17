#include "driver/commands/report_figures.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include "sweeps/files/child_process.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

/// A temporary folder, removed by the destructor.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& parent) {
    std::string name = (parent / "kvsweep-figures-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(),
                              "cannot make a folder in " + parent.string());
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// kvsweep-figures in the program's source tree, or where it was installed.
std::optional<fs::path> find_script() {
  std::error_code none;
  const fs::path bin = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& dir : {bin / "../../../analysis/python", bin / "../share/kvsweep/python"})
    if (fs::exists(dir / "kvsweep-figures", none)) return fs::canonical(dir / "kvsweep-figures");
  return std::nullopt;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

std::vector<analysis::ReportPicture> pictures_in(const fs::path& folder) {
  std::vector<analysis::ReportPicture> pictures;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".svg")
      pictures.push_back({entry.path().stem().string(), read(entry.path())});
  }
  std::ranges::sort(pictures, {}, &analysis::ReportPicture::caption);
  return pictures;
}

}  // namespace

Figures draw_figures(const std::vector<std::string>& archives, const fs::path& scratch) {
  const auto script = find_script();
  if (!script) return {{}, "kvsweep-figures is not beside the program"};
  const ScratchFolder folder(scratch);
  const fs::path log = folder.path() / "log.txt";
  // The first python3 in PATH may not be the one that the system's packages belong to.
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    std::vector<std::string> words = {python, script->string()};
    for (const std::string& archive : archives) words.push_back(fs::absolute(archive).string());
    words.insert(words.end(), {"-o", folder.path().string(), "--formats", "svg"});
    if (sweep::run_program(std::move(words), log.string()).exit_code == 0)
      return {pictures_in(folder.path()), ""};
  }
  const std::string said = last_line(read(log));
  return {{}, "kvsweep-figures failed" + (said.empty() ? "" : ": " + said)};
}

}  // namespace driver
