#pragma once
#include <string_view>

#include "driver/command_line/options.hpp"

namespace driver {

/// Whether Slurm, bash and file names all take the text literally: letters, digits, '.', '_' and
/// '-', and not empty.
bool is_plain_word(std::string_view text);
/// Whether the text has no line break or other control character. Text after a break would become
/// a line of the script.
bool is_one_line(std::string_view text);

/// Refuses options that a batch script cannot carry. Throws UsageError, which names the option.
void check_script_words(const Options& options);

}  // namespace driver
