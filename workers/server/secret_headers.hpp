#pragma once
#include <map>
#include <string>
#include <vector>

namespace server {

/// Headers of every request whose values this process's environment gives. Nothing that is told of
/// a server may hold the values, also where a server sends them back.
class SecretHeaders {
 public:
  /// By header, the variable that holds its value. Throws std::runtime_error for one that is not
  /// set, and for a value that is no line.
  explicit SecretHeaders(const std::map<std::string, std::string>& variables);

  /// "Name: value" of each.
  const std::vector<std::string>& lines() const { return lines_; }
  /// The text with the values replaced, also one that the end of the text cuts off.
  std::string redacted(std::string text) const;

 private:
  std::vector<std::string> lines_, secrets_;
};

}  // namespace server
