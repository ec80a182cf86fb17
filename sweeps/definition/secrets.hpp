#pragma once
#include <string>
#include <string_view>

namespace sweep {

/// Whether a variable, field, header or flag of this name holds a secret: HF_TOKEN, x-api-key,
/// AWS_ACCESS_KEY_ID, and not max_tokens, eos_token, cache_key or API_KEY_FILE.
bool is_secret_name(std::string_view name);

/// False for what is no secret under any name: "", "true", a small number, $VARIABLE, a
/// placeholder.
bool may_be_secret(std::string_view value);

/// What a text holds that is a secret, for messages; empty: nothing. A text may be a command, an
/// address or a value.
std::string secret_in(std::string_view text);

}  // namespace sweep
