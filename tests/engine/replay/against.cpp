#include "tests/engine/replay/against.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

namespace worker {
namespace {

using nlohmann::json;

/// The rules of the recordings that decide a field. 1-12 are those of vLLM's V1 scheduler, A1-A9
/// of asynchronous scheduling, N1-N7 those of 0.33, and T1-T16 those of its host tier.
struct FieldRules {
  std::string_view field, rules;
};
constexpr FieldRules kRules[] = {{"scheduled", "1-5, 7, A1, A2, N2-N4, N7, T1, T4, T6, T15"},
                                 {"preempted", "2, N3, N4, T15"},
                                 {"waiting", "3, 4, N3, N7, T2, T6"},
                                 {"running", "1, 4, N3, N7, T6, T15"},
                                 {"kv_holding", "T4, T6, T16"},
                                 {"loading", "T4, T5, T16"},
                                 {"deferred", "T2"},
                                 {"free_blocks", "N1, N7, T4, T14, T16"},
                                 {"free_blocks_after", "11, A3, A7, T14, T16"},
                                 {"free_queue_head", "8, 10, N1, T14"},
                                 {"free_queue", "8, 10, N1, T14"},
                                 {"evicted", "8, N1"},
                                 {"cached_hashes", "9, A4, T5"},
                                 {"cached_hashes_scheduled", "9, A4, T5"},
                                 {"placeholders_scheduled", "A1, N5"},
                                 {"placeholders_after", "A1, N5"},
                                 {"preempted_placeholders", "A5, N5"},
                                 {"applied", "the asynchronous driver, N6"},
                                 {"in_flight_after", "the asynchronous driver, N6"},
                                 {"schedule_called", "the driver, N6"},
                                 {"finished", "11, A2, A6"},
                                 {"loads", "T1, T3-T5"},
                                 {"stores", "T3, T8, T9, T11"},
                                 {"store_failed", "T9"},
                                 {"host_evicted", "T9, T12, T13"},
                                 {"host", "T9, T12, T13"},
                                 {"host_used", "T8, T9, T11"},
                                 {"flush", "T10"},
                                 {"jobs_waited", "T10"},
                                 {"deferred_free_blocks", "T14"}};

std::string rules_of(const std::string& field) {
  const auto* const known = std::ranges::find(kRules, field, &FieldRules::field);
  return known == std::end(kRules) ? "" : " (rules " + std::string(known->rules) + ")";
}

std::string value_of(const json& line, const std::string& field) {
  const auto value = line.find(field);
  return value == line.end() ? "nothing" : value->dump();
}

void write_difference(const json& recorded, const json& ours, std::ostream& out) {
  json both = recorded;
  both.update(ours);
  for (const auto& [field, value] : both.items()) {
    const std::string expected = value_of(recorded, field), found = value_of(ours, field);
    if (expected != found)
      out << "  " << field << rules_of(field) << "\n    recorded " << expected << "\n    replayed "
          << found << '\n';
  }
}

}  // namespace

bool equals_recording(const std::string& replay, std::istream& recording, std::ostream& out) {
  std::istringstream replayed(replay);
  std::string expected, found;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(recording, expected));
    const bool ours = static_cast<bool>(std::getline(replayed, found));
    if (!more && !ours) return true;
    if (more != ours) {
      out << "line " << line << ": only the " << (more ? "recording" : "replay") << " goes on\n";
      return false;
    }
    const json theirs = json::parse(expected), mine = json::parse(found);
    if (theirs == mine) continue;
    out << "line " << line << " differs\n";
    write_difference(theirs, mine, out);
    return false;
  }
}

}  // namespace worker
