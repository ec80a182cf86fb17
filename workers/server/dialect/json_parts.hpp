#pragma once
// Private to this room: reading and writing of messages.
#include "workers/server/dialect/dialect.hpp"
#include "workers/server/dialect/shallow_json.hpp"

namespace server {

/// Throws BadAnswer when an event, or a part of one, reports an error.
void refuse_error(const nlohmann::json& object);
/// Parses an event; data that is not shallow JSON is no event.
nlohmann::json event_of(std::string_view data);
/// The body of an answer. Throws BadAnswer, which names the route, when there is none.
nlohmann::json fetched(const Fetch& fetch, const std::string& path);
/// The number under a key, if there is one from 0 to the largest int.
std::optional<int> number_at(const nlohmann::json& object, const char* key);
/// The same of an answer's own counts. Throws BadAnswer for a value that is no such number.
std::optional<int> count_at(const nlohmann::json& object, const char* key);
/// Adds the ids of tokens. Throws BadAnswer for what is none.
void append_ids(const nlohmann::json& list, std::vector<engine::TokenId>& ids);

/// `body` with the fields server.request.*, and with token ids under `key`, which is written last.
std::string body_with(nlohmann::json body, const TurnCall& turn, const ServerConfig& config,
                      const char* key);

/// The names that /v1/models lists.
std::vector<std::string> listed_models(const Fetch& fetch);

}  // namespace server
