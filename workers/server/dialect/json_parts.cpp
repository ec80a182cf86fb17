#include "workers/server/dialect/json_parts.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace server {
namespace {

using nlohmann::json;

/// The value of a placeholder in a turn; null for other names.
json value_of(std::string_view name, const TurnCall& turn) {
  if (name == "{job.id}") return turn.job_id;
  if (name == "{job.index}") return turn.job_index;
  if (name == "{turn.index}") return turn.turn;
  if (name == "{turn.last}") return turn.last;
  if (name == "{tool.name}") return turn.tool;
  if (name == "{gap.expected_s}") return turn.gap_s;
  return {};
}

/// A text that is one placeholder becomes its value; within a text, placeholders become text.
json filled(const std::string& text, const TurnCall& turn) {
  if (json whole = value_of(text, turn); !whole.is_null()) return whole;
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    const json value = end == std::string::npos
                           ? json()
                           : value_of(std::string_view(text).substr(at, end - at + 1), turn);
    if (value.is_null()) {
      result += text[at++];
      continue;
    }
    result += value.is_string() ? value.get<std::string>() : value.dump();
    at = end + 1;
  }
  return result;
}

json filled(const Scalar& value, const TurnCall& turn) {
  if (const auto* text = std::get_if<std::string>(&value)) return filled(*text, turn);
  return std::visit([](const auto& plain) { return json(plain); }, value);
}

void write_ids(std::span<const engine::TokenId> ids, std::string& text) {
  char digits[std::numeric_limits<engine::TokenId>::digits10 + 2];
  for (const engine::TokenId id : ids) {
    text.append(digits, std::to_chars(std::begin(digits), std::end(digits), id).ptr);
    text += ',';
  }
  if (!ids.empty()) text.pop_back();
}

/// From 0 to the largest int.
std::optional<int> whole_number(const json& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  const bool fits =
      number == std::floor(number) && number >= 0 && number <= std::numeric_limits<int>::max();
  return fits ? std::optional(static_cast<int>(number)) : std::nullopt;
}

/// Whether the value of "error" reports one: some servers send the key with every event.
bool says_something(const json& object, const char* key) {
  const json value = object.value(key, json());
  return !value.empty() && value != json(false) && value != json(0) && value != json("");
}

}  // namespace

void Dialect::take(std::string_view data, Answer& answer) const {
  try {
    take_event(data, answer);
  } catch (const json::exception&) {
    throw BadAnswer("an event of its stream is not as expected: " + shown(data));
  }
}

ServerFacts Dialect::facts(const Fetch& fetch, const ServerConfig& config) const {
  try {
    return ask_facts(fetch, config);
  } catch (const json::exception& error) {
    throw BadAnswer(std::string("what it says of itself is not as expected: ") + error.what());
  }
}

json object_of(std::string_view text, const std::string& what) {
  using Event = json::parse_event_t;
  const auto shallow = [&](int depth, Event event, json&) {
    if (depth >= kDeepest && (event == Event::object_start || event == Event::array_start))
      throw BadAnswer(what + " is JSON of more than " + std::to_string(kDeepest) + " levels");
    return true;
  };
  json value = json::parse(text, shallow, false);
  if (!value.is_object()) throw BadAnswer(what + " is no JSON object: " + shown(text));
  return value;
}

void refuse_error(const json& object) {
  const bool is_event = object.contains("choices") || object.contains("usage");
  const json reason = object.value("finish_reason", json());
  const bool is_error =
      object.value("object", json()) == "error" || object.value("type", json()) == "error" ||
      reason == "error" || reason == "abort" ||
      (!is_event && (says_something(object, "detail") || says_something(object, "errors") ||
                     object.value("message", json()).is_string()));
  if (says_something(object, "error") || is_error)
    throw BadAnswer("it reports an error: " + shown((is_error ? object : object["error"]).dump()));
}

json event_of(std::string_view data) {
  json event = object_of(data, "an event of its stream");
  refuse_error(event);
  return event;
}

json fetched(const Fetch& fetch, const std::string& path) {
  const HttpAnswer answer = fetch(path, std::nullopt);
  if (!answer.ok()) throw BadAnswer(path + ": " + answer.problem());
  return object_of(answer.body, path + ": it");
}

std::optional<int> number_at(const json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : whole_number(*found);
}

void append_ids(const json& list, std::vector<engine::TokenId>& ids) {
  for (const json& each : list) {
    const std::optional<int> id = whole_number(each);
    if (!id)
      throw BadAnswer("it sends " + shown(each.dump(), 40) +
                      " as the id of a token, which is none");
    ids.push_back(static_cast<engine::TokenId>(*id));
  }
}

std::optional<int> count_at(const json& object, const char* key) {
  const std::optional<int> count = number_at(object, key);
  const bool given = object.is_object() && !object.value(key, json()).is_null();
  if (given && !count)
    throw BadAnswer(std::string("it reports ") + key + " as " + shown(object.at(key).dump(), 40) +
                    ", which is no count of tokens");
  return count;
}

std::string contradiction(const Answer& answer, int sent) {
  const auto number = [](int count) { return std::to_string(count); };
  const int prompt = answer.prompt_tokens.value_or(sent);
  if (prompt != sent)
    return "it reports " + number(prompt) + " prompt tokens, and " + number(sent) +
           " were sent: it " + (prompt < sent ? "truncated" : "added to") + " the prompt";
  if (const int cached = answer.cached_tokens.value_or(0); cached > sent)
    return "it reports " + number(cached) + " cached tokens of a prompt of " + number(sent);
  const int sum = sent + answer.reported_tokens.value_or(answer.tokens);
  if (answer.total_tokens.value_or(sum) != sum)
    return "it reports " + number(*answer.total_tokens) + " tokens in all, and " + number(sum) +
           " of prompt and answer";
  if (answer.preemptions.value_or(0) > sum)
    return "it reports " + number(*answer.preemptions) + " preemptions of a turn of " +
           number(sum) + " tokens";
  return {};
}

std::string body_with(json body, const TurnCall& turn, const ServerConfig& config,
                      const char* key) {
  for (const auto& [name, value] : config.request) {
    std::string pointer = '/' + name;
    for (char& c : pointer)
      if (c == '.') c = '/';
    body[json::json_pointer(pointer)] = filled(value, turn);
  }
  if (body.value("stream_options", json()) == false) body.erase("stream_options");
  std::string text = body.dump();
  constexpr std::size_t kBytesOfAnId = 7;
  text.reserve(text.size() + turn.prompt.size() * kBytesOfAnId + 32);
  text.back() = ',';  // in place of the closing brace
  text += std::string("\"") + key + "\":[";
  write_ids(turn.prompt, text);
  return text + "]}";
}

std::vector<std::string> listed_models(const Fetch& fetch) {
  std::vector<std::string> names;
  const json list = fetched(fetch, "/v1/models");
  for (const json& each : list.value("data", json::array()))
    if (each.is_object() && each.contains("id")) names.push_back(each.value("id", ""));
  return names;
}

}  // namespace server
