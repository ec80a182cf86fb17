#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace driver {

// What a bundle says comes out of it, computed when it is packed and again when it is verified.

/// The archives of a bundle, by name ("m.h5"), sorted.
std::vector<std::filesystem::path> archives_of(const std::filesystem::path& bundle);

/// Texts of the files of expected/, by name: the figures of the cells of each archive (NAME.csv)
/// and the claims judged by all of them (claims.csv). Throws what reading archives throws.
std::map<std::string, std::string> outputs_of(const std::filesystem::path& bundle);

/// The first difference of two texts in CSV, "line 3, jct_wall_mean_s: 41.0, expected 41.2"; empty
/// for none. Numbers may be off by the relative tolerance.
std::string csv_difference(const std::string& found, const std::string& expected, double tolerance);

}  // namespace driver
