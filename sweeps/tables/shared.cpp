#include "sweeps/tables/shared.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>

namespace sweep {

SharedName::SharedName(std::string_view name) {
  static std::mutex mutex;
  // Never destroyed: objects that are destroyed after it may have names.
  static auto& names = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  const auto known = names.find(name);
  text_ = known != names.end() ? &*known : &*names.emplace(name).first;
}

SharedText::SharedText(const std::string& text, const SharedText* before) {
  if (before != nullptr && before->whole_) {
    whole_ = before->whole_;
    const std::size_t most = std::min(text.size(), whole_->size());
    const auto in_head = std::mismatch(text.begin(), text.begin() + most, whole_->begin()).first;
    head_ = static_cast<std::size_t>(in_head - text.begin());
    const auto in_tail =
        std::mismatch(text.rbegin(), text.rbegin() + (most - head_), whole_->rbegin()).first;
    tail_ = static_cast<std::size_t>(in_tail - text.rbegin());
    own_ = text.substr(head_, text.size() - head_ - tail_);
    if (own_.size() <= text.size() / 8) return;  // else the next ones resemble this one more
    own_.clear();
  }
  whole_ = std::make_shared<const std::string>(text);
  head_ = text.size();
  tail_ = 0;
}

std::string SharedText::text() const {
  if (!whole_) return {};
  return whole_->substr(0, head_) + own_ + whole_->substr(whole_->size() - tail_);
}

}  // namespace sweep
