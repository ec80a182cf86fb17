#include "analysis/compare/export_rows.hpp"

#include <cmath>
#include <numeric>

#include "analysis/digest/statistics.hpp"
#include "analysis/text/text_table.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {
namespace {

using sweep::Column;

/// A value of a column; null if there is no column.
struct Source {
  const Column* column;

  Json operator()(std::size_t row) const {
    if (column == nullptr) return nullptr;
    if (std::ranges::equal(column->enum_names, sweep::enum_names(true)))
      return std::get<std::vector<std::int8_t>>(column->data)[row] != 0;
    if (!column->enum_names.empty()) return sweep::name_in(*column, row);
    return std::visit([&](const auto& values) { return Json(values[row]); }, column->data);
  }
};

std::string csv_of(const Json& value) {
  if (value.is_string()) return csv_text(value.get_ref<const std::string&>());
  if (value.is_number_float()) return exact_number(value.get<double>());
  if (value.is_boolean()) return std::string(sweep::enum_names(true)[value.get<bool>() ? 1 : 0]);
  return value.is_null() ? "" : value.dump();
}

using Values = std::vector<double>;

/// The requests that both benchmarks report. One without a last token did not complete.
struct Requests {
  Values ttft_ms, latency_ms, per_token_ms, prompt, output;
  double first_s = 0, last_s = 0;           // of the first request's start and the last token
  double between_ms = 0, later_tokens = 0;  // of all requests: from the first token to the last

  double duration_s() const { return last_s - first_s; }
  double count() const { return static_cast<double>(latency_ms.size()); }
};

Requests requests_of(const sweep::Table& turns) {
  Requests requests;
  for (sweep::TableRow turn{turns, 0}; turn.row < turns.rows(); ++turn.row) {
    const double arrive = turn.number("t_arrive_s"), first = turn.number("t_first_token_s"),
                 finish = turn.number("t_finish_s");
    const std::int32_t output = turn.count("output_tok");
    if (std::isnan(finish)) continue;
    if (requests.latency_ms.empty()) requests.first_s = arrive;
    requests.first_s = std::min(requests.first_s, arrive);
    requests.last_s = std::max(requests.last_s, finish);
    requests.ttft_ms.push_back(1e3 * (first - arrive));
    requests.latency_ms.push_back(1e3 * (finish - arrive));
    requests.prompt.push_back(turn.count("prompt_tok"));
    requests.output.push_back(output);
    if (output < 2) continue;
    const double between_ms = 1e3 * (finish - first);
    requests.per_token_ms.push_back(between_ms / (output - 1));
    requests.between_ms += between_ms;
    requests.later_tokens += output - 1;
  }
  return requests;
}

double total_of(const Values& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// Population standard deviation, as numpy's std().
double spread_of(const Values& values) {
  return std::sqrt(deviation(values) / static_cast<double>(values.size()));
}

/// A whole number; null for NaN.
Json whole(double value) {
  return std::isnan(value) ? Json() : Json(static_cast<std::int64_t>(value));
}

Json number(const char* unit, double value) { return {{"unit", unit}, {"avg", value}}; }

Json distribution(const char* unit, const Values& values) {
  Json json = number(unit, mean(values));
  for (const int percent : {1, 5, 10, 25, 50, 75, 90, 95, 99})
    json['p' + std::to_string(percent)] = percentile(values, percent);
  json["min"] = percentile(values, 0);
  json["max"] = percentile(values, 100);
  json["std"] = spread_of(values);
  json["count"] = values.size();
  json["sum"] = total_of(values);
  return json;
}

void add_milliseconds(Json& json, const std::string& name, const Values& values) {
  json["mean_" + name + "_ms"] = mean(values);
  json["median_" + name + "_ms"] = percentile(values, 50);
  json["std_" + name + "_ms"] = spread_of(values);
  for (const int percent : {90, 99})
    json['p' + std::to_string(percent) + '_' + name + "_ms"] = percentile(values, percent);
}

}  // namespace

RowExporter::RowExporter(const sweep::Table& schema, bool numbered, ExportFormat format,
                         std::ostream& out)
    : numbered_(numbered), format_(format), out_(out) {
  for (const Column& column : schema.columns) names_.push_back(column.name);
  if (format == ExportFormat::jsonl) return;
  std::string header = numbered ? "cell" : "";
  for (const std::string& name : names_) header += (header.empty() ? "" : ",") + csv_text(name);
  out << header << "\r\n";
  check_written(out);
}

void RowExporter::write(const sweep::Table& rows, std::int32_t cell) {
  std::vector<Source> sources;
  for (const std::string& name : names_)
    sources.push_back({rows.has(name) ? &rows.column(name) : nullptr});
  for (const Column& column : rows.columns)
    if (std::ranges::find(names_, column.name) == names_.end())
      throw sweep::TableError(rows.name + " of a cell has the column " + column.name +
                              ", which other cells lack");
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    if (format_ == ExportFormat::jsonl) {
      Json line = Json::object();
      if (numbered_) line["cell"] = cell;
      for (std::size_t i = 0; i < names_.size(); ++i) line[names_[i]] = sources[i](row);
      write_line(line, out_);
      continue;
    }
    const char* comma = numbered_ ? "," : "";
    if (numbered_) out_ << cell;
    for (const Source& source : sources) {
      out_ << comma << csv_of(source(row));
      comma = ",";
    }
    out_ << "\r\n";
    check_written(out_);
  }
}

