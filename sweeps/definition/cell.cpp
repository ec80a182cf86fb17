#include "sweeps/definition/cell.hpp"

#include <algorithm>
#include <map>

#include "sweeps/definition/canonical_json.hpp"
#include "sweeps/definition/messages.hpp"

namespace sweep {

namespace {

/// One value for each axis; null where the axis does not count.
using Point = std::vector<const Param*>;

class Expansion {
 public:
  Expansion(const SweepSpec& spec, const KeyRules& rules) : spec_(spec), rules_(rules) {}

  std::vector<Cell> cells() {
    check_size();
    for_each_point(lists_of_axes(), [this](const Point& point) {
      add_repeats(product_cell(point));
      return true;
    });
    if (!spec_.includes.empty()) remember_all();
    for (const Include& include : spec_.includes) add_include(include);
    return std::move(cells_);
  }

  std::optional<Cell> first_planned() {
    check_size();
    std::optional<Cell> first;
    for_each_point(lists_of_axes(), [&](const Point& point) {
      Cell cell = product_cell(point);
      if (cell.status == CellStatus::planned) first = std::move(cell);
      return !first;
    });
    return first;
  }

 private:
  using Lists = std::vector<const std::vector<Param>*>;

  std::size_t position_of(std::string_view name) const {
    const Axis* axis = spec_.find_axis(name);
    return axis == nullptr ? spec_.axes.size() : static_cast<std::size_t>(axis - spec_.axes.data());
  }

  Lists lists_of_axes() const {
    Lists lists;
    for (const Axis& axis : spec_.axes) lists.push_back(&axis.values);
    return lists;
  }

  /// Checked before any cell is formed, since a million cells take gigabytes and a minute.
  void check_size() const {
    double points = 1;
    for (const Axis& axis : spec_.axes) points *= static_cast<double>(axis.values.size());
    for (const Include& include : spec_.includes) {
      double more = 1;
      for (const Condition& each : include.point) more *= static_cast<double>(each.any_of.size());
      points += more;
    }
    const double cells = points * static_cast<double>(spec_.repeat.n);
    if (cells <= static_cast<double>(kMostCells)) return;
    throw SpecError(spec_.path + ": the axes span " +
                    formatted(cells < 1e15 ? "%.0f" : "%.3g", cells) + " cells" +
                    (spec_.repeat.n > 1 ? " with their repeats" : "") +
                    "; allowed: " + std::to_string(kMostCells));
  }

  /// Calls `action` with every combination, the last axis fastest, as long as it returns true. An
  /// empty list stands for an axis left out.
  template <class Action>
  void for_each_point(const Lists& lists, Action action) const {
    std::vector<std::size_t> digits(lists.size(), 0);
    while (true) {
      Point point;
      for (std::size_t i = 0; i < lists.size(); ++i) {
        point.push_back(lists[i]->empty() ? nullptr : &(*lists[i])[digits[i]]);
      }
      if (!drop_unused(lists, point) && !action(point)) return;
      std::size_t axis = lists.size();
      while (axis > 0 && digits[axis - 1] + 1 >= lists[axis - 1]->size()) digits[--axis] = 0;
      if (axis == 0) return;
      ++digits[axis - 1];
    }
  }

  bool collapses(std::size_t at, const Point& point) const {
    const std::string& axis = spec_.axes[at].name;
    const Scope scope = rules_.scope(axis);
    if (scope == Scope::all_cells || rules_.counts(cell_at(point).params, axis)) return false;
    const auto tells_apart = [&](const auto& block) {
      std::vector<Condition> others = block.when;
      const auto removed =
          std::erase_if(others, [&](const Condition& each) { return each.axis == axis; });
      return removed > 0 && on(others, point);
    };
    return scope == Scope::some_cells || (std::ranges::none_of(spec_.excludes, tells_apart) &&
                                          std::ranges::none_of(spec_.overrides, tells_apart));
  }

