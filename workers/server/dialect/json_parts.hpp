#pragma once
// Private to this room: reading and writing of messages.
#include <nlohmann/json.hpp>

#include "workers/server/dialect/dialect.hpp"

namespace server {

/// Throws BadAnswer for what is no JSON, and for a server's report of an error.
nlohmann::json event_of(std::string_view data);
/// The body of an answer. Throws BadAnswer, which names the route, when there is none.
nlohmann::json fetched(const Fetch& fetch, const std::string& path);
/// The number under a key, if there is one.
std::optional<int> number_at(const nlohmann::json& object, const char* key);

/// `body` with the fields server.request.*, and with token ids under `key`, which is written last.
std::string body_with(nlohmann::json body, const TurnCall& turn, const ServerConfig& config,
                      const char* key);

/// The names that /v1/models lists.
std::vector<std::string> listed_models(const Fetch& fetch);

}  // namespace server
