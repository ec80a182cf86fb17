#include "driver/commands/web_assets.hpp"

namespace driver {

namespace fs = std::filesystem;

std::optional<fs::path> find_web_page(std::string_view name) {
  std::error_code none;
  const fs::path bin = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& dir : {bin / "../web", bin / "../share/kvsweep/web"}) {
    if (fs::exists(dir / name, none)) return fs::canonical(dir / name);
  }
  return std::nullopt;
}

}  // namespace driver
