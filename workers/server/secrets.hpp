#pragma once
#include <map>
#include <string>
#include <vector>

namespace server {

/// Headers of every request to a server, and its variables, from this process's environment.
/// Nothing that is told of a server may hold the values, also where a server sends them back.
class Secrets {
 public:
  using Texts = std::map<std::string, std::string>;

  /// By header, the variable that holds its value; by variable of the server, its value, which may
  /// be "env:VARIABLE". Throws std::runtime_error for one that is not set, and for a value that is
  /// no line.
  Secrets(const Texts& headers, const Texts& environment);

  /// "Name: value" of each header.
  const std::vector<std::string>& lines() const { return lines_; }
  /// The server's variables.
  const Texts& environment() const { return environment_; }
  /// The text with the values replaced, also one that the end of the text cuts off.
  std::string redacted(std::string text) const;

 private:
  std::string taken(const std::string& key, const std::string& variable);

  Texts environment_;
  std::vector<std::string> lines_, secrets_;
};

}  // namespace server
