#include <sstream>

#include "workers/workload/trace/documents.hpp"
#include "workers/workload/trace/formats.hpp"
#include "workers/workload/trace/write_trace.hpp"

namespace workload {
namespace {

const char* name_of(Role role) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
    case Role::tool:
      break;
  }
  return "tool";
}

/// A message holds its calls as {"name", "arguments"}, one a line.
Json calls_of(const ChatMessage& message) {
  Json calls = Json::array();
  std::istringstream lines(message.tool_calls);
  for (std::string line; std::getline(lines, line);) {
    const Json call = Json::parse(line);
    calls.push_back(
        {{"type", "function"},
         {"function", {{"name", call.at("name")}, {"arguments", call.at("arguments").dump()}}}});
  }
  return calls;
}

Json row_of(const ChatMessage& message) {
  Json row{{"role", name_of(message.role)}, {"content", message.text}};
  if (!message.tool_calls.empty()) row["tool_calls"] = calls_of(message);
  if (message.is_demo) row["is_demo"] = true;
  return row;
}

Json row_of(const RecordedTurn& turn) {
  Json row = Json::object();
  if (!turn.tool.empty()) row["tool"] = turn.tool;
  if (turn.exec_s) row["exec_s"] = *turn.exec_s;
  return row;
}

void write(const RecordedJob& chat, std::ostream& out) {
  Json row{{"id", chat.id}, {"messages", Json::array()}, {"turns", Json::array()}};
  for (const ChatMessage& message : chat.messages) row["messages"].push_back(row_of(message));
  for (const RecordedTurn& turn : chat.turns) row["turns"].push_back(row_of(turn));
  out << row.dump() << '\n';
}

}  // namespace

void write_messages(const std::string& path, const std::string& format, std::ostream& out) {
  const auto write_chat = [&](const RecordedJob& chat, const InputPlace&) { write(chat, out); };
  for (const std::string& file : trace_files(path)) {
    const std::string found = format_of(file, format);
    if (found == "messages") {
      visit_messages(file, write_chat);
    } else if (found == "sharegpt") {
      visit_sharegpt(file, write_chat);
    } else {
      refuse({file, 0}, "is " + found +
                            ", which holds no text, and format messages is text; "
                            "allowed: --to mooncake or weka");
    }
  }
}

}  // namespace workload
