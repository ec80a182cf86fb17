#include "sweeps/definition/sweep.hpp"

#include <algorithm>

#include "sweeps/definition/input_file.hpp"
#include "sweeps/definition/messages.hpp"
#include "sweeps/definition/sweep_checks.hpp"
#include "sweeps/definition/toml_file.hpp"

namespace sweep {

namespace {

std::vector<std::string> names_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

/// Takes a parsed document apart into a SweepSpec. Sections are read in the order in which they
/// need each other.
class SpecParser {
 public:
  SpecParser(const toml::table& root, std::string path) : root_(root) {
    spec_.path = std::move(path);
  }

  SweepSpec parse() {
    read_schema();
    read_base();
    read_sweep();
    read_repeat();
    read_axes();
    read_includes();
    read_excludes();
    read_overrides();
    spec_.figures = figures_of(section("figure"), spec_.path, spec_.name, "");
    read_tune();
    spec_.capacity = section("capacity");
    return std::move(spec_);
  }

 private:
  struct Point {
    Location where;  // of its block
    std::vector<Condition> on_axes;
    ParamMap others;
  };

  void read_schema() {
    const auto entry = root_.find("schema");
    const std::string reads = "this version reads schema = " + std::to_string(kSchema);
    if (entry == root_.end()) {
      throw SpecError(spec_.path + ": the key \"schema\" is missing; " + reads);
    }
    const auto& [key, node] = *entry;
    const Location where = location_of(key, spec_.path);
    const auto* schema = node.as_integer();
    if (schema == nullptr) fail_at(where, "schema must be an integer, found " + describe(node));
    const std::string found = std::to_string(schema->get());
    if (schema->get() > kSchema) fail_at(where, "schema " + found + " is too new; " + reads);
    if (schema->get() < 1) fail_at(where, "schema " + found + " does not exist; " + reads);
  }

  void add_scalar(const Leaf& leaf, ParamMap& params) const {
    if (leaf.node->is_array()) {
      fail_at(leaf.where, leaf.key +
                              " must be a single value, found an array; what varies is "
                              "written under [axes]");
    }
    const Param param{scalar_of(*leaf.node, leaf.key, leaf.where), leaf.where};
    const auto [first, added] = params.try_emplace(leaf.key, param);
    if (added) return;
    fail_at(leaf.where, leaf.key + " is set twice, first at " + to_text(first->second.where));
  }

  const toml::table& table_of(const toml::node& node, const std::string& name) const {
    if (const toml::table* table = node.as_table()) return *table;
    fail_at(location_of(node, spec_.path),
            name + " must be a table, written as [" + name + "], found " + describe(node));
  }

  /// The leaves of the table [name]; none without the table.
  std::vector<Leaf> leaves(const std::string& name, const std::string& prefix) const {
    const toml::node* node = root_.get(name);
    if (node == nullptr) return {};
    return leaves_of(table_of(*node, name), spec_.path, prefix);
  }

  ParamMap section(const std::string& name) const {
    ParamMap params;
    for (const Leaf& leaf : leaves(name, name + '.')) add_scalar(leaf, params);
    return params;
  }

  void read_base() {
    for (const auto& [key, node] : root_) {
      if (is_section(key.str())) continue;
      const std::string name(key.str());
      if (!node.is_value()) check_table(name, location_of(key, spec_.path));
      if (!node.is_table()) add_scalar({name, &node, location_of(key, spec_.path)}, spec_.base);
      if (node.is_table())
        for (const Leaf& leaf : leaves(name, name + '.')) add_scalar(leaf, spec_.base);
    }
  }

  void read_sweep() {
    ParamMap params = section("sweep");
    ParamReader reader(params, spec_.path);
    spec_.name = reader.text("sweep.name");
    check_name(spec_.name, reader.where("sweep.name"));
    const auto take_text = [&](const std::string& key) -> std::optional<Param> {
      if (!reader.has(key)) return std::nullopt;
      reader.text(key, "");
      return params.extract(key).mapped();
    };
    spec_.backend = take_text("sweep.backend");
    spec_.record = take_text("sweep.record");
    params.erase("sweep.name");
    spec_.base.merge(params);
  }

  /// Seeds are not listed, whatever the key is called.
  void read_repeat() {
    for (const Leaf& leaf : leaves("repeat", "repeat."))
      if (leaf.node->is_array())
        fail_at(leaf.where, leaf.key +
                                " cannot be a list: repeat.n says how many repeats there are, and "
                                "their seeds are repeat.seed, repeat.seed + 1, ...");
    spec_.repeat = repeat_of(section("repeat"), spec_.path);
  }

  /// The scalars of a list, or the one scalar.
  std::vector<Param> values(const Leaf& leaf, const std::string& name) const {
    const toml::array* list = leaf.node->as_array();
    if (list == nullptr) return {{scalar_of(*leaf.node, name, leaf.where), leaf.where}};
    std::vector<Param> found;
    for (const toml::node& element : *list) {
      const Location where = location_of(element, spec_.path);
      found.push_back({scalar_of(element, "a value of " + name, where), where});
    }
    return found;
  }

