#include "workers/server/session.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "workers/server/step_log.hpp"
#include "workers/server/streams.hpp"

namespace server {
namespace {

using engine::Nanos;

constexpr Nanos kLongestControl = std::chrono::seconds(60);

/// Whether a server could listen on this port of this machine.
bool is_free(int port) {
  const sweep::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(static_cast<std::uint16_t>(port));
  return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

/// A port that nothing listens on. Workers of a machine, whose process ids differ, begin their
/// search apart, so that none takes what another has chosen and not yet used. The system gives
/// connections ports above these.
int free_port() {
  constexpr int kFirst = 20'000, kPorts = 12'000, kApart = 31;
  const int start = static_cast<int>(std::int64_t{::getpid()} * kApart % kPorts);
  for (int i = 0; i < kPorts; ++i) {
    const int port = kFirst + (start + i) % kPorts;
    if (is_free(port)) return port;
  }
  throw std::runtime_error("no port from 20000 to 31999 is free for a server");
}

std::string with_port(std::string text, const std::string& port) {
  constexpr std::string_view kPort = "{port}";
  for (std::size_t at = 0; (at = text.find(kPort, at)) != std::string::npos; at += port.size())
    text.replace(at, kPort.size(), port);
  return text;
}

std::int64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

/// The last lines of a file, from `start` on, with " | " between them.
std::string last_lines(const std::string& path, std::int64_t start) {
  constexpr std::int64_t kMostBytes = 4096;
  constexpr std::size_t kMostLines = 3;
  std::ifstream file(path, std::ios::binary);
  file.seekg(std::max(start, size_of(path) - kMostBytes));
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
    if (lines.size() > kMostLines) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " | ") + line;
  return text;
}

/// Ids that look random and depend on the seed alone.
std::vector<engine::TokenId> made_prompt(int tokens, std::uint64_t seed, std::uint32_t vocabulary) {
  constexpr std::uint32_t kSpecial = 3;  // the first ids of many vocabularies end texts
  const std::uint32_t range = vocabulary > 2 * kSpecial ? vocabulary - kSpecial : 1;
  std::vector<engine::TokenId> ids;
  for (int i = 0; i < tokens; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's MMIX
    ids.push_back(kSpecial % vocabulary + static_cast<std::uint32_t>(seed >> 33) % range);
  }
  return ids;
}

Secrets secrets_of(const ServerConfig& config) {
  try {
    return Secrets(config.headers, config.environment);
  } catch (const std::runtime_error& missing) {
    throw WrongServer(missing.what());  // nothing is measured until it is set
  }
}

std::string ends_with_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

Session::Session(const ServerConfig& config, const Place& place)
    : config_(config),
      place_(place),
      secrets_(secrets_of(config)),
      dialect_(make_dialect(config.kind)),
      http_(clock_, secrets_.lines()) {
  try {
    if (config_.url.empty())
      launch();
    else
      url_ = config_.url;
    wait_until_ready();
    check_facts();
    check_sizes();
    check_metrics();
    warm_up();
    check_step_log();
  } catch (const BadAnswer& error) {
    require_alive(kUntilItsEndIsKnown);
    throw ServerFailed(with_log(std::string("the server: ") + error.what()));
  }
  require_alive();  // and no other process answered in its place
}

void Session::launch() {
  port_ = free_port();
  ++launches_;
  const std::string port = std::to_string(port_);
  Launch launch;
  for (const std::string& word : config_.command) launch.words.push_back(with_port(word, port));
  for (const auto& [name, value] : secrets_.environment())
    launch.environment.push_back(name + '=' + with_port(value, port));
  if (!place_.devices.empty())
    launch.environment.push_back("CUDA_VISIBLE_DEVICES=" + place_.devices);
  if (config_.steps) {
    namespace fs = std::filesystem;
    step_log_ = fs::absolute(fs::path(place_.log).replace_extension(".steps.jsonl"));
    fs::remove(step_log_);  // of another server
    launch.environment.push_back("KVSWEEP_STEPS=" + step_log_);
  }
  launch.log = place_.log;
  log_start_ = size_of(place_.log);
  url_ = "http://127.0.0.1:" + port;
  process_.emplace(launch);
}

void Session::wait_until_ready() {
  constexpr Nanos kBetween = std::chrono::milliseconds(50);
  const Nanos deadline = clock_.now() + engine::from_seconds(config_.ready_s);
  while (true) {
    const HttpAnswer answer = fetch_for(std::chrono::seconds(5), dialect_->health_path(), {});
    if (moved_to_another_port()) continue;
    require_alive();
    if (answer.ok()) return;
    const Nanos now = clock_.now();
    if (now > deadline || (!owned() && answer.end.status == 0)) {
      const std::string waited = owned() ? " within server.ready_s" : "";
      throw ServerFailed(
          with_log("the server at " + url_ + " is not ready" + waited + ": " + answer.problem()));
    }
    clock_.wait_until(now + kBetween);
  }
}

bool Session::moved_to_another_port() {
  constexpr int kMostLaunches = 3;
  if (!process_ || launches_ == kMostLaunches) return false;
  const bool lost = process_->ended() && !is_free(port_);
  if (!lost && !process_->other_listener(port_)) return false;
  process_.reset();
  launch();
  return true;
}

/// The sweep file says which version and model its results are of; another must not be measured.
void Session::check_facts() {
  facts_ =
      dialect_->facts([this](const std::string& path,
                             const std::optional<std::string>& body) { return fetch(path, body); },
                      config_);
  const bool known = !facts_.version.empty() && !config_.version.empty();
  if (known && facts_.version != config_.version)
    throw WrongServer("server.version is \"" + config_.version + "\", but the server reports \"" +
                      facts_.version + '"');
  const bool by_file = config_.kind == Kind::llamacpp && !config_.model_file.empty();
  const std::string wanted = by_file ? ends_with_name(config_.model_file) : config_.model;
  if (wanted.empty() || facts_.models.empty()) return;
  std::string found;
  for (const std::string& each : facts_.models) {
    if ((by_file ? ends_with_name(each) : each) == wanted) return;
    found += (found.empty() ? "" : ", ") + each;
  }
  throw WrongServer("the server is for another model: it serves " + found + ", not " + wanted);
}

/// Sizes that it does not report are those of its flags.
void Session::check_sizes() {
  if (!config_.match) return;
  const auto wanted = config_.match->named(), found = facts_.sizes.named();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].second && found[i].second && wanted[i].second != found[i].second)
      throw WrongServer(std::string("server.match: engine.") + wanted[i].first + " is " +
                        std::to_string(*wanted[i].second) + ", but the server reports " +
                        std::to_string(*found[i].second));
}

