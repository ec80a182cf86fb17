#pragma once
#include <functional>
#include <string>

#include "sweeps/spec/params.hpp"
#include "workers/policies/estimators/condition.hpp"

namespace worker {

using policies::Condition;

/// The value under a key, its default included; null where it has none.
using ValueOf = std::function<const sweep::Value*(const std::string& key)>;

bool holds(const Condition& condition, const ValueOf& value_of);
/// The same without the clauses that look at `key` itself.
bool holds_beside(const std::string& key, const Condition& condition, const ValueOf& value_of);
/// Whether clauses about the backend alone rule this one out.
bool rules_out_backend(const Condition& condition, const std::string& backend);
/// "policy.retention is pin or infercept and engine.emulate is not set"; empty where the key always
/// counts.
std::string in_words(const Condition& condition);
/// The same of a condition that holds, with the tests that hold.
std::string reasons(const Condition& condition, const ValueOf& value_of);

}  // namespace worker
