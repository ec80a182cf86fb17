#include "workers/backends/cuda/forward/gemm_table.hpp"

#include <unistd.h>

#include <cctype>
#include <fstream>
#include <sstream>
#include <system_error>

#include "workers/engine/base/errors.hpp"

namespace backends::cuda {
namespace {

std::string file_name(std::string text) {
  for (char& c : text)
    c = std::isalnum(static_cast<unsigned char>(c)) || c == '.' ? static_cast<char>(std::tolower(c))
                                                                : '-';
  return "gemm-" + text + ".txt";
}

/// "16 6144 4096 6144 0 0 1a 2b ...": the key in decimal, the algorithm in hexadecimal.
template <class Entries>
bool read_entry(const std::string& line, Entries& entries) {
  std::istringstream in(line);
  typename Entries::key_type key;
  typename Entries::mapped_type algorithm;
  for (int& number : key) in >> number;
  in >> std::hex;
  for (std::uint64_t& word : algorithm) in >> word;
  std::string more;
  if (!in || in >> more) return false;
  entries[key] = algorithm;
  return true;
}

}  // namespace

GemmTable::GemmTable(const std::filesystem::path& folder, const std::string& device,
                     const std::string& library)
    : file_(folder / file_name(device + ' ' + library)),
      title_("matrix products of " + device + " with " + library) {
  if (std::filesystem::exists(file_)) read();
}

void GemmTable::read() {
  std::ifstream in(file_);
  constexpr std::size_t kShown = 80;  // characters of a line
  const auto fail = [&](int line, const std::string& found) {
    throw engine::InputError(file_.string() + ':' + std::to_string(line) +
                             ": not a table of algorithms of matrix products, found \"" +
                             found.substr(0, kShown) +
                             "\"; delete the file, and it is measured again");
  };
  if (!in) throw engine::InputError(file_.string() + ": cannot be read");
  std::string line;
  std::getline(in, line);
  if (line != title_) fail(1, line);
  for (int number = 2; std::getline(in, line); ++number)
    if (!read_entry(line, algorithms_)) fail(number, line);
}

std::optional<GemmTable::Algorithm> GemmTable::find(const Key& key) const {
  const auto found = algorithms_.find(key);
  if (found == algorithms_.end()) return std::nullopt;
  return found->second;
}

void GemmTable::insert(const Key& key, const Algorithm& algorithm) {
  algorithms_[key] = algorithm;
  changed_ = true;
}

void GemmTable::save() {
  if (file_.empty() || !changed_) return;
  std::error_code none;
  std::filesystem::create_directories(file_.parent_path(), none);
  const std::filesystem::path fresh = file_.string() + '.' + std::to_string(getpid());
  std::ofstream out(fresh);
  out << title_ << '\n';
  for (const auto& [key, algorithm] : algorithms_) {
    out << std::dec;
    for (const int number : key) out << number << ' ';
    out << std::hex;
    for (std::size_t i = 0; i < algorithm.size(); ++i)
      out << algorithm[i] << (i + 1 < algorithm.size() ? ' ' : '\n');
  }
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(fresh, file_, error);
  if (!out || error)
    throw engine::InputError("cannot write " + file_.string() +
                             ", where algorithms of matrix products are kept");
  changed_ = false;
}

}  // namespace backends::cuda
