#pragma once
// Private to this room.
#include <string>
#include <unordered_map>
#include <vector>

#include "workers/workload/input/json_lines.hpp"
#include "workers/workload/trace/documents.hpp"
#include "workers/workload/trace/session.hpp"

namespace workload {

/// What ids mean in a session whose ids are its own, and in a trace whose ids are shared.
std::uint64_t local_scope(const std::string& session_id);
inline constexpr std::uint64_t kGlobalScope = 0;

/// Makes one session, and refuses what cannot be replayed.
class SessionBuilder {
 public:
  /// `block_tokens`: 0 for formats without ids.
  SessionBuilder(std::string id, std::uint64_t scope, int block_tokens, const InputPlace& place);

  /// Adds an agent which `parent` spawns.
  int add_agent(std::string name, int parent);
  /// Adds a turn with its agent, lengths, times and waits filled in. Its prompt begins with the
  /// first `ids.shared` blocks of `base` (-1: none), followed by fresh ones.
  int add_turn(TraceTurn turn, int base, const IdLists::Split& ids, const InputPlace& place);
  /// The same without ids: the prompt shares `tokens` tokens with `base`.
  int add_turn(TraceTurn turn, int base, int tokens);

  TraceSession& session() { return session_; }
  const TraceSession& session() const { return session_; }
  int last_turn(int agent) const { return last_[static_cast<std::size_t>(agent)]; }
  /// The session, checked as a whole.
  TraceSession take() &&;

 private:
  TraceSession session_;
  std::vector<int> last_;  // by agent; -1: none
};

/// Numbers names in order of first use.
class NameIndex {
 public:
  explicit NameIndex(std::vector<std::string>& names) : names_(names) {}
  int of(const std::string& name);

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, int> numbers_;
};

/// Lengths and times as traces have them; anything else is a mistake in the file.
int token_count(const JsonField& object, std::initializer_list<const char*> names, int least);
double seconds(const JsonField& object, const char* name, double unit_s = 1);
/// The first of these members that the object has.
std::optional<JsonField> any_of(const JsonField& object, std::initializer_list<const char*> names);
/// A text, or a number as text; `fallback` where it is missing.
std::string name_in(const JsonField& object, const char* name, const std::string& fallback);

}  // namespace workload
