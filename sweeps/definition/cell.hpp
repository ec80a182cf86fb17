#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/definition/sweep.hpp"
#include "sweeps/tables/status.hpp"

namespace sweep {

inline constexpr std::size_t kMostCells = 1'000'000;

/// The parameters of a cell. Copies share them until one is changed, as the repeats of a cell do.
class CellParams {
 public:
  CellParams() : shared_(std::make_shared<ParamMap>()) {}
  CellParams(ParamMap params) : shared_(std::make_shared<ParamMap>(std::move(params))) {}
  operator const ParamMap&() const { return *shared_; }

  auto begin() const { return shared_->begin(); }
  auto end() const { return shared_->end(); }
  auto find(const std::string& key) const { return shared_->find(key); }
  const Param& at(const std::string& key) const { return shared_->at(key); }
  bool contains(const std::string& key) const { return shared_->contains(key); }
  std::size_t size() const { return shared_->size(); }
  Param& operator[](const std::string& key) {
    if (shared_.use_count() > 1) shared_ = std::make_shared<ParamMap>(*shared_);
    return (*shared_)[key];
  }
  /// Whether the two are copies of which neither was changed.
  bool shares_with(const CellParams& other) const { return shared_ == other.shared_; }

 private:
  std::shared_ptr<ParamMap> shared_;
};

/// One experiment of a sweep.
struct Cell {
  int index = 0;      // position in the plan
  CellParams params;  // base, axes and overrides merged, dotted keys
  AxisValues axes;    // in the order of the file; without those that do not count
  int repeat = 0;
  std::int64_t seed = 0;  // repeat.seed + repeat
  CellStatus status = CellStatus::planned;
  std::string reason;  // why it is excluded
};

/// Where a key has an effect. An axis keeps all values in cells where its key has an effect. Cells
/// where it has none, as a parameter of another method, collapse into one, without the key.
enum class Scope {
  all_cells,
  some_cells,
  /// Like some_cells, but an axis also keeps its values where an [[exclude]] or an [[override]]
  /// names one of them: the author wants these cells.
  some_cells_or_named
};

/// Rules about keys that no sweep file states. By default all have an effect in all cells.
struct KeyRules {
  std::function<Scope(std::string_view key)> scope = [](std::string_view) {
    return Scope::all_cells;
  };
  /// Whether a key has an effect beside these parameters, whatever its value. Not asked for keys
  /// of scope all_cells.
  std::function<bool(const ParamMap&, const std::string& key)> counts = {};
};

/// The cells of a sweep in plan order: the cross product with the last axis fastest, then the
/// includes; repeats innermost. Throws SpecError, e.g. when an include repeats a cell, and when
/// there would be more than kMostCells.
std::vector<Cell> expand(const SweepSpec& spec, const KeyRules& rules);

/// The first cell of the cross product that is not excluded. Forms no other cell, so that an error
/// that all cells have is found early. Throws SpecError when there are too many cells.
std::optional<Cell> first_planned(const SweepSpec& spec, const KeyRules& rules);

}  // namespace sweep
