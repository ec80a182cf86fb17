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

/// Parses a text without keeping its values, and refuses what the library accepts: deep nesting,
/// and a key that occurs twice in one object.
template <class Json>
class JsonShape final : public nlohmann::json_sax<Json> {
 public:
  using Base = nlohmann::json_sax<Json>;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(typename Base::number_integer_t) override { return true; }
  bool number_unsigned(typename Base::number_unsigned_t) override { return true; }
  bool number_float(typename Base::number_float_t, const typename Base::string_t&) override {
    return true;
  }
  bool string(typename Base::string_t&) override { return true; }
  bool binary(typename Base::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return descend(); }
  bool end_object() override { return ascend(); }
  bool start_array(std::size_t) override { return descend(); }
  bool end_array() override { return ascend(); }
  bool key(typename Base::string_t& name) override {
    if (!keys_.back().insert(name).second)
      throw JsonRefused("the key " + Json(name).dump() + " stands twice in one object", 0);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&,
                   const typename Json::exception& error) override {
    const std::string what = error.what();  // "[json.exception...] parse error at line 1, ..."
    const std::size_t number = what.find("] ");
    throw JsonRefused(number == what.npos ? what : what.substr(number + 2), byte);
  }

 private:
  bool descend() {
    if (keys_.size() == kDeepestJson)
      throw JsonRefused(
          "is nested too deeply; allowed: " + std::to_string(kDeepestJson) + " levels", 0);
    keys_.emplace_back();
    return true;
  }
  bool ascend() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;  // keys of each open object; empty for a list
};

/// Throws what strict_json() throws, and keeps no value.
template <class Json>
void check_json(std::string_view text) {
  try {
    JsonShape<Json> shape;
    Json::sax_parse(text.begin(), text.end(), &shape);
  } catch (const typename Json::exception& error) {
    throw JsonRefused(error.what(), 0);
  }
}

/// Parses JSON. Throws only JsonRefused: if the text is not JSON (including bytes that are not
/// UTF-8 and numbers beyond the range of a double), if a key occurs twice in an object, if there
/// are more levels or keys than allowed, and if the value does not fit into memory.
template <class Json = nlohmann::json>
Json strict_json(std::string_view text) {
  try {
    check_json<Json>(text);
    return Json::parse(text.begin(), text.end());
  } catch (const typename Json::exception& error) {
    throw JsonRefused(error.what(), 0);
  } catch (const std::bad_alloc&) {
    throw JsonRefused("does not fit into memory", 0);
  }
}

}  // namespace sweep
