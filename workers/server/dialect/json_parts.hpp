#pragma once
// Private to this room: reading and writing of messages.
#include <nlohmann/json.hpp>

#include "workers/server/dialect/dialect.hpp"

namespace server {

inline constexpr int kDeepest = 256;  // levels of JSON: copying and writing a value recurse

/// Throws BadAnswer for what is no JSON or nested deeper than kDeepest levels, and for a server's
/// report of an error.
nlohmann::json event_of(std::string_view data);
/// The body of an answer. Throws BadAnswer, which names the route, when there is none.
nlohmann::json fetched(const Fetch& fetch, const std::string& path);
/// The number under a key, if there is one from 0 to the largest int.
std::optional<int> number_at(const nlohmann::json& object, const char* key);
/// The same of an answer's own counts. Throws BadAnswer for a value that is no such number.
std::optional<int> count_at(const nlohmann::json& object, const char* key);

/// `body` with the fields server.request.*, and with token ids under `key`, which is written last.
std::string body_with(nlohmann::json body, const TurnCall& turn, const ServerConfig& config,
                      const char* key);

/// The names that /v1/models lists.
std::vector<std::string> listed_models(const Fetch& fetch);

}  // namespace server