  /// Removes axes that do not count from a point. True when an earlier point is then equal to it.
  bool drop_unused(const Lists& lists, Point& point) const {
    bool is_repeated = false;
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (point[i] == nullptr || !collapses(i, point)) continue;
      is_repeated = is_repeated || point[i] != lists[i]->data();
      point[i] = nullptr;
    }
    return is_repeated;
  }

  bool on(const std::vector<Condition>& conditions, const Point& point) const {
    return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
      const Param* found = point[position_of(condition.axis)];
      return found != nullptr &&
             std::any_of(condition.any_of.begin(), condition.any_of.end(),
                         [&](const Param& each) { return same_value(each.value, found->value); });
    });
  }

  Cell cell_at(const Point& point) const {
    Cell cell;
    cell.params = spec_.base;
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (point[i] == nullptr) continue;
      cell.params[spec_.axes[i].name] = *point[i];
      cell.axes.emplace_back(spec_.axes[i].name, point[i]->value);
    }
    for (const Override& override : spec_.overrides) {
      if (!on(override.when, point)) continue;
      for (const auto& [key, param] : override.set) cell.params[key] = param;
    }
    return cell;
  }

  void add_repeats(Cell cell) {
    for (int repeat = 0; repeat < spec_.repeat.n; ++repeat) {
      cell.index = static_cast<int>(cells_.size());
      cell.repeat = repeat;
      cell.seed = spec_.repeat.seed + repeat;
      cells_.push_back(cell);
    }
  }

  /// The cell of a point, with the seed of its first repeat.
  Cell product_cell(const Point& point) const {
    Cell cell = cell_at(point);
    cell.seed = spec_.repeat.seed;
    for (const Exclude& exclude : spec_.excludes) {
      if (!on(exclude.when, point)) continue;
      cell.status = CellStatus::excluded;
      cell.reason = exclude.reason;
      break;
    }
    return cell;
  }

  void remember_all() {
    for (const Cell& cell : cells_) {
      if (cell.repeat == 0)
        known_.emplace(canonical_json(cell.params), static_cast<std::size_t>(cell.index));
    }
  }

  Lists lists_of(const Include& include) const {
    static const std::vector<Param> kLeftOut;
    Lists lists(spec_.axes.size(), &kLeftOut);
    for (const Condition& each : include.point) lists[position_of(each.axis)] = &each.any_of;
    return lists;
  }

  void add_include(const Include& include) {
    const Lists lists = lists_of(include);
    for_each_point(lists, [&](const Point& point) {
      Cell cell = cell_at(point);
      for (std::size_t i = 0; i < point.size(); ++i) {
        const std::string& axis = spec_.axes[i].name;
        if (point[i] == nullptr &&
            (rules_.scope(axis) == Scope::all_cells || rules_.counts(cell.params, axis)))
          fail_at(include.where, "[[include]] must give every axis; " + axis + " is missing");
      }
      for (const auto& [key, param] : include.set) cell.params[key] = param;
      add_included(include, cell);
      return true;
    });
  }

  /// An include that names an excluded cell plans it after all; one that names a planned cell is an
  /// error.
  void add_included(const Include& include, const Cell& cell) {
    const auto [known, added] = known_.emplace(canonical_json(cell.params), cells_.size());
    if (added) return add_repeats(cell);
    for (std::size_t i = known->second;
         i < known->second + static_cast<std::size_t>(spec_.repeat.n); ++i) {
      if (cells_[i].status == CellStatus::planned) {
        fail_at(include.where,
                "[[include]] repeats cell " + std::to_string(i) + ": " + to_text(cells_[i].axes));
      }
      cells_[i].status = CellStatus::planned;
      cells_[i].reason.clear();
    }
  }

  const SweepSpec& spec_;
  const KeyRules& rules_;
  std::vector<Cell> cells_;
  std::map<std::string, std::size_t> known_;  // canonical parameters -> repeat 0 of the cell
};

}  // namespace

std::vector<Cell> expand(const SweepSpec& spec, const KeyRules& rules) {
  return Expansion(spec, rules).cells();
}

std::optional<Cell> first_planned(const SweepSpec& spec, const KeyRules& rules) {
  return Expansion(spec, rules).first_planned();
}

}  // namespace sweep
