#include "analysis/ranking/place_names.hpp"

#include <algorithm>
#include <set>

#include "analysis/ranking/sentences.hpp"

namespace analysis {
namespace {

bool begins_key(std::string_view text) {
  const std::size_t end =
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._");
  return end != std::string_view::npos && end > 0 && text[end] == '=';
}

/// "a.b=1, c=2" by key; a value may contain ", ".
std::vector<std::pair<std::string, std::string>> settings_of(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> settings;
  while (!text.empty()) {
    std::size_t end = text.find(", ");
    while (end != std::string_view::npos && !begins_key(text.substr(end + 2)))
      end = text.find(", ", end + 2);
    const std::string_view one = text.substr(0, end);
    const std::size_t equals = std::min(one.find('='), one.size());
    settings.emplace_back(one.substr(0, equals), one);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  }
  return settings;
}

}  // namespace

void PlaceNames::add(const Place& place) {
  if (std::ranges::find(known_, place, &Known::place) != known_.end()) return;
  add_once(kinds_, place.kind);
  Known& known = known_.emplace_back(Known{place, {}});
  for (auto& [key, text] : settings_of(place.settings)) {
    add_once(all_keys_, key);
    known.settings.emplace(key, std::move(text));
  }
}

std::string PlaceNames::name(const Known& known, const std::vector<std::string>& keys) const {
  std::string text = (kinds_.size() > 1 ? known.place.kind + ", " : "") + known.place.gpu;
  for (const std::string& key : keys) {
    const auto found = known.settings.find(key);
    if (found != known.settings.end()) text += ", " + found->second;
  }
  return text;
}

bool PlaceNames::are_told_apart(const std::vector<std::string>& keys) const {
  std::set<std::string> names;
  return std::ranges::all_of(
      known_, [&](const Known& each) { return names.insert(name(each, keys)).second; });
}

std::string PlaceNames::operator()(const Place& place) const {
  if (named_ != known_.size()) {
    keys_ = all_keys_;
    for (auto key = all_keys_.rbegin(); key != all_keys_.rend(); ++key) {
      std::vector<std::string> fewer = keys_;
      std::erase(fewer, *key);
      if (are_told_apart(fewer)) keys_ = std::move(fewer);
    }
    named_ = known_.size();
  }
  return name(*std::ranges::find(known_, place, &Known::place), keys_);
}

}  // namespace analysis