void Session::check_metrics() {
  const std::vector<std::string> required = dialect_->required_metrics();
  if (required.empty()) return;
  const HttpAnswer answer = fetch("/metrics");
  has_metrics_ = answer.ok();
  if (!has_metrics_) return;
  const MetricsPage page(answer.body);
  for (const std::string& name : required)
    if (!page.has(name))
      throw ServerFailed("the server's page /metrics lacks " + name +
                         ", which kvsweep reads: it is of a version that kvsweep does not know");
}

void Session::check_step_log() {
  if (step_log_.empty()) return;
  try {
    read_step_log(step_log_, 0, monotonic_s());
  } catch (const std::runtime_error& error) {
    throw ServerFailed(with_log(std::string("server.steps: ") + error.what()));
  }
}

/// Compilation and allocation happen at the first prompts of a size.
void Session::warm_up() {
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round)
    for (const int tokens : {16, 256, 2048}) ask(tokens, ++probes_);
}

Answer Session::ask(int tokens, std::uint64_t seed) {
  constexpr int kOutput = 4;
  const int room = std::max(1, config_.max_model_len - kOutput);
  const auto prompt = made_prompt(std::min(tokens, room), seed, config_.vocabulary);
  TurnCall call;
  call.job_id = "kvsweep-probe-" + std::to_string(seed);
  call.last = true;
  call.max_tokens = kOutput;
  call.prompt = prompt;
  try {
    return answer_of(call);
  } catch (const TurnFailed& failed) {
    throw BadAnswer(dialect_->turn_path() + ": " + failed.what());
  }
}

