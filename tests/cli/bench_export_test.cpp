#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Program;

namespace {

/// The number behind a key of a line of JSON, from a place on.
double number_at(const std::string& json, const std::string& key, std::size_t from = 0) {
  const std::size_t at = json.find('"' + key + "\":", from);
  REQUIRE(at != std::string::npos);
  return std::stod(json.substr(at + key.size() + 3));
}

/// The columns of a table of CSV without quoted fields that are asked for.
std::vector<std::vector<double>> columns_of(const std::string& csv,
                                            const std::vector<std::string>& names) {
  std::vector<std::string> header;
  std::vector<std::vector<double>> columns(names.size());
  for (const std::string& line : support::lines_of(csv)) {
    std::vector<std::string> fields;
    std::istringstream in(line);
    for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
    if (header.empty()) {
      header = fields;
      continue;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto at = std::ranges::find(header, names[i]) - header.begin();
      const std::string& field = fields[static_cast<std::size_t>(at)];
      columns[i].push_back(field.empty() ? NAN : std::stod(field));
    }
  }
  return columns;
}

double mean_of_observed(const std::vector<double>& values) {
  double sum = 0, n = 0;
  for (const double each : values)
    if (!std::isnan(each)) sum += each, ++n;
  return sum / n;
}

}  // namespace

TEST_CASE("turns are exported as AIPerf and vLLM's benchmark define their fields") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const std::vector<std::string> cell = {"--only", "policy=fcfs"};
  const auto exported = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"export", "a.h5"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), cell.begin(), cell.end());
    return program.run(words).out;
  };
  const auto turns =
      columns_of(exported({"--table", "turns", "--format", "csv"}),
                 {"ttft_s", "tpot_s", "output_tok", "t_arrive_s", "t_first_token_s", "t_finish_s"});
  const double count = static_cast<double>(turns[0].size());
  double tokens = 0, between = 0, first = turns[3][0], last = 0;
  for (std::size_t i = 0; i < turns[0].size(); ++i) {
    tokens += turns[2][i];
    between += turns[5][i] - turns[4][i];
    first = std::min(first, turns[3][i]);
    last = std::max(last, turns[5][i]);
  }

  const std::string aiperf = exported({"--format", "aiperf"});
  CHECK(support::lines_of(aiperf).size() == 1);
  const auto of = [&](const char* metric, const char* key) {
    return number_at(aiperf, key, aiperf.find('"' + std::string(metric) + "\":"));
  };
  CHECK(of("time_to_first_token", "avg") == Approx(1e3 * mean_of_observed(turns[0])));
  CHECK(of("inter_token_latency", "avg") == Approx(1e3 * mean_of_observed(turns[1])));
  CHECK(of("request_count", "avg") == count);
  CHECK(of("benchmark_duration", "avg") == Approx(last - first));
  CHECK(of("output_token_throughput", "avg") == Approx(tokens / (last - first)));
  CHECK_THAT(aiperf, Contains("\"unit\":\"tokens/sec/user\"") && Contains("MODELLED"));

  const std::string vllm = exported({"--format", "vllm-bench"});
  CHECK(number_at(vllm, "mean_tpot_ms") == Approx(1e3 * mean_of_observed(turns[1])));
  CHECK(number_at(vllm, "mean_itl_ms") == Approx(1e3 * between / (tokens - count)));
  CHECK(number_at(vllm, "completed") == count);
  const auto result = nlohmann::json::parse(vllm);
  for (const char* name : {"num_prompts", "completed", "total_input_tokens", "total_output_tokens"})
    CHECK(result.at(name).is_number_integer());
  CHECK(result.at("total_output_tokens") == tokens);
  CHECK(result.at("max_concurrency").is_null());  // jobs arrive
  CHECK(number_at(vllm, "request_throughput") == Approx(count / (last - first)));
}

TEST_CASE("AIPerf's blocks have the fields and units of its schema 1.4") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const auto lines = support::lines_of(program.run({"export", "a.h5", "--format", "aiperf"}).out);
  REQUIRE(lines.size() == 2);
  const auto export_of_cell = nlohmann::json::parse(lines[0]);
  CHECK(export_of_cell.at("schema_version") == "1.4");
  CHECK(export_of_cell.at("was_cancelled").is_boolean());
  // A record is of single requests and has their distribution; others are one number.
  struct Block {
    const char *metric, *unit;
    bool is_record;
  };
  for (const auto& [metric, unit, is_record] :
       {Block{"request_throughput", "requests/sec", false},
        {"request_latency", "ms", true},
        {"request_count", "requests", false},
        {"time_to_first_token", "ms", true},
        {"inter_token_latency", "ms", true},
        {"output_token_throughput", "tokens/sec", false},
        {"output_token_throughput_per_user", "tokens/sec/user", true},
        {"output_sequence_length", "tokens", true},
        {"input_sequence_length", "tokens", true},
        {"total_osl", "tokens", false},
        {"total_isl", "tokens", false},
        {"benchmark_duration", "sec", false}}) {
    const auto& block = export_of_cell.at(metric);
    CAPTURE(metric);
    CHECK(block.at("unit") == unit);
    CHECK(block.at("avg").is_number());
    CHECK(block.size() == (is_record ? 16 : 2));
    if (!is_record) continue;
    for (const char* field :
         {"p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std"})
      CHECK(block.at(field).is_number());
    CHECK(block.at("count").is_number_integer());
    CHECK(block.at("sum").get<double>() ==
          Approx(block.at("avg").get<double>() * block.at("count").get<double>()));
  }
}

TEST_CASE("a format of another benchmark is of turns that are stored, and of no other table") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "s.h5", "--record", "summary"}).exit_code ==
          0);
  const auto lacks = program.run({"export", "s.h5", "--format", "aiperf"});
  CHECK(lacks.exit_code == 2);
  CHECK_THAT(lacks.err, Contains("summary"));
  const auto other = program.run({"export", "s.h5", "--format", "vllm-bench", "--table", "steps"});
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, Contains("--format vllm-bench is of the turns: leave --table out"));
  CHECK_THAT(program.run({"export", "s.h5", "--format", "xml", "--table", "cells"}).err,
             Contains("must be csv, jsonl, aiperf or vllm-bench"));
}
