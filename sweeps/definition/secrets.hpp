#pragma once
#include <string_view>

namespace sweep {

/// Whether a variable or header of this name holds a secret: HF_TOKEN, x-api-key, and not
/// MAX_TOKENS or TOKENIZERS_PARALLELISM.
bool is_secret_name(std::string_view name);

/// Whether messages must not show this value of the key, which may stand behind "axes.".
bool is_hidden(std::string_view key, std::string_view value);

/// Whether a text has "://user:password@".
bool holds_login(std::string_view text);

}  // namespace sweep
