#pragma once
// Header only, so rooms that do not link the sweep library can include it.
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sweep {

/// The text is not JSON, or JSON that our readers refuse. `byte`: position of the error, from 1; 0
/// if the error has no position.
struct JsonRefused : std::runtime_error {
  JsonRefused(const std::string& why, std::size_t byte)
      : std::runtime_error(why.size() <= kLongestWhy ? why : why.substr(0, kLongestWhy) + "..."),
        byte(byte) {}
  static constexpr std::size_t kLongestWhy = 300;  // the library quotes tokens of any length
  std::size_t byte;
};

/// Limits the stack: copying and printing a value recurse, at a few hundred bytes per level.
inline constexpr std::size_t kDeepestJson = 256;

/// Parses JSON. Throws only JsonRefused: if the text is not JSON (including bytes that are not
/// UTF-8 and numbers beyond the range of a double), if a key occurs twice in an object, if there
/// are more levels than allowed, and if the value does not fit into memory. Without `keep` it only
/// checks.
template <class Json = nlohmann::json>
Json strict_json(std::string_view text, bool keep = true) {
  using Event = typename Json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // of each open object or list
  const auto look = [&](int depth, Event event, Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Event::object_start || event == Event::array_start) {
      if (level == kDeepestJson)
        throw JsonRefused(
            "is nested too deeply; allowed: " + std::to_string(kDeepestJson) + " levels", 0);
      keys.resize(level);
      keys.emplace_back();
    } else if (event == Event::key) {
      keys.resize(level);
      if (!keys.back().insert(parsed.template get<std::string>()).second)
        throw JsonRefused("the key " + parsed.dump() + " stands twice in one object", 0);
    }
    return keep;
  };
  try {
    return Json::parse(text.begin(), text.end(), look);
  } catch (const typename Json::parse_error& error) {
    const std::string what = error.what();  // "[json.exception...] parse error at line 1, ..."
    const std::size_t number = what.find("] ");
    throw JsonRefused(number == what.npos ? what : what.substr(number + 2), error.byte);
  } catch (const typename Json::exception& error) {
    throw JsonRefused(error.what(), 0);
  } catch (const std::bad_alloc&) {
    throw JsonRefused("does not fit into memory", 0);
  }
}

}  // namespace sweep
