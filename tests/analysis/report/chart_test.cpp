#include "analysis/report/chart.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

using analysis::Chart;
using analysis::ChartPanel;
using analysis::Places;
using nlohmann::json;

namespace {

using Texts = std::vector<std::string>;

analysis::ChartSeries series_of(const char* name, std::vector<double> x, std::vector<double> y) {
  analysis::ChartSeries series;
  series.name = series.policy = name;
  series.x = std::move(x);
  series.y = std::move(y);
  return series;
}

json written(const Chart& chart) { return json::parse(json_of(chart).dump()); }

}  // namespace

TEST_CASE("places ascend where all are numbers, and keep their order where some are names",
          "[chart]") {
  const Places numbers({"512", "16", "128", "16"});
  CHECK(numbers.is_numeric);
  CHECK(numbers.texts == Texts{"16", "128", "512"});
  CHECK(numbers.at("128") == 128);
  CHECK(numbers.axis("tokens").names.empty());
  const Places names({"off", "8192", "32"});
  CHECK_FALSE(names.is_numeric);
  CHECK(names.at("32") == 2);
  CHECK(names.axis("window").names == Texts{"off", "8192", "32"});
  CHECK_FALSE(Places({}).is_numeric);
}

TEST_CASE("numbers side by side are names of places, and still ascend", "[chart]") {
  const Places bars({"64", "8"}, true);
  CHECK(bars.axis("n").names == Texts{"8", "64"});
  CHECK(bars.at("64") == 1);
}

TEST_CASE("a chart is written with what was observed, and an x once for series that share it",
          "[chart]") {
  Chart chart;
  chart.id = "queue";
  chart.kind = "MODELLED (sim)";
  chart.at = {{"rate", "6"}};
  ChartPanel& panel = chart.panel();
  panel.x.name = "time [s]";
  panel.y.log = 10;
  panel.series = {series_of("fcfs", {1, 2}, {3, NAN}), series_of("pin", {1, 2}, {1234567.8, 0.1}),
                  series_of("far", {1, 9}, {0, 0})};
  const json made = written(chart);
  CHECK(made["at"] == json{{"rate", "6"}});
  const json& series = made["panels"][0]["series"];
  CHECK(series[0]["y"] == json::parse("[3, null]"));
  CHECK_FALSE(series[1].contains("x"));
  CHECK(series[1]["y"][0] == 1234570);  // six digits
  CHECK(series[2]["x"] == json::parse("[1, 9]"));
  CHECK(made["panels"][0]["y"]["log"] == 10);
}
