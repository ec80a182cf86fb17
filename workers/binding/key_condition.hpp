#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/spec/params.hpp"

namespace worker {

/// The value under a key, its default included; null where it has none.
using ValueOf = std::function<const sweep::Value*(const std::string& key)>;

/// When a key counts, by the values of others: "policy.retention = pin|infercept; engine.emulate
/// unset". Clauses between semicolons must all hold; of a clause's alternatives, between " or ",
/// one must. An alternative is KEY = A|B, KEY != A, KEY set or KEY unset. `backend` is a key, too.
class KeyCondition {
 public:
  explicit KeyCondition(std::string_view text);

  bool holds(const ValueOf& value_of) const;
  /// The same without the clauses that look at `key` itself.
  bool holds_beside(const std::string& key, const ValueOf& value_of) const;
  /// Whether clauses about the backend alone rule this one out.
  bool rules_out_backend(const std::string& backend) const;
  /// "policy.retention is pin or infercept and engine.emulate is not set"; empty where the key
  /// always counts.
  std::string in_words() const;
  /// The same of a condition that holds, with the alternatives that hold.
  std::string reasons(const ValueOf& value_of) const;

 private:
  enum class Test { equals, differs, set, unset };
  struct Alternative {
    std::string key;
    Test test;
    std::vector<std::string> words;
    bool holds(const ValueOf& value_of) const;
    std::string in_words() const;
  };
  using Clause = std::vector<Alternative>;

  static Alternative parse(const std::string& text);
  static bool holds(const Clause& clause, const ValueOf& value_of);

  std::vector<Clause> clauses_;
};

}  // namespace worker
