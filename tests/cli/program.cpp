#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace support {
namespace {

namespace fs = std::filesystem;

/// What a started program finds open, and where.
class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  void write_to(int descriptor, const std::string& path) {
    posix_spawn_file_actions_addopen(&actions_, descriptor, path.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  void run_in(const std::string& folder) {
    posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

std::string from_base64(const std::string& text) {
  static const std::string digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int held = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(digit));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xffu);
  }
  return bytes;
}

int exit_code_of(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) throw std::runtime_error("waitpid failed");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Program::Program() { write("tiny.toml", kTinySweep); }

Outcome Program::run(const std::vector<std::string>& words, const std::string& out_path) const {
  const TempDir said;
  const std::string out = out_path.empty() ? (said.path() / "out").string() : out_path;
  const std::string err = (said.path() / "err").string();
  SpawnActions actions;
  actions.write_to(STDOUT_FILENO, out);
  actions.write_to(STDERR_FILENO, err);
  actions.run_in(folder_.path().string());

  std::vector<std::string> all = {KVSWEEP_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t process = 0;
  if (posix_spawn(&process, KVSWEEP_PROGRAM, actions.get(), nullptr, argv.data(), environ) != 0)
    throw std::runtime_error("cannot start " KVSWEEP_PROGRAM);
  const int exit_code = exit_code_of(process);
  return {exit_code, out_path.empty() ? text_of(out) : "", text_of(err)};
}

std::string Program::read(const std::string& name) const { return text_of(folder_.path() / name); }

std::string Program::page(const std::string& folder) const {
  if (exists(folder + "/report.json")) return read(folder + "/report.json");
  const std::string text = read(folder + "/index.html");
  const std::string mark = R"({"deflated":")";
  const std::size_t at = text.find(mark);
  if (at == text.npos) return text;
  const std::size_t first = at + mark.size(), last = text.find('"', first);
  const std::string packed = from_base64(text.substr(first, last - first));
  std::string data(64 * packed.size(), '\0');
  uLongf size = data.size();
  if (uncompress(reinterpret_cast<Bytef*>(data.data()), &size,
                 reinterpret_cast<const Bytef*>(packed.data()), packed.size()) != Z_OK)
    throw std::runtime_error(folder + "/index.html holds data that zlib does not inflate");
  return text + data.substr(0, size);
}

std::vector<std::string> Program::names_in(const std::string& name) const {
  std::vector<std::string> names;
  if (!exists(name)) return names;
  for (const auto& entry : fs::directory_iterator(folder_.path() / name))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<nlohmann::json> rows_of(const Program& program, const std::string& archive,
                                    const std::string& table) {
  std::vector<nlohmann::json> rows;
  const Outcome found = program.run({"export", archive, "--table", table, "--format", "jsonl"});
  for (const std::string& line : lines_of(found.out)) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

}  // namespace support
