#include "sweeps/definition/figure.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/messages.hpp"

using namespace sweep;
using Texts = std::vector<std::string>;

namespace {

/// The figures of a file f.toml that stands beside the sweep "mine".
std::vector<ChartSpec> figures_in(const std::string& text, const std::string& source = "") {
  support::TempDir folder;
  const ParamMap params = load_flat_toml(folder.write("f.toml", text));
  return figures_of(params, "f.toml", "mine", source);
}

ChartSpec figure_in(const std::string& text) {
  const auto figures = figures_in(text);
  REQUIRE(figures.size() == 1);
  return figures.front();
}

/// What the parser says, from the file's name on.
std::string refusal(const std::string& text) {
  const std::string message = message_of([&] { figures_in(text); });
  const std::size_t file = message.find("f.toml");
  return file == std::string::npos ? message : message.substr(file);
}

/// A sound figure with one more line, which is line 4 of the file.
std::string with(const std::string& line) {
  return "[figure.a]\nx = \"k\"\ny = \"forwards\"\n" + line + "\n";
}

}  // namespace

TEST_CASE("a figure that gives only what it must shows cells of its own sweep as lines",
          "[figure]") {
  const ChartSpec figure = figure_in("[figure.rate]\nx = \"workload.n\"\ny = \"forwards\"\n");
  CHECK(figure.name == "rate");
  CHECK(figure.title == "rate");
  CHECK(figure.experiments == Texts{"mine"});
  CHECK(figure.over == ChartSpec::Over::cells);
  CHECK(figure.draw == ChartSpec::Draw::lines);
  CHECK(figure.x == Texts{"workload.n"});
  CHECK(figure.x_name == "workload.n");
  CHECK(figure.y_name == "forwards");
  CHECK(figure.series.empty());
  CHECK_FALSE((figure.log_x || figure.log_y));
  CHECK(figure.first == 0);
  CHECK(figure.published.empty());
}

TEST_CASE("a figure takes every key that there is", "[figure]") {
  const ChartSpec figure = figure_in(R"([figure."3a"]
title = "Rates"
source = "a paper"
note = "An input."
experiment = "one | other"
over = "forwards"
draw = "bars"
x = "gpu model"
series = "policy"
panel = "workload.n workload.arrivals"
x_name = "card"
y = "n_tok"
y_name = "tokens"
log = "xy"
first = 7
where.workload.n = 200
where.policy = "fcfs | mixed"
)");
  CHECK(figure.name == "3a");
  CHECK(figure.title == "Rates");
  CHECK(figure.source == "a paper");
  CHECK(figure.note == "An input.");
  CHECK(figure.experiments == Texts{"one", "other"});
  CHECK(figure.over == ChartSpec::Over::forwards);
  CHECK(figure.draw == ChartSpec::Draw::bars);
  CHECK(figure.x == Texts{"gpu", "model"});
  CHECK(figure.series == Texts{"policy"});
  CHECK(figure.panel == Texts{"workload.n", "workload.arrivals"});
  CHECK(figure.x_name == "card");
  CHECK(figure.y_name == "tokens");
  CHECK((figure.log_x && figure.log_y));
  CHECK(figure.first == 7);
  CHECK(figure.where.at("workload.n") == Texts{"200"});
  CHECK(figure.where.at("policy") == Texts{"fcfs", "mixed"});
}

TEST_CASE("figures come in the order written, whatever their names, and other keys are left alone",
          "[figure]") {
  const auto figures = figures_in(
      "source = \"all of it\"\n[figure.b]\nx = \"k\"\ny = \"f\"\n[other]\nx = 1\n"
      "[figure.a]\nover = \"time\"\n[figure.c]\nover = \"requests\"\n",
      "all of it");
  REQUIRE(figures.size() == 3);
  CHECK(figures[0].name == "b");
  CHECK(figures[1].name == "a");
  CHECK(figures[1].over == ChartSpec::Over::time);
  CHECK(figures[2].over == ChartSpec::Over::requests);
  for (const ChartSpec& figure : figures) CHECK(figure.source == "all of it");
}

TEST_CASE("published values keep their place by the names shown, dots included", "[figure]") {
  const ChartSpec figure =
      figure_in(with("published.A100 = { 16 = 900, 64 = 1600.5 }\n"
                     "published.\"200 at once\".\"A100 PCIe\" = { \"llama-3.1-8b\" = 3 }"));
  std::map<std::string, double> places;
  for (const PublishedPoint& point : figure.published) places[point.place] = point.y;
  CHECK(places.at("A100.16") == 900);
  CHECK(places.at("A100.64") == 1600.5);
  CHECK(places.at("200 at once.A100 PCIe.llama-3.1-8b") == 3);
}

