#pragma once
// Private to this room: texts with placeholders, in server.* keys.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "workers/binding/param_binder.hpp"

namespace worker {

/// The names in braces in a text, without units: "{port} {dram_gib:mib}" has port and dram_gib.
/// Braces around anything else, as in JSON, are text.
std::vector<std::string> placeholders_in(std::string_view text);

/// Fills placeholders with values of the cell.
class Placeholders {
 public:
  /// `kept` stay as they are, to be filled when the server runs. `model` is what {model} stands
  /// for. Keys that a placeholder names are added to `used`.
  Placeholders(ParamBinder& in, std::set<std::string> kept, std::string model,
               std::set<std::string>& used)
      : in_(in), kept_(std::move(kept)), model_(std::move(model)), used_(used) {}

  /// The text of `key` with its placeholders filled. Throws sweep::SpecError at the key's place for
  /// an unknown one, and for a key without a value.
  std::string filled(const std::string& key, const std::string& text);
  /// Fills as well, but a text that is one placeholder keeps the type of its value.
  sweep::Value typed(const std::string& key, const std::string& text);
  /// Fills all but paths, for the identity of the cell: placeholders of files stay.
  std::string identified(const std::string& key, const std::string& text);

 private:
  std::string replaced(const std::string& key, const std::string& text, bool with_paths);
  sweep::Value value_of(const std::string& key, const std::string& name, const std::string& unit,
                        bool with_paths);

  ParamBinder& in_;
  std::set<std::string> kept_;
  std::string model_;
  std::set<std::string>& used_;
};

/// The words of a command as a shell splits them: quotes and backslashes, nothing else. Throws
/// std::invalid_argument for an open quote.
std::vector<std::string> shell_words(std::string_view text);

/// The words with paths, also behind '=', replaced by their last part: what of a command makes a
/// difference to results.
std::string without_paths(const std::vector<std::string>& words);

}  // namespace worker