  void read_axes() {
    for (const Leaf& leaf : leaves("axes", "")) {
      spec_.axes.push_back({leaf.key, values(leaf, "axes." + leaf.key), leaf.where});
      check_axis("axes." + leaf.key, spec_.axes.back().values, leaf.where);
      if (is_section(leaf.key.substr(0, leaf.key.find('.')))) {
        fail_at(leaf.where, in_quotes(leaf.key) + " cannot be an axis");
      }
      const auto fixed = spec_.base.find(leaf.key);
      if (fixed == spec_.base.end()) continue;
      fail_at(fixed->second.where,
              leaf.key + " is an axis (" + to_text(leaf.where) + ") and is set here as well");
    }
  }

  /// The tables of [[name]].
  std::vector<const toml::table*> blocks(const std::string& name) const {
    std::vector<const toml::table*> found;
    const toml::node* node = root_.get(name);
    if (node == nullptr) return found;
    const std::string want = name + " must be written as [[" + name + "]], found ";
    const toml::array* list = node->as_array();
    if (list == nullptr) fail_at(location_of(*node, spec_.path), want + describe(*node));
    for (const toml::node& element : *list) {
      found.push_back(element.as_table());
      if (found.back() != nullptr) continue;
      fail_at(location_of(element, spec_.path), want + describe(element));
    }
    return found;
  }

  /// Splits a block into its axes and its other keys.
  Point point(const toml::table& block) const {
    Point point{location_of(block, spec_.path), {}, {}};
    for (const Leaf& leaf : leaves_of(block, spec_.path)) {
      if (spec_.find_axis(leaf.key) == nullptr) {
        if (leaf.node->is_array()) {
          fail_at(leaf.where, leaf.key +
                                  " is not an axis and must be a single value, found an array" +
                                  suggestion(leaf.key, names_of(spec_.axes)));
        }
        point.others[leaf.key] = {scalar_of(*leaf.node, leaf.key, leaf.where), leaf.where};
        continue;
      }
      point.on_axes.push_back({leaf.key, values(leaf, leaf.key)});
      if (!point.on_axes.back().any_of.empty()) continue;
      fail_at(leaf.where, leaf.key + " must list at least one value");
    }
    return point;
  }

  std::vector<Value> values_on(const Axis& axis) const {
    std::vector<Value> all;
    for (const Param& param : axis.values) all.push_back(param.value);
    for (const Include& include : spec_.includes) {
      for (const Condition& condition : include.point) {
        if (condition.axis != axis.name) continue;
        for (const Param& param : condition.any_of) all.push_back(param.value);
      }
    }
    return all;
  }

  void check_values(const std::vector<Condition>& conditions) const {
    for (const Condition& condition : conditions) {
      const std::vector<Value> allowed = values_on(*spec_.find_axis(condition.axis));
      for (const auto& [value, where] : condition.any_of) {
        const auto is_found = [&, &value = value](const Value& each) {
          return same_value(each, value);
        };
        if (std::ranges::none_of(allowed, is_found))
          fail_at(where, must_be_one_of(condition.axis, allowed, value));
      }
    }
  }

  void read_includes() {
    for (const toml::table* block : blocks("include")) {
      auto [where, on_axes, others] = point(*block);
      for (const Condition& each : on_axes) check_axis(each.axis, each.any_of, where);
      spec_.includes.push_back({std::move(on_axes), std::move(others), where});
    }
  }

  void read_excludes() {
    for (const toml::table* block : blocks("exclude")) {
      auto [where, on_axes, others] = point(*block);
      ParamReader reader(others, spec_.path);
      if (!reader.has("reason")) fail_at(where, "[[exclude]] must give a reason = \"...\"");
      const std::string reason = reader.text("reason", "");
      for (const auto& [key, param] : others) {
        if (key == "reason") continue;
        const std::vector<std::string> names = names_of(spec_.axes);
        fail_at(param.where, "[[exclude]] names " + in_quotes(key) +
                                 ", which is not an axis; axes: " + listed(names) +
                                 suggestion(key, names));
      }
      if (on_axes.empty()) fail_at(where, "[[exclude]] must name at least one axis");
      check_values(on_axes);
      spec_.excludes.push_back({std::move(on_axes), reason, where});
    }
  }

  void read_overrides() {
    for (const toml::table* block : blocks("override")) {
      auto [where, on_axes, others] = point(*block);
      if (on_axes.empty()) fail_at(where, "[[override]] must name at least one axis");
      if (others.empty()) fail_at(where, "[[override]] must set at least one parameter");
      check_values(on_axes);
      spec_.overrides.push_back({std::move(on_axes), std::move(others), where});
    }
  }

  void read_tune() {
    if (!root_.contains("tune")) return;
    std::map<std::string, std::vector<Param>> given;
    for (const Leaf& leaf : leaves("tune", "tune.")) given[leaf.key] = values(leaf, leaf.key);
    spec_.tune = tune_of(given, spec_.path);
  }

  const toml::table& root_;
  SweepSpec spec_;
};

}  // namespace

const Axis* SweepSpec::find_axis(std::string_view wanted) const {
  const auto found = std::ranges::find(axes, wanted, &Axis::name);
  return found == axes.end() ? nullptr : &*found;
}

SweepSpec parse_spec(std::string text, const std::string& path) {
  const toml::table root = parse_toml_text(text, path);
  SweepSpec spec = SpecParser(root, path).parse();
  spec.text = std::move(text);
  return spec;
}

SweepSpec load_spec(const std::string& path) { return parse_spec(read_file(path), path); }

}  // namespace sweep
