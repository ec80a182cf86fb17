#pragma once
#include <string_view>

namespace workload {

/// Number of fenced blocks between "```bash\n" and "\n```", counted from left to right.
int count_bash_blocks(std::string_view text);

/// The tool that an answer calls: the first word of its bash block if there is exactly one,
/// otherwise empty. This is the rule of Continuum's parser, and pins depend on nothing else.
std::string_view tool_word(std::string_view answer);

/// The name in the last "<function=NAME>" of an answer with its call as XML; empty without one.
std::string_view function_tag_name(std::string_view answer);

/// First word between blanks (ASCII white space); empty if there is none.
std::string_view first_word(std::string_view text);

}  // namespace workload
