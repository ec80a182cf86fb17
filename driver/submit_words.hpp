#pragma once
#include <string_view>

#include "driver/options.hpp"

namespace driver {

/// A word that Slurm, bash and file names all read as it is written: letters, digits, '.', '_' and
/// '-', and not empty.
bool is_plain_word(std::string_view text);
/// Without line breaks and other control characters: what follows a break would be a line of the
/// script of its own.
bool is_one_line(std::string_view text);

/// Refuses what of the command line a batch script could not carry, naming the option. Throws
/// UsageError.
void check_script_words(const Options& options);

}  // namespace driver
