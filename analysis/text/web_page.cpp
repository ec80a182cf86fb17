#include "analysis/text/web_page.hpp"

#include <openssl/evp.h>
#include <zlib.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <system_error>

#include "analysis/text/json.hpp"

namespace analysis {
namespace {

constexpr std::string_view kOpening = R"(<script type="application/json" id="kvsweep-data">)";
constexpr std::string_view kNothing = "null";

std::string read_page(const std::filesystem::path& page) {
  std::ifstream in(page, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad())
    throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), page.string());
  return text;
}

/// Position of the null: in the last match, since code of the page may name the element as well.
std::size_t find_data(const std::string& text, const std::filesystem::path& page) {
  const std::size_t opening = text.rfind(std::string(kOpening) + std::string(kNothing));
  if (opening == std::string::npos)
    throw std::runtime_error(page.string() + ": not a page for data of kvsweep: it has no " +
                             std::string(kOpening) + std::string(kNothing));
  return opening + kOpening.size();
}

void write_escaped(std::string_view json, std::ostream& out) {
  for (std::size_t end; (end = json.find('<')) != std::string_view::npos;) {
    out << json.substr(0, end) << "\\u003c";
    json.remove_prefix(end + 1);
  }
  out << json;
}

/// Columns of a trace shrink to a fifth at any level; higher levels only take longer.
constexpr int kLevel = 4;

}  // namespace

void write_web_page(const std::filesystem::path& page, std::string_view json, std::ostream& out) {
  const std::string text = read_page(page);
  const std::size_t data = find_data(text, page);
  out << std::string_view(text).substr(0, data);
  write_escaped(json, out);
  out << std::string_view(text).substr(data + kNothing.size());
  flush_checked(out);
}

std::string base64(std::string_view bytes) {
  constexpr std::size_t kPiece = 3U << 20;  // whole groups of three; OpenSSL counts in int
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::string_view piece = bytes.substr(at, kPiece);
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data() + at / 3 * 4),
                    reinterpret_cast<const unsigned char*>(piece.data()),
                    static_cast<int>(piece.size()));
  }
  return text;
}

std::string packed(std::string_view text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::string made(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(made.data()), &size,
                               reinterpret_cast<const Bytef*>(text.data()),
                               static_cast<uLong>(text.size()), kLevel);
  if (status != Z_OK) throw std::runtime_error("zlib: compress2 failed: " + std::to_string(status));
  return base64(std::string_view(made).substr(0, size));
}

}  // namespace analysis
