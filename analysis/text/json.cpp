#include "analysis/text/json.hpp"

#include <cerrno>
#include <ostream>
#include <system_error>

namespace analysis {

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_line(const Json& json, std::ostream& out) {
  errno = 0;
  out << text_of(json) << '\n';
  check_written(out);
}

void check_written(const std::ostream& out) {
  if (out) return;
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), "writing");
}

void flush_checked(std::ostream& out) {
  errno = 0;
  out.flush();
  check_written(out);
}

}  // namespace analysis
