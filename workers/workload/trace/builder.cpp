#include "workers/workload/trace/builder.hpp"

#include <algorithm>
#include <cmath>

#include "workers/workload/trace/formats.hpp"

namespace workload {
namespace {

constexpr double kMostTokens = 1 << 26;
constexpr double kLatest_s = 1e9;
constexpr std::size_t kMostTurns = 1'000'000;

std::string shown(const std::string& id) {
  constexpr std::size_t kShown = 60;
  return '"' + id.substr(0, kShown) + (id.size() > kShown ? "...\"" : "\"");
}

}  // namespace

std::uint64_t local_scope(const std::string& session_id) {
  std::uint64_t scope = 1;
  for (const char c : session_id) scope = mixed(scope, static_cast<unsigned char>(c));
  return std::max<std::uint64_t>(scope, 1);  // 0 is the scope of shared ids
}

std::vector<std::uint64_t> ids_of(const TraceSession& session, int turn) {
  const auto at = [&](int t) -> const TraceTurn& {
    return session.turns[static_cast<std::size_t>(t)];
  };
  if (session.block_tokens == 0) return {};
  const TraceTurn& own = at(turn);
  const auto shared = static_cast<std::size_t>(own.shared_tokens / session.block_tokens);
  std::vector<std::uint64_t> ids(shared + static_cast<std::size_t>(own.num_ids));
  std::size_t end = ids.size();
  for (int t = turn; t >= 0 && end > 0; t = at(t).base) {
    const TraceTurn& part = at(t);
    const auto begin = static_cast<std::size_t>(part.shared_tokens / session.block_tokens);
    for (std::size_t i = begin; i < end; ++i) ids[i] = session.ids[part.first_id + i - begin];
    end = std::min(end, begin);
  }
  return ids;
}

SessionBuilder::SessionBuilder(std::string id, std::uint64_t scope, int block_tokens,
                               const InputPlace& place) {
  session_.id = std::move(id);
  session_.file = place.file;
  session_.line = place.line;
  session_.scope = scope;
  session_.block_tokens = block_tokens;
  add_agent({}, 0);
}

int SessionBuilder::add_agent(std::string name, int parent) {
  session_.agents.push_back({std::move(name), parent});
  last_.push_back(-1);
  return static_cast<int>(session_.agents.size()) - 1;
}

int SessionBuilder::add_turn(TraceTurn turn, int base, const IdLists::Split& ids,
                             const InputPlace& place) {
  const auto blocks = static_cast<std::size_t>(ids.shared) + ids.fresh.size();
  const auto size = static_cast<std::size_t>(session_.block_tokens);
  const auto prompt = static_cast<std::size_t>(turn.prompt_tokens);
  const std::size_t least = prompt / size, most = (prompt + size - 1) / size;
  if (blocks < least || blocks > most) {
    refuse(place, "session " + shown(session_.id) + ", request " +
                      std::to_string(session_.turns.size() + 1) + " has " + std::to_string(blocks) +
                      " block ids for a prompt of " + std::to_string(prompt) +
                      " tokens; allowed: " + std::to_string(least) +
                      (most > least ? " or " + std::to_string(most) : "") + " blocks of " +
                      std::to_string(size) + " tokens");
  }
  turn.first_id = session_.ids.size();
  turn.num_ids = static_cast<int>(ids.fresh.size());
  session_.ids.insert(session_.ids.end(), ids.fresh.begin(), ids.fresh.end());
  return add_turn(std::move(turn), base, ids.shared * session_.block_tokens);
}

int SessionBuilder::add_turn(TraceTurn turn, int base, int tokens) {
  const auto number = static_cast<int>(session_.turns.size());
  if (session_.turns.size() == kMostTurns)
    refuse({session_.file, session_.line},
           "session " + shown(session_.id) + " has more than the 1,000,000 requests allowed");
  turn.base = tokens > 0 ? base : -1;
  turn.shared_tokens = turn.base >= 0 ? tokens : 0;
  last_[static_cast<std::size_t>(turn.agent)] = number;
  session_.turns.push_back(std::move(turn));
  return number;
}

TraceSession SessionBuilder::take() && {
  if (session_.turns.empty())
    refuse({session_.file, session_.line}, "session " + shown(session_.id) + " has no requests");
  return std::move(session_);
}

int NameIndex::of(const std::string& name) {
  if (name.empty()) return -1;
  const auto [entry, fresh] = numbers_.try_emplace(name, static_cast<int>(names_.size()));
  if (fresh) names_.push_back(name);
  return entry->second;
}

std::optional<JsonField> any_of(const JsonField& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto field = object.find(name)) return field;
  return std::nullopt;
}

int token_count(const JsonField& object, std::initializer_list<const char*> names, int least) {
  const auto field = any_of(object, names);
  if (!field) object.refuse_value(std::string("has no ") + *names.begin());
  const double count = field->number(0, kMostTokens);
  if (count != std::floor(count)) field->refuse_type("a whole number of tokens");
  // Recordings count some answers as empty. An engine generates at least one token.
  return std::max(static_cast<int>(count), least);
}

double seconds(const JsonField& object, const char* name, double unit_s) {
  const auto field = object.find(name);
  return field ? field->number(0, kLatest_s / unit_s) * unit_s : kUnrecorded;
}

std::string name_in(const JsonField& object, const char* name, const std::string& fallback) {
  const auto field = object.find(name);
  if (!field) return fallback;
  if (field->value().is_number_integer()) return field->value().dump();
  return field->text("a string or a whole number");
}

}  // namespace workload
