#pragma once
#include <string_view>

namespace workload {

/// Number of fenced blocks that open with "```bash\n" and close with "\n```", found left to right.
int count_bash_blocks(std::string_view text);

/// The tool that an answer calls: with exactly one bash block, wherever it stands, its first word;
/// otherwise empty. The rule is the one of Continuum's parser, so pins depend on nothing else.
std::string_view tool_word(std::string_view answer);

/// The name in the last "<function=NAME>" of an answer that writes its call as XML; empty without
/// one.
std::string_view function_tag_name(std::string_view answer);

/// First word between blanks (ASCII white space); empty if there is none.
std::string_view first_word(std::string_view text);

}  // namespace workload
