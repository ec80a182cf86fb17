#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sweeps/tables/shared.hpp"
#include "sweeps/text/text.hpp"

namespace sweep {

/// A scalar that a sweep file can hold.
using Value = std::variant<bool, std::int64_t, double, std::string>;
/// A cell's value on each axis.
using AxisValues = std::vector<std::pair<std::string, Value>>;

/// Where a value was written: the key for a key = value line, the element for a value in an axis.
/// Line 0 means "not in a file"; `file` then says where (a command line flag, a default).
struct Location {
  SharedName file;  // every value of a sweep has one, in every cell
  int line = 0;
  int column = 0;
};

struct Param {
  Value value;
  Location where;
};

/// Flat view of a TOML document: nested tables become dotted keys ("engine.block_size").
using ParamMap = std::map<std::string, Param>;

/// An error in the user's text. what() is one complete message: file:line:column, found, allowed,
/// did-you-mean.
struct SpecError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string to_text(const Value& value);      // as TOML would print it
std::string bare_text(const Value& value);    // the same without quotes around a text
std::string to_text(const Location& where);   // "file:line:column"
std::string to_text(const AxisValues& axes);  // "gpu=h100-80gb policy=fcfs jps=1"
/// The value on an axis; null if the cell lacks the axis.
const Value* value_on(const AxisValues& axes, std::string_view axis);
/// Whether both are the same value; 1 and 1.0 are.
bool same_value(const Value& a, const Value& b);
/// The candidate nearest to `word`, or empty when nothing is near; of equally near ones the first.
/// Names that differ in a number are not near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);
/// " (did you mean "x"?)", of equally near ones up to four, or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);
/// Whether file names, bash and Slurm all take the text literally: letters, digits, '.', '_' and
/// '-', and not empty.
bool is_plain_word(std::string_view text);
/// The parts of a text between separators; none behind the last one.
std::vector<std::string> split(std::string_view text, std::string_view separator);

/// Reads a TOML file of scalars in (nested) tables, e.g. a GPU profile. Arrays and dates are errors
/// here.
ParamMap load_flat_toml(const std::string& path);

// The value of a key, of one type. These throw SpecError at its place.
bool as_boolean(const std::string& key, const Param& param);
/// Accepts integers in [min, max].
std::int64_t as_integer(const std::string& key, const Param& param, std::int64_t min,
                        std::int64_t max);
/// Accepts integers and floats in [min, max].
double as_number(const std::string& key, const Param& param,
                 double min = -std::numeric_limits<double>::infinity(),
                 double max = std::numeric_limits<double>::infinity());
const std::string& as_text(const std::string& key, const Param& param);
/// Accepts one of `allowed`; the error lists them and the nearest.
const std::string& as_choice(const std::string& key, const Param& param,
                             const std::vector<std::string>& allowed);

/// Throws SpecError: "<place>: <key> <problem>, found <value>".
[[noreturn]] void fail_value(const std::string& key, const Param& param,
                             const std::string& problem);
/// Throws SpecError: the document lacks a key, of which one of `unknown` may be a misspelling.
[[noreturn]] void fail_missing(const std::string& document, const std::string& key,
                               const std::string& why, const std::vector<std::string>& unknown);
/// Throws SpecError at the key's place, suggesting the nearest of `known`.
[[noreturn]] void fail_unknown(const std::string& key, const Param& param,
                               const std::vector<std::string>& known);

/// Takes typed values out of a ParamMap, and remembers which keys were asked for, so that whatever
/// is left at the end is an unknown key.
class ParamReader {
 public:
  /// `params` must outlive the reader.
  ParamReader(const ParamMap& params, std::string document)
      : params_(params), document_(std::move(document)) {}

  bool has(const std::string& key) const { return params_.contains(key); }
  // As the functions above; `fallback` where the key is absent.
  bool boolean(const std::string& key, bool fallback) { return take(as_boolean, key, fallback); }
  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t min,
                       std::int64_t max) {
    return take(as_integer, key, fallback, min, max);
  }
  double number(const std::string& key, double fallback, double min, double max) {
    return take(as_number, key, fallback, min, max);
  }
  std::string text(const std::string& key, const std::string& fallback) {
    return take(as_text, key, fallback);
  }
  std::string choice(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& allowed) {
    return take(as_choice, key, fallback, allowed);
  }
  // Readers of keys that must be present: they throw SpecError naming the document and the key.
  bool boolean(const std::string& key) { return given(as_boolean, key); }
  std::int64_t integer(const std::string& key, std::int64_t min, std::int64_t max) {
    return given(as_integer, key, min, max);
  }
  double number(const std::string& key, double min, double max) {
    return given(as_number, key, min, max);
  }
  std::string text(const std::string& key) { return given(as_text, key); }
  std::string choice(const std::string& key, const std::vector<std::string>& allowed) {
    return given(as_choice, key, allowed);
  }
  Location where(const std::string& key) const;
  /// Throws for the first key that was not asked for, suggesting the nearest one that was.
  void reject_unknown() const;

  /// Throws a SpecError at the key's place: "<place>: <key> <problem>, found <value>".
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;

 private:
  void require(const std::string& key) const;
  template <class Read, class... Limits>
  auto given(Read read, const std::string& key, const Limits&... limits)
      -> std::decay_t<decltype(read(key, Param(), limits...))> {
    require(key);
    asked_.insert(key);
    return read(key, params_.at(key), limits...);
  }
  template <class Read, class Value, class... Limits>
  Value take(Read read, const std::string& key, const Value& fallback, const Limits&... limits) {
    asked_.insert(key);
    const auto found = params_.find(key);
    return found == params_.end() ? fallback : Value(read(key, found->second, limits...));
  }

  const ParamMap& params_;
  std::string document_;
  std::set<std::string> asked_;
};

}  // namespace sweep
