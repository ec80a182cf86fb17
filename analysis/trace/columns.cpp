#include "analysis/trace/columns.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "analysis/text/packed.hpp"

namespace analysis {
namespace {

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::optional<WholeColumn> whole_doubles(std::span<const double> values, double scale) {
  WholeColumn column{.numbers = {}, .scale = scale, .nothing = std::nullopt};
  column.numbers.reserve(values.size());
  std::int64_t least = 0;
  for (const double value : values) {
    const double number = std::isnan(value) ? 0 : std::rint(value / scale);
    if (!std::isnan(value) &&
        (!(std::abs(number) < double(kLargestPacked)) || number * scale != value ||
         std::signbit(number) != std::signbit(value)))
      return std::nullopt;
    column.numbers.push_back(static_cast<std::int64_t>(number));
    least = std::min(least, column.numbers.back());
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) continue;
    column.nothing = least - 1;
    column.numbers[i] = least - 1;
  }
  return column;
}

template <class T>
std::optional<WholeColumn> whole_integers(const std::vector<T>& values) {
  WholeColumn column{.numbers = {values.begin(), values.end()}, .scale = 1, .nothing = {}};
  const auto large = [](std::int64_t value) {
    return value > kLargestPacked || value < -kLargestPacked;
  };
  if (std::ranges::any_of(column.numbers, large)) return std::nullopt;
  return column;
}

bool counts_up(std::span<const std::int64_t> values) {
  const auto jumps = [](std::int64_t a, std::int64_t b) { return b != a + 1; };
  return values.size() > 1 && std::ranges::adjacent_find(values, jumps) == values.end();
}

}  // namespace

std::optional<WholeColumn> whole(const sweep::Column& column) {
  return std::visit(
      [&](const auto& values) -> std::optional<WholeColumn> {
        using T = typename std::remove_cvref_t<decltype(values)>::value_type;
        if constexpr (std::is_same_v<T, std::string>) {
          return std::nullopt;
        } else if constexpr (std::is_same_v<T, double>) {
          return whole_doubles(values, column.unit == "s" ? 1e-9 : 1.0);
        } else {
          return whole_integers(values);
        }
      },
      column.data);
}

PackedTable::PackedTable(JsonLine& line, std::string_view name, std::size_t rows)
    : line_(line), rows_(rows) {
  line_.key(name).open('{').key("rows").integer(static_cast<std::int64_t>(rows));
  line_.key("columns").open('{');
}

void PackedTable::add(std::string_view name, std::span<const std::int64_t> values) {
  add_whole(name, {.numbers = {values.begin(), values.end()}, .scale = 1, .nothing = {}});
}

void PackedTable::add(const sweep::Column& column) {
  if (!column.enum_names.empty()) this->name(column.name, column.enum_names);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&column.data)) {
    add_texts(column.name, *texts);
  } else if (const auto numbers = whole(column)) {
    add_whole(column.name, *numbers);
  } else if (const auto* doubles = std::get_if<std::vector<double>>(&column.data)) {
    add_doubles(column.name, *doubles);
  } else {
    const auto& large = std::get<std::vector<std::int64_t>>(column.data);
    add_doubles(column.name, std::vector<double>(large.begin(), large.end()));
  }
}

void PackedTable::add_texts(std::string_view name, std::span<const std::string> texts) {
  std::unordered_map<std::string_view, std::int64_t> codes;
  std::vector<std::int64_t> code_of;
  std::vector<std::string_view> different;
  for (const std::string& text : texts) {
    const auto [found, fresh] = codes.try_emplace(text, std::int64_t(different.size()));
    if (fresh) different.push_back(text);
    code_of.push_back(found->second);
  }
  const bool repeat = different.size() * 2 < texts.size();
  line_.key(name);
  if (repeat) line_.open('{').key("texts");
  line_.open('[');
  for (const std::string_view text : different) line_.text(text);
  line_.close(']');
  if (!repeat) return;
  line_.key("codes");
  write_packed(line_, code_of);
  line_.close('}');
}

void PackedTable::add_doubles(std::string_view name, std::span<const double> values) {
  const auto differs = [&](double value) { return !same(value, values.front()); };
  line_.key(name);
  if (values.empty() || std::ranges::any_of(values, differs)) {
    line_.raw(packed_small(values));
  } else {
    line_.open('{').key("same").number(values.front());
    line_.key("rows").integer(static_cast<std::int64_t>(rows_)).close('}');
  }
}

void PackedTable::add_whole(std::string_view name, const WholeColumn& column) {
  if (counts_up(column.numbers) && column.scale == 1) {
    line_.key(name).open('{').key("from").integer(column.numbers.front());
    line_.key("rows").integer(static_cast<std::int64_t>(rows_)).close('}');
    return;
  }
  begin_ints(name, column.numbers, column.scale);
  if (column.nothing) line_.key("none").integer(*column.nothing);
  line_.close('}');
}

void PackedTable::begin_ints(std::string_view name, std::span<const std::int64_t> values,
                             double scale) {
  line_.key(name).open('{').key("ints");
  write_packed(line_, values);
  line_.key("rows").integer(static_cast<std::int64_t>(rows_));
  if (scale != 1) line_.key("scale").number(scale);
}

void PackedTable::add_related(std::string_view name, std::span<const std::int64_t> remainder,
                              double scale, const Relation& relation) {
  begin_ints(name, remainder, scale);
  if (!relation.sum.empty()) {
    line_.key("sum").open('{');
    for (const auto& [column, factor] : relation.sum) line_.key(column).integer(factor);
    line_.close('}');
  }
  if (!relation.within.empty()) line_.key("within").text(relation.within);
  line_.close('}');
}

void PackedTable::name(std::string_view column, const std::vector<std::string>& names) {
  names_.emplace_back(column, &names);
}

void PackedTable::close() {
  line_.close('}').key("names").open('{');
  for (const auto& [column, names] : names_) {
    line_.key(column).open('[');
    for (const std::string& name : *names) line_.text(name);
    line_.close(']');
  }
  line_.close('}').close('}');
}

}  // namespace analysis
