#include "workers/policies/factory.hpp"

#include <algorithm>

#include "workers/engine/errors.hpp"

// One line a policy: its name. The file of that name defines its maker.
#define KVSWEEP_ORDERS(ORDER) \
  ORDER(fcfs)                 \
  ORDER(priority)             \
  ORDER(job_fcfs)

#define KVSWEEP_RETENTIONS(RETENTION) \
  RETENTION(free)                     \
  RETENTION(pin)

namespace policies {

#define DECLARE_ORDER(name) \
  std::unique_ptr<engine::QueueOrder> make_##name##_order(const PolicyConfig&);
#define DECLARE_RETENTION(name) \
  std::unique_ptr<engine::RetentionPolicy> make_##name##_retention(const PolicyConfig&);
KVSWEEP_ORDERS(DECLARE_ORDER)
KVSWEEP_RETENTIONS(DECLARE_RETENTION)

namespace {

template <class Policy>
struct Entry {
  const char* name;
  std::unique_ptr<Policy> (*make)(const PolicyConfig&);
};

#define ORDER_ENTRY(name) {#name, make_##name##_order},
#define RETENTION_ENTRY(name) {#name, make_##name##_retention},
constexpr Entry<engine::QueueOrder> kOrders[] = {KVSWEEP_ORDERS(ORDER_ENTRY)};
constexpr Entry<engine::RetentionPolicy> kRetentions[] = {KVSWEEP_RETENTIONS(RETENTION_ENTRY)};

template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

template <class Table>
auto make(const Table& table, const std::string& axis, const std::string& name,
          const PolicyConfig& config) {
  for (const auto& entry : table) {
    if (entry.name == name) return entry.make(config);
  }
  std::string known;
  for (const auto& entry : table)
    known += std::string(known.empty() ? "" : ", ") + '"' + entry.name + '"';
  throw engine::InputError("policy." + axis + " must be one of " + known + ", found \"" + name +
                           '"');
}

}  // namespace

std::vector<std::string> order_names() { return names_in(kOrders); }
std::vector<std::string> retention_names() { return names_in(kRetentions); }

std::unique_ptr<engine::QueueOrder> make_order(const PolicyConfig& config) {
  return make(kOrders, "order", config.order, config);
}

std::unique_ptr<engine::RetentionPolicy> make_retention(const PolicyConfig& config) {
  return make(kRetentions, "retention", config.retention, config);
}

}  // namespace policies
