#include "tests/server/world.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.hpp"

namespace support {
namespace {

/// The folder that llama-server-sandbox made; empty without one. Where the tool is beside the
/// checkout, it is run once.
std::string sandbox() {
  const char* named = std::getenv("LLAMA_SERVER_SANDBOX");
  const std::string folder = named != nullptr ? named : "/tmp/kvsweep-llama-server";
  if (std::filesystem::exists(folder + "/.complete")) return folder;
  const auto tool = shared_path("tools/llama-server-sandbox");
  if (!tool) return {};
  const std::string command = tool->string() + ' ' + folder + " >/dev/null 2>&1";
  return std::system(command.c_str()) == 0 ? folder : "";
}

}  // namespace

bool ServerWorld::llama(const std::string& words) {
  static const std::string kFolder = sandbox();
  if (kFolder.empty()) return false;
  set("server.kind", "llamacpp").set("server.version", "unknown");
  set("server.model_file", kFolder + "/tiny.gguf");
  put("server.vocabulary", std::int64_t{259});
  set("server.command", kFolder + "/llama-server -m {model} --host 127.0.0.1 --port {port} -t 1 " +
                            "--metrics --slots --no-ui --offline " + words);
  // The version is whatever the sandbox brought.
  const std::string failure = this->failure();
  const std::size_t from = failure.find("reports \"");
  if (from == std::string::npos) return false;
  const std::size_t begin = from + 9;
  set("server.version", failure.substr(begin, failure.find('"', begin) - begin));
  return true;
}

int ServerWorld::starts() const {
  std::ifstream log(this->log());
  int starts = 0;
  for (std::string line; std::getline(log, line);) starts += line.starts_with("scripted server");
  return starts;
}

double figure(const sweep::CellResult& result, const std::string& name) {
  for (const sweep::Figure& each : result.figures)
    if (each.name == name) return each.value;
  throw std::out_of_range(name);
}

std::string note(const sweep::CellResult& result, const std::string& name) {
  for (const sweep::Note& each : result.notes)
    if (each.name == name) return each.text;
  return {};
}

void check_times(const sweep::CellResult& cell) {
  const sweep::Table& turns = cell.turns;
  const auto &arrive = turns.values<double>("t_arrive_s"), &late = turns.values<double>("late_s"),
             &first = turns.values<double>("t_first_token_s"),
             &finish = turns.values<double>("t_finish_s");
  for (std::size_t i = 0; i < turns.rows(); ++i) {
    CHECK(late[i] >= 0);
    CHECK(arrive[i] + late[i] < first[i]);
    CHECK(first[i] <= finish[i]);
  }
}

}  // namespace support
