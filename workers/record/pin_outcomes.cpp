#include "workers/record/pin_outcomes.hpp"

#include <set>
#include <utility>

#include "sweeps/tables/schema.hpp"

namespace worker {

std::vector<sweep::Figure> pin_outcomes(const sweep::Table& kv_events) {
  const auto &kinds = kv_events.values<std::int8_t>("kind"),
             &reasons = kv_events.values<std::int8_t>("reason");
  const auto &jobs = kv_events.values<std::int32_t>("job"),
             &turns = kv_events.values<std::int32_t>("turn");
  std::set<std::pair<std::int32_t, std::int32_t>> pinned;
  double clipped = 0, refused = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::pair turn{jobs[i], turns[i]};
    const auto kind = static_cast<sweep::KvEventKind>(kinds[i]);
    if (kind == sweep::KvEventKind::pin) pinned.insert(turn);
    if (kind == sweep::KvEventKind::keep_declined &&
        static_cast<sweep::KvEventReason>(reasons[i]) == sweep::KvEventReason::no_room)
      ++(pinned.contains(turn) ? clipped : refused);
  }
  return {{"pins_accepted", static_cast<double>(pinned.size()) - clipped, ""},
          {"pins_clipped", clipped, ""},
          {"pins_refused", refused, ""}};
}

}  // namespace worker
