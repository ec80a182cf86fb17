#pragma once
#include <filesystem>
#include <optional>
#include <string_view>

namespace driver {

/// A page of the web build, "report.html" or "viewer.html": beside the program in its build folder,
/// or where it was installed. Empty when the program was built without web pages.
std::optional<std::filesystem::path> find_web_page(std::string_view name);

}  // namespace driver
