#include "workers/workload/tool_word.hpp"

#include <optional>

namespace workload {
namespace {

constexpr std::string_view kOpen = "```bash\n";
constexpr std::string_view kClose = "\n```";
constexpr std::string_view kTag = "<function=";

/// The content of the next block at or after `from`, which moves behind the block; empty optional
/// when no block closes.
std::optional<std::string_view> next_bash_block(std::string_view text, std::size_t& from) {
  const std::size_t open = text.find(kOpen, from);
  if (open == text.npos) return std::nullopt;
  const std::size_t inside = open + kOpen.size();
  const std::size_t close = text.find(kClose, inside);
  if (close == text.npos) return std::nullopt;
  from = close + kClose.size();
  return text.substr(inside, close - inside);
}

}  // namespace

int count_bash_blocks(std::string_view text) {
  int count = 0;
  for (std::size_t from = 0; next_bash_block(text, from);) ++count;
  return count;
}

std::string_view tool_word(std::string_view answer) {
  std::size_t from = 0;
  const std::optional<std::string_view> only = next_bash_block(answer, from);
  if (!only || next_bash_block(answer, from)) return {};
  return first_word(*only);
}

std::string_view function_tag_name(std::string_view answer) {
  const std::size_t open = answer.rfind(kTag);
  if (open == answer.npos) return {};
  const std::string_view rest = answer.substr(open + kTag.size());
  const std::size_t close = rest.find_first_of(">\n");
  if (close == rest.npos || rest[close] != '>') return {};
  return first_word(rest.substr(0, close));
}

std::string_view first_word(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_first_of(kBlanks, begin) - begin);
}

}  // namespace workload