Answer Session::answer_of(const TurnCall& call) {
  constexpr Nanos kBetweenLooks = std::chrono::milliseconds(100);
  TurnStreams streams(http_, *dialect_, config_, url_);
  streams.start(call, 0, clock_.now(), kLongestControl);  // it may wait for a compilation
  while (true) {
    http_.run_until(clock_.now() + kBetweenLooks);
    if (place_.stop.stop_requested()) throw StartAbandoned();
    const std::vector<EndedTurn> ended = streams.take_ended();
    if (!ended.empty()) {
      http_.run_until(clock_.now() + kBetweenLooks);  // the connection may end by itself
      return ended.front().answer;
    }
    streams.check_silence(clock_.now());
  }
}

std::vector<engine::TokenId> Session::forcible(const std::vector<engine::TokenId>& ids) {
  if (dialect_->forces_every_token()) return ids;
  constexpr std::size_t kMostAtOnce = 256;
  std::vector<engine::TokenId> untried, can;
  for (const engine::TokenId id : ids)
    if (!forcible_.contains(id)) untried.push_back(id);
  for (std::size_t at = 0; at < untried.size();) {
    const auto some = std::span(untried).subspan(at, std::min(kMostAtOnce, untried.size() - at));
    const std::size_t good = forced_until(some);
    for (const engine::TokenId id : some.first(good)) forcible_[id] = true;
    at += good;
    if (good < some.size()) forcible_[untried[at++]] = false;
  }
  for (const engine::TokenId id : ids)
    if (forcible_.at(id)) can.push_back(id);
  return can;
}

std::size_t Session::forced_until(std::span<const engine::TokenId> ids) {
  const auto prompt = made_prompt(1, ++probes_, config_.vocabulary);
  TurnCall call;
  call.job_id = "kvsweep-forced-" + std::to_string(probes_);
  call.max_tokens = static_cast<int>(ids.size());
  call.prompt = prompt;
  call.forced = ids;
  try {
    answer_of(call);
    return ids.size();
  } catch (const TurnFailed& failed) {
    const bool one_cannot = std::string_view(failed.what()).find("grammar") != std::string::npos &&
                            failed.tokens < call.max_tokens;
    if (one_cannot) return static_cast<std::size_t>(failed.tokens);
    throw ServerFailed(
        with_log("server.chain \"forced\": the server cannot be asked which tokens "
                 "it can be made to generate: " +
                 std::string(failed.what())));
  }
}

bool Session::empty_caches(Reset how, const std::stop_token& stop) {
  place_.stop = stop;
  if (how == Reset::none) return true;
  if (how == Reset::restart) return false;
  constexpr int kProbe = 1024;  // several KV blocks, and several chunks of LMCache
  const std::uint64_t seed = ++probes_;
  try {
    ask(kProbe, seed);
    for (int i = dialect_->prompts_to_displace(facts_); i > 0; --i) ask(16, ++probes_);
    const bool said =
        dialect_->reset([this](const std::string& path, const std::optional<std::string>& body) {
          return fetch(path, body);
        });
    return said && ask(kProbe, seed).cached_tokens == 0;
  } catch (const BadAnswer&) {
    return false;
  }
}

void Session::require_alive(std::chrono::milliseconds patience) {
  if (!process_) return;
  if (const auto end = process_->ended(patience))
    throw ServerFailed(with_log("the server ended: " + *end));
}

std::string Session::with_log(const std::string& what) const {
  const std::string lines = owned() ? last_lines(place_.log, log_start_) : "";
  const std::string told = secrets_.redacted(what);
  return lines.empty() ? told
                       : told + "; the end of " + place_.log + ": " + secrets_.redacted(lines);
}

HttpAnswer Session::fetch(const std::string& path, const std::optional<std::string>& body) {
  return fetch_for(kLongestControl, path, body);
}

HttpAnswer Session::fetch_for(Nanos longest, const std::string& path,
                              const std::optional<std::string>& body) {
  const auto stopped = [this] { return place_.stop.stop_requested(); };
  HttpAnswer answer =
      http_.fetch({url_ + path, body.value_or(""), body.has_value()}, longest, stopped);
  if (stopped()) throw StartAbandoned();
  answer.body = secrets_.redacted(std::move(answer.body));
  return answer;
}

}  // namespace server
