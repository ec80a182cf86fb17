#include "workers/workload/recorded_job.hpp"

#include <algorithm>

#include "sweeps/files/strict_json.hpp"

namespace workload {
namespace {

constexpr int kDeepestCall = 64;  // nesting of a tool call's arguments; writing them back recurses
constexpr double kLongestToolCallS = 1e8;  // three years: a larger number is not in seconds

std::string parse_id(const JsonField& row) {
  for (const char* key : {"id", "traj_id", "instance_id"}) {
    const std::optional<JsonField> id = row.find(key);
    if (!id) continue;
    if (id->text().empty()) id->refuse_value("is empty");
    return id->text();
  }
  row.refuse_value("has no job id; allowed: a string id, traj_id or instance_id");
}

Role parse_role(const JsonField& message) {
  constexpr const char* kAllowed = "\"system\", \"user\", \"assistant\" or \"tool\"";
  const std::optional<JsonField> role = message.find("role");
  if (!role) message.refuse_value(std::string("has no role; allowed: ") + kAllowed);
  const std::string& name = role->text(kAllowed);
  if (name == "system") return Role::system;
  if (name == "user") return Role::user;
  if (name == "assistant") return Role::assistant;
  if (name == "tool") return Role::tool;
  role->refuse_type(kAllowed);
}

std::string parse_text_part(const JsonField& part) {
  const std::optional<JsonField> type = part.find("type");
  if (type && type->text() != "text") type->refuse_type("\"text\" (nothing else can be tokenized)");
  const std::optional<JsonField> text = part.find("text");
  if (!text) part.refuse_value("has no text");
  return text->text();
}

std::string parse_content(const JsonField& message) {
  const std::optional<JsonField> content = message.find("content");
  if (!content) return {};
  if (content->value().is_string()) return content->text();
  std::string joined;
  const std::size_t parts =
      content->array_size("a string, null, or a list of {\"type\": \"text\", \"text\": ...}");
  for (std::size_t i = 0; i < parts; ++i) joined += parse_text_part(content->at(i));
  return joined;
}

bool nested_deeper(const Json& value, int levels) {
  if (!value.is_structured()) return false;
  if (levels == 0) return true;
  return std::any_of(value.begin(), value.end(),
                     [&](const Json& inner) { return nested_deeper(inner, levels - 1); });
}

/// The arguments as JSON: as recorded if they are an object, parsed if they are its text (as OpenAI
/// sends them).
Json parse_arguments(const JsonField& function) {
  const std::optional<JsonField> arguments = function.find("arguments");
  if (!arguments) return Json::object();
  if (nested_deeper(arguments->value(), kDeepestCall))
    arguments->refuse_value("is nested too deeply");
  if (!arguments->value().is_string()) return arguments->value();
  try {
    Json parsed = sweep::strict_json<Json>(arguments->text());
    if (!nested_deeper(parsed, kDeepestCall)) return parsed;
  } catch (const sweep::JsonRefused&) {
    // Arguments may be text that is not JSON: the model generated it all the same.
  }
  return arguments->text();
}

void parse_tool_calls(const JsonField& message, ChatMessage& parsed) {
  const std::optional<JsonField> calls = message.find("tool_calls");
  const std::size_t count = calls ? calls->array_size("a list of calls, or null") : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const JsonField call = calls->at(i);
    const std::optional<JsonField> function = call.find("function");
    const std::optional<JsonField> name = function ? function->find("name") : std::nullopt;
    if (!name) call.refuse_value("has no function.name");
    if (i == 0) parsed.function_name = name->text();
    Json written = Json::object();
    written["name"] = name->text();
    written["arguments"] = parse_arguments(*function);
    parsed.tool_calls += (i == 0 ? "" : "\n") + written.dump();
  }
}

bool is_demo(const JsonField& message) {
  const std::optional<JsonField> flag = message.find("is_demo");
  if (flag && flag->boolean()) return true;
  const std::optional<JsonField> tool = message.find("tool");
  return tool && tool->value().is_string() && tool->text() == "demo";
}

ChatMessage parse_message(const JsonField& message) {
  ChatMessage parsed{parse_role(message), parse_content(message), {}, {}, false};
  if (parsed.role != Role::assistant) return parsed;
  parsed.is_demo = is_demo(message);
  parse_tool_calls(message, parsed);
  return parsed;
}

/// Reads the messages up to the last turn's answer.
std::vector<ChatMessage> parse_messages(const JsonField& list) {
  std::vector<ChatMessage> messages;
  std::size_t used = 0;
  bool asked = false;
  const std::size_t count = list.array_size("a list of messages, or its JSON text");
  for (std::size_t i = 0; i < count; ++i) {
    messages.push_back(parse_message(list.at(i)));
    asked = asked || messages.back().role == Role::user;
    if (!is_turn(messages.back())) continue;
    if (!asked) list.at(i).refuse_value("is an assistant message with no user message before it");
    used = messages.size();
  }
  if (used == 0) list.refuse_value("hold no assistant message: the trajectory is empty");
  messages.resize(used);
  return messages;
}

std::vector<ChatMessage> parse_messages_of(const JsonField& row, const InputPlace& place) {
  const std::optional<JsonField> messages = row.find("messages");
  if (!messages) row.refuse_value("has no messages");
  if (!messages->value().is_string()) return parse_messages(*messages);
  try {
    const Json parsed = sweep::strict_json<Json>(messages->text());
    return parse_messages(JsonField(parsed, "messages", place));
  } catch (const sweep::JsonRefused& refused) {
    messages->refuse_value(std::string("is a string that is not valid JSON: ") + refused.what());
  }
}

RecordedTurn parse_turn(const JsonField& turn) {
  RecordedTurn parsed;
  if (const std::optional<JsonField> tool = turn.find("tool")) parsed.tool = tool->text();
  if (const std::optional<JsonField> exec_s = turn.find("exec_s")) {
    parsed.exec_s = exec_s->number(0, kLongestToolCallS);
  }
  return parsed;
}

std::vector<RecordedTurn> parse_turns(const JsonField& row, std::size_t expected) {
  std::vector<RecordedTurn> parsed(expected);
  const std::optional<JsonField> turns = row.find("turns");
  if (!turns) return parsed;
  const std::size_t count = turns->array_size();
  if (count > expected) {
    turns->refuse_value("has " + std::to_string(count) + " entries for " +
                        std::to_string(expected) +
                        " assistant messages; allowed: at most one for each");
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!turns->at(i).value().is_null()) parsed[i] = parse_turn(turns->at(i));
  }
  return parsed;
}

}  // namespace

RecordedJob parse_job(const Json& row, const InputPlace& place) {
  const JsonField fields(row, "", place);
  RecordedJob job{parse_id(fields), place.line, parse_messages_of(fields, place), {}};
  const auto turns = std::count_if(job.messages.begin(), job.messages.end(), is_turn);
  job.turns = parse_turns(fields, static_cast<std::size_t>(turns));
  return job;
}

}  // namespace workload