Json as_aiperf(const ConfiguredCell& cell, const sweep::Table& turns) {
  const Requests requests = requests_of(turns);
  const double seconds = requests.duration_s();
  Values per_user;
  for (const double each : requests.per_token_ms) per_user.push_back(1e3 / each);
  return {{"schema_version", "1.4"},
          {"request_throughput", number("requests/sec", requests.count() / seconds)},
          {"request_latency", distribution("ms", requests.latency_ms)},
          {"request_count", number("requests", requests.count())},
          {"time_to_first_token", distribution("ms", requests.ttft_ms)},
          {"inter_token_latency", distribution("ms", requests.per_token_ms)},
          {"output_token_throughput", number("tokens/sec", total_of(requests.output) / seconds)},
          {"output_token_throughput_per_user", distribution("tokens/sec/user", per_user)},
          {"output_sequence_length", distribution("tokens", requests.output)},
          {"input_sequence_length", distribution("tokens", requests.prompt)},
          {"total_osl", number("tokens", total_of(requests.output))},
          {"total_isl", number("tokens", total_of(requests.prompt))},
          {"benchmark_duration", number("sec", seconds)},
          {"was_cancelled", false},
          {"kvsweep",
           {{"cell", cell.record->index},
            {"label", cell.record->label},
            {"seed", cell.record->seed},
            {"figures", figures_kind(cell)}}}};
}

Json as_vllm_bench(const ConfiguredCell& cell, const sweep::Table& turns) {
  const Requests requests = requests_of(turns);
  const double seconds = requests.duration_s(), prompt = total_of(requests.prompt),
               output = total_of(requests.output);
  Json json = {{"backend", "kvsweep, " + figures_kind(cell)},
               {"model_id", shown(cell.value("model"))},
               {"label", cell.record->label},
               {"num_prompts", turns.rows()},
               {"max_concurrency", whole(number_of(cell.value("workload.live")))},
               {"duration", seconds},
               {"completed", requests.latency_ms.size()},
               {"total_input_tokens", whole(prompt)},
               {"total_output_tokens", whole(output)},
               {"request_throughput", requests.count() / seconds},
               {"output_throughput", output / seconds},
               {"total_token_throughput", (prompt + output) / seconds}};
  add_milliseconds(json, "ttft", requests.ttft_ms);
  add_milliseconds(json, "tpot", requests.per_token_ms);
  json["mean_itl_ms"] = requests.between_ms / requests.later_tokens;
  add_milliseconds(json, "e2el", requests.latency_ms);
  return json;
}

}  // namespace analysis
