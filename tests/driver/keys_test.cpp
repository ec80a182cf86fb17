// The table of sweep keys, and what follows from it.
#include "driver/commands/keys.hpp"

#include <map>
#include <sstream>

#include "driver/command_line/options.hpp"
#include "tests/support/catch.hpp"
#include "workers/binding/param_binder.hpp"

using Catch::Matchers::Contains;
using worker::Key;
using worker::KeyTable;

namespace {

const Key kPatience = {"test.patience_s", worker::Real{0, 60, "s"},
                       worker::Default{worker::Default::Kind::value, "5", 5.0, 7.0},
                       policies::is("test.mood", {"calm", "tired"}), "How long the test waits."};
const Key kMood = {"test.mood", worker::OneOf{{"calm", "tired", "angry"}},
                   worker::Default{worker::Default::Kind::value, "calm", "calm", "angry"},
                   worker::kAlways, "What the test feels."};

/// kvsweep's own table, and two rows more.
KeyTable table_with_test_rows() {
  std::vector<Key> rows = worker::sweep_key_rows();
  rows.push_back(kMood);
  rows.push_back(kPatience);
  return KeyTable(rows);
}

/// A cell's settings, taken by a binder that knows the two keys.
class TestCell {
 public:
  TestCell& set(const std::string& key, sweep::Value value) {
    params_[key] = {std::move(value), {"cell.toml", static_cast<int>(params_.size()) + 1, 1}};
    return *this;
  }
  double patience() const { return bound().second; }
  std::map<std::string, sweep::Value> identity() const { return bound().first; }
  std::string refusal() const {
    try {
      bound();
    } catch (const sweep::SpecError& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  std::pair<std::map<std::string, sweep::Value>, double> bound() const {
    static const KeyTable table = table_with_test_rows();
    worker::ParamBinder in(params_, "cell.toml", table);
    in.text("test.mood");
    const double patience = in.number("test.patience_s");
    in.reject_unknown();
    return {in.identity(), patience};
  }

  sweep::ParamMap params_;
};

sweep::Value text(const char* words) { return std::string(words); }

std::string printed(void (*print)(const std::vector<const Key*>&, std::ostream&),
                    const KeyTable& table, const std::string& prefix) {
  std::ostringstream out;
  print(driver::keys_with(table, prefix), out);
  return std::move(out).str();
}

}  // namespace

TEST_CASE("a key that is one row of the table is bound with its default, range and place") {
  CHECK(TestCell().patience() == 5);
  CHECK(TestCell().set("test.patience_s", 12.5).patience() == 12.5);
  CHECK(TestCell().set("test.patience_s", std::int64_t{61}).refusal() ==
        "cell.toml:1:1: test.patience_s must be between 0 and 60, found 61");
  CHECK(TestCell().set("test.mood", text("clam")).refusal() ==
        "cell.toml:1:1: test.mood must be one of \"calm\", \"tired\", \"angry\", found \"clam\" "
        "(did you mean \"calm\"?)");
}

TEST_CASE(
    "a key is part of a cell's identity where it has an effect, unless its value is neutral") {
  using Identity = std::map<std::string, sweep::Value>;
  CHECK(TestCell().identity() == Identity{{"test.mood", text("calm")}, {"test.patience_s", 5.0}});
  CHECK(TestCell().set("test.patience_s", 7.0).identity() == Identity{{"test.mood", text("calm")}});
  CHECK(TestCell().set("test.mood", text("angry")).identity() == Identity{});
}

TEST_CASE("a misspelled key is compared with the whole table") {
  CHECK(TestCell().set("test.patence_s", 1.0).refusal() ==
        "cell.toml:1:1: unknown key \"test.patence_s\" (did you mean \"test.patience_s\"?)");
  for (const char* rate : {"workload.rate", "rate", "workload.arrival_rate", "load.qps"})
    CHECK_THAT(TestCell().set(rate, std::int64_t{3}).refusal(), Contains("did you mean \"jps\"?"));
  CHECK_THAT(TestCell().set("workload.job", std::int64_t{1}).refusal(),
             Contains("did you mean \"workload.jobs\"?"));
}

TEST_CASE("a key that is one row of the table is printed and completed") {
  const KeyTable table = table_with_test_rows();
  CHECK(printed(driver::print_keys, table, "test.p") ==
        "test.patience_s\n"
        "    How long the test waits.\n"
        "    default: 5 s; allowed: 0-60 s\n"
        "    counts where test.mood is calm or tired\n");
  CHECK_THAT(printed(driver::print_keys_markdown, table, "test."),
             Contains("| `test.patience_s` | 5 s | 0-60 s | How long the test waits. | test.mood "
                      "is calm or tired |"));
  for (const std::string shell : {"bash", "zsh"}) {
    const std::string script = driver::completion_script(shell, table);
    CHECK_THAT(script, Contains(" test.patience_s "));
    CHECK_THAT(script, Contains("test.mood) values=\"calm tired angry\""));
  }
}

TEST_CASE("a prefix that no key has is refused with the nearest key") {
  CHECK_THROWS_WITH(driver::keys_with(worker::sweep_keys(), "polcy.order"),
                    "no key contains \"polcy.order\" (did you mean \"policy.order\"?)");
}

TEST_CASE("every row has a sentence, a default that it allows, and a condition on known keys") {
  for (const Key& key : worker::sweep_keys().keys()) {
    INFO(key.name);
    CHECK(key.says.ends_with('.'));
    CHECK(key.says.find('|') == std::string::npos);
    for (const auto& clause : key.where.clauses)
      for (const policies::KeyTest& test : clause) {
        INFO(test.key);
        CHECK((test.key == "backend" || worker::sweep_keys().has(test.key)));
      }
    if (!key.fallback.value) continue;
    const sweep::ParamMap given = {{key.name, {*key.fallback.value, {"row", 0, 0}}}};
    const KeyTable alone({Key{key.name, key.type, worker::required(), worker::kAlways, ""}});
    worker::ParamBinder in(given, "row", alone);
    if (std::holds_alternative<worker::Whole>(key.type)) CHECK_NOTHROW(in.integer(key.name));
    if (std::holds_alternative<worker::Real>(key.type)) CHECK_NOTHROW(in.number(key.name));
    if (std::holds_alternative<worker::Flag>(key.type)) CHECK_NOTHROW(in.boolean(key.name));
    if (std::holds_alternative<worker::OneOf>(key.type) ||
        std::holds_alternative<worker::AnyText>(key.type))
      CHECK_NOTHROW(in.text(key.name));
  }
}

TEST_CASE("a condition depends on the values of other keys and can be put into words") {
  using policies::is, policies::is_not, policies::is_set;
  const worker::Condition condition =
      is("a.kind", {"x", "y"}) && (is_not("a.size", 0) || is_set("a.file"));
  CHECK(worker::in_words(condition) == "a.kind is x or y and (a.size is not 0 or a.file is set)");
  using worker::AnyText, worker::kAlways, worker::required;
  const KeyTable table({{"a.file", AnyText{}, required(), kAlways, ""},
                        {"a.kind", worker::OneOf{{"x", "y", "z"}}, required(), kAlways, ""},
                        {"a.size", worker::Real{0, 1}, required(), kAlways, ""},
                        {"b", AnyText{}, required(), condition, ""}});
  const auto holds = [&](const std::map<std::string, sweep::Value>& values) {
    return table.counting(table.number_of("b"), [&](std::size_t number) -> const sweep::Value* {
      const auto found = values.find(table.names()[number]);
      return found == values.end() ? nullptr : &found->second;
    }) != nullptr;
  };
  CHECK(holds({{"a.kind", text("y")}, {"a.size", 0.5}}));
  CHECK_FALSE(holds({{"a.kind", text("z")}, {"a.size", 0.5}}));
  CHECK_FALSE(holds({{"a.kind", text("x")}, {"a.size", std::int64_t{0}}}));
  CHECK_FALSE(holds({{"a.kind", text("x")}, {"a.size", 0.0}, {"a.file", text("")}}));
  CHECK(holds({{"a.kind", text("x")}, {"a.size", 0.0}, {"a.file", text("f")}}));
}

TEST_CASE("the page of keys has a row for each key, in the section of its name") {
  std::istringstream page(printed(driver::print_keys_markdown, worker::sweep_keys(), ""));
  std::map<std::string, std::string> section_of;
  std::size_t rows = 0;
  for (std::string line, section; std::getline(page, line);) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (!line.starts_with("| `")) continue;
    section_of[line.substr(3, line.find('`', 3) - 3)] = section;
    ++rows;
  }
  CHECK(rows == worker::sweep_keys().keys().size());
  for (const Key& key : worker::sweep_keys().keys()) {
    INFO(key.name);
    const std::size_t dot = key.name.find('.');
    CHECK(section_of[key.name] == (dot == std::string::npos ? std::string("Without a section")
                                                            : '[' + key.name.substr(0, dot) + ']'));
  }
}
