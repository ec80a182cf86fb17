#pragma once
// Header only: rooms that do not link the sweep library include it too.
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sweep {

/// Text that is no JSON, or JSON that no reader of ours takes. `byte`: its position from 1; 0 where
/// the text is whole.
struct JsonRefused : std::runtime_error {
  JsonRefused(const std::string& why, std::size_t byte)
      : std::runtime_error(why.size() <= kLongestWhy ? why : why.substr(0, kLongestWhy) + "..."),
        byte(byte) {}
  static constexpr std::size_t kLongestWhy = 300;  // the library quotes words of any length
  std::size_t byte;
};

/// Copying and printing a value recurse: a level is a few hundred bytes of stack.
inline constexpr std::size_t kDeepestJson = 256;
/// Of an object that keeps the order of its keys: it looks each of them up among all others.
inline constexpr std::size_t kMostOrderedKeys = 4096;

/// Goes through a text without keeping its values, and refuses what the library lets pass: depth,
/// and a key that stands twice in one object.
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
    if (std::is_same_v<Json, nlohmann::ordered_json> && keys_.back().size() > kMostOrderedKeys)
      throw JsonRefused("an object has too many keys; allowed: " + std::to_string(kMostOrderedKeys),
                        0);
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

  std::vector<std::set<std::string>> keys_;  // of the objects that are open; none for a list
};

/// Parses JSON. Throws JsonRefused, and nothing else: for what is no JSON (bytes that are not UTF-8
/// and numbers beyond the range of a double included), for a key that stands twice, for more levels
/// or keys than allowed, and for what does not fit into memory.
template <class Json = nlohmann::json>
Json strict_json(std::string_view text) {
  try {
    JsonShape<Json> shape;
    Json::sax_parse(text.begin(), text.end(), &shape);
    return Json::parse(text.begin(), text.end());
  } catch (const typename Json::exception& error) {
    throw JsonRefused(error.what(), 0);
  } catch (const std::bad_alloc&) {
    throw JsonRefused("does not fit into memory", 0);
  }
}

}  // namespace sweep
