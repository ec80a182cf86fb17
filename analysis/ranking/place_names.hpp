#pragma once
#include <map>
#include <string>
#include <vector>

#include "analysis/ranking/policy_rows.hpp"

namespace analysis {

/// Names places by what tells them apart: "h100-80gb, engine.block_size=16". The card is always
/// named, and the kind of figures if there are several; of the settings only so many that no two
/// places have one name.
class PlaceNames {
 public:
  void add(const Place& place);
  const std::vector<std::string>& kinds() const { return kinds_; }
  /// Of a place that was added.
  std::string operator()(const Place& place) const;

 private:
  struct Known {
    Place place;
    std::map<std::string, std::string> settings;  // by key
  };
  std::string name(const Known& known, const std::vector<std::string>& keys) const;
  bool are_told_apart(const std::vector<std::string>& keys) const;

  std::vector<std::string> kinds_, all_keys_;
  std::vector<Known> known_;
  mutable std::vector<std::string> keys_;  // those that names have; of as many places as known
  mutable std::size_t named_ = 0;
};

/// The names of what has places.
template <class Items>
PlaceNames place_names(const Items& items) {
  PlaceNames names;
  for (const auto& item : items) names.add(item.place);
  return names;
}

}  // namespace analysis
