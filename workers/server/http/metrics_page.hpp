#pragma once
#include <map>
#include <string>
#include <string_view>

namespace server {

/// A page of metrics in Prometheus' text format.
class MetricsPage {
 public:
  /// Lines that are no samples are skipped.
  explicit MetricsPage(std::string_view text);

  bool has(const std::string& name) const { return series_.contains(name); }
  /// The sum of a metric's series whose labels contain `label`, e.g. `source="device"`; NaN where
  /// there is none.
  double sum(const std::string& name, std::string_view label = {}) const;
  /// The value of a label of the metric's first series; empty where it has none.
  std::string label(const std::string& name, const std::string& label) const;

 private:
  std::map<std::string, std::map<std::string, double>> series_;  // by name, then labels
};

}  // namespace server
