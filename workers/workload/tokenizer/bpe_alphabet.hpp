#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace workload {

/// The printable spelling of bytes in GPT-2 vocabularies: printable Latin-1 bytes (! to ~, 0xA1 to
/// 0xAC, 0xAE to 0xFF) are spelled as themselves, the other 68, in order, as U+0100, U+0101, ...
std::string spelling_of_bytes(std::string_view bytes);

/// The bytes of a spelling; empty optional when a character is outside this alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace workload