TEST_CASE("values are shown by their names, a star standing for any text", "[figure]") {
  const ChartSpec figure =
      figure_in(with("series_name = { \"chunked *\" = \"chunks of *\", 0 = \"off\" }\n"
                     "x_value = { \"*\" = \"x*\" }\npanel_name.a = \"b\""));
  CHECK(figure.series_name("chunked 512") == "chunks of 512");
  CHECK(figure.series_name("chunked") == "chunked");
  CHECK(figure.series_name("0") == "off");
  CHECK(figure.series_name("mixed") == "mixed");
  CHECK(figure.x_value("7") == "x7");
  CHECK(figure.panel_name("a") == "b");
  CHECK(figure.panel_name("") == "");
}

TEST_CASE("the first pattern that fits names a value", "[figure]") {
  Renames names;
  names.add("a*z", "1");
  names.add("a*", "2");
  names.add("az", "3");
  CHECK(names("abz") == "1");
  CHECK(names("ab") == "2");
  CHECK(names("az") == "1");
  CHECK(names("a") == "2");
  CHECK(names("b") == "b");
}

TEST_CASE("what stands before and behind a star may not share letters of a value", "[figure]") {
  Renames names;
  names.add("ab*ba", "from * on");
  CHECK(names("aba") == "aba");
  CHECK(names("abba") == "from  on");
  CHECK(names("ab1ba") == "from 1 on");
}

TEST_CASE("each axis is logarithmic by itself", "[figure]") {
  const ChartSpec x = figure_in(with("log = \"x\"")), y = figure_in(with("log = \"y\""));
  CHECK((x.log_x && !x.log_y));
  CHECK((!y.log_x && y.log_y));
}

TEST_CASE("what a figure cannot be is refused at its line", "[figure]") {
  struct Wrong {
    std::string line, said;
  };
  const Wrong all[] = {
      {"over = \"tiem\"",
       "f.toml:4:1: over must be one of \"cells\", \"forwards\", \"time\", "
       "\"requests\", found \"tiem\" (did you mean \"time\"?)"},
      {"draw = \"pie\"",
       "f.toml:4:1: draw must be one of \"lines\", \"bars\", \"table\", found \"pie\""},
      {"log = \"z\"", "f.toml:4:1: log must be one of \"\", \"x\", \"y\", \"xy\", found \"z\""},
      {"title = 3", "f.toml:4:1: title must be a string, found"},
      {"first = -1", "f.toml:4:1: first must be"},
      {"first = \"all\"", "f.toml:4:1: first must be"},
      {"x_nmae = \"n\"", "f.toml:4:1: unknown key \"x_nmae\" (did you mean \"x_name\"?)"},
      {"published.A100 = 3", "f.toml:4:11: published.A100 must be of the form published.SERIES.X"},
      {"published.A100.16 = \"fast\"",
       "f.toml:4:16: published.A100.16 must be a number, found the string \"fast\""},
      {"published.A100.16 = true",
       "f.toml:4:16: published.A100.16 must be a number, found the boolean true"},
  };
  for (const Wrong& wrong : all) {
    INFO(wrong.line);
    CHECK(refusal(with(wrong.line)).substr(0, wrong.said.size()) == wrong.said);
  }
}

TEST_CASE("a figure that does not say what it shows is refused where it begins", "[figure]") {
  CHECK(refusal("# a\n[figure.a]\ny = \"forwards\"\n") ==
        "f.toml:3:1: figure a must give x: the key that its cells differ in");
  CHECK(refusal("[figure.a]\nx = \"k\"\n") ==
        "f.toml:2:1: figure a must give y: what it shows of a cell");
  CHECK(refusal("[figure.a]\nover = \"forwards\"\n") ==
        "f.toml:2:1: figure a must give y: what it shows of a cell");
  CHECK(refusal("[figure.a]\nover = \"time\"\n") == "no error");
}

TEST_CASE("a figure of a file that is no sweep must name its experiment", "[figure]") {
  support::TempDir folder;
  const ParamMap params =
      load_flat_toml(folder.write("f.toml", "[figure.a]\nx = \"k\"\ny = \"f\"\n"));
  const std::string message = message_of([&] { figures_of(params, "f.toml", "", ""); });
  CHECK(message.ends_with("f.toml:2:1: figure a must name its experiment"));
}

TEST_CASE("a key right below [figure] is no figure", "[figure]") {
  CHECK(refusal("[figure]\nx = \"k\"\n") ==
        "f.toml:2:1: a figure is written as [figure.NAME], found the key figure.x");
}
