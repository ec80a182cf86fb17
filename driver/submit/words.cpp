#include "driver/submit/words.hpp"

#include <algorithm>

#include "sweeps/spec/params.hpp"

namespace driver {
namespace {

void check_plain(const std::string& option, const std::optional<std::string>& word) {
  if (!word || word->empty() || is_plain_word(*word)) return;
  throw UsageError(option + " must consist of letters, digits, '.', '_' and '-', found " +
                   sweep::to_text(*word));
}

void check_line(const std::string& option, const std::string& text) {
  if (is_one_line(text)) return;
  throw UsageError(option + ' ' + sweep::to_text(text) +
                   ": a batch script cannot carry a line break or another control character");
}

}  // namespace

bool is_plain_word(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

void check_script_words(const Options& options) {
  check_plain("--account", options.account);
  check_plain("--qos", options.qos);
  check_line("the sweep", options.arguments.front());
  check_line("--archive", options.archive ? options.archive->string() : "");
  check_line("--profiles", options.profiles.string());
  for (const std::string& only : options.only) check_line("--only", only);
  for (const std::string& skip : options.skip) check_line("--skip", skip);
  for (const std::string& set : options.set) check_line("--set", set);
}

}  // namespace driver
