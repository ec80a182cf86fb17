#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace server {

/// An answer of a server that cannot be understood, or that ended too early.
struct BadAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A server's text for messages: at most so many bytes of it, without control characters.
std::string shown(std::string_view text, std::size_t most = 300);

/// Splits a stream of server-sent events into their data, however the bytes arrive: lines end with
/// LF, CR LF or CR, the "data" lines of an event are joined with LF, an empty line ends the event.
/// Comments and other fields are skipped, and so is an event that the end of the stream cuts off.
/// An event of the type "error" is the server's report of one.
class SseParser {
 public:
  using OnData = std::function<void(std::string_view data)>;

  /// Throws BadAnswer when an event is longer than kMostEventBytes or reports an error.
  void feed(std::string_view bytes, const OnData& on_data);
  /// Whether an event has begun, or a line has, that nothing has ended.
  bool inside_event() const { return has_data_ || !line_.empty(); }

  static constexpr std::size_t kMostEventBytes = std::size_t{16} << 20;

 private:
  void end_line(std::string_view line, const OnData& on_data);

  std::string line_;  // the part of a line that has arrived
  std::string data_;
  bool has_data_ = false, is_error_ = false;
  std::size_t mark_ = 0;   // bytes of a byte order mark that have come
  bool after_cr_ = false;  // an LF now belongs to the line that has ended
};

/// A page of metrics in Prometheus' text format.
class MetricsPage {
 public:
  /// Lines that are no samples are skipped.
  explicit MetricsPage(std::string_view text);

  bool has(const std::string& name) const { return series_.contains(name); }
  /// The sum of a metric's series whose labels contain `label`, e.g. `source="device"`; NaN where
  /// there is none, and infinity where one is no number.
  double sum(const std::string& name, std::string_view label = {}) const;
  /// The value of a label of the metric's first series; empty where it has none.
  std::string label(const std::string& name, const std::string& label) const;

 private:
  std::map<std::string, std::map<std::string, double>> series_;  // by name, then labels
};

}  // namespace server
