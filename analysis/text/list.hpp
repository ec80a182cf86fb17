#pragma once
#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

namespace analysis {

/// Leaves it out where it is there already.
template <class Item>
void add_once(std::vector<Item>& items, const std::type_identity_t<Item>& item) {
  if (std::ranges::find(items, item) == items.end()) items.push_back(item);
}

/// What `of` gives of each item.
template <class Items>
auto mapped(Items&& items, auto of) {
  std::vector<std::decay_t<decltype(std::invoke(of, *std::begin(items)))>> all;
  for (auto&& item : items) all.push_back(std::invoke(of, item));
  return all;
}

/// The item whose member has this value; a new one at the end where there is none.
template <class Item, class Value>
Item& item_with(std::vector<Item>& items, Value Item::*member,
                const std::type_identity_t<Value>& value) {
  const auto found = std::ranges::find(items, value, member);
  if (found != items.end()) return *found;
  Item& item = items.emplace_back();
  item.*member = value;
  return item;
}

}  // namespace analysis
