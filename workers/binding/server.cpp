#include "workers/binding/server.hpp"

#include <algorithm>
#include <sstream>

#include "sweeps/definition/cell.hpp"
#include "workers/binding/key_groups.hpp"
#include "workers/binding/placeholders.hpp"

namespace worker {
namespace {

constexpr int kUsualLength = 16384;  // as for other backends
const std::string kServer = "server.", kProfile = "server.profile", kProfiles = "server.profile.",
                  kEnvironment = "server.env.", kRequest = "server.request.",
                  kHeader = "server.header.";

/// "NAME" and "flags" of "server.profile.NAME.flags".
std::pair<std::string, std::string> parts_of_profile_key(const std::string& key) {
  const std::string rest = key.substr(kProfiles.size());
  const std::size_t dot = rest.find('.');
  return {rest.substr(0, dot), dot == std::string::npos ? "" : rest.substr(dot + 1)};
}

void check_profile_key(const std::string& key, const sweep::Param& param) {
  const auto [name, what] = parts_of_profile_key(key);
  const std::string full = kServer + what;
  const bool free =
      full.starts_with(kEnvironment) || full.starts_with(kRequest) || full.starts_with(kHeader);
  if (what == "sim" || free || (sweep_keys().has(full) && full != kProfile)) return;
  std::vector<std::string> known = {"sim"};
  for (const std::string& each : sweep_keys().names())
    if (each.starts_with(kServer) && each != kProfile) known.push_back(each.substr(kServer.size()));
  throw sweep::SpecError(sweep::to_text(param.where) + ": a server's profile cannot set \"" + what +
                         '"' + sweep::suggestion(what, known) + "; it sets " +
                         sweep::joined(known) + ", env.NAME, header.NAME and request.FIELD");
}

[[noreturn]] void fail_unknown_profile(const sweep::ParamMap& params,
                                       const std::set<std::string>& known) {
  const sweep::Param& chosen = params.at(kProfile);
  const std::vector<std::string> names(known.begin(), known.end());
  throw sweep::SpecError(sweep::to_text(chosen.where) + ": there is no table [server.profile." +
                         sweep::bare_text(chosen.value) + "] with a key" +
                         sweep::suggestion(sweep::bare_text(chosen.value), names) +
                         (names.empty() ? "" : "; there are " + sweep::joined(names)) +
                         "; a profile that changes nothing says so by `flags = \"\"`");
}

/// The cell's parameters without tables [server.profile.NAME], the named one's values in their
/// place.
sweep::ParamMap with_server_profile(sweep::ParamMap params) {
  const std::string chosen = chosen_profile(params);
  std::set<std::string> known;
  sweep::ParamMap merged;
  for (const auto& [key, param] : params) {
    if (!key.starts_with(kProfiles)) merged.emplace(key, param);
  }
  for (const auto& [key, param] : params) {
    if (!key.starts_with(kProfiles)) continue;
    check_profile_key(key, param);
    const auto [name, what] = parts_of_profile_key(key);
    known.insert(name);
    if (name != chosen || what == "sim") continue;
    const auto [first, added] = merged.emplace(kServer + what, param);
    if (!added)
      throw sweep::SpecError(sweep::to_text(first->second.where) + ": " + first->first +
                             " is set here and by the profile " + name + ", at " +
                             sweep::to_text(param.where) + ": write it in one of them");
  }
  if (!chosen.empty() && !known.contains(chosen)) fail_unknown_profile(params, known);
  return merged;
}

void bind_chain(ParamBinder& in, const server::ServerConfig& config) {
  const server::Kind kind = config.kind;
  const std::string chain = in.text("server.chain");
  const bool is_vllm = kind == server::Kind::vllm;
  if (chain == "forced" && kind != server::Kind::llamacpp && !is_vllm)
    in.fail("server.chain", "can be \"forced\" for server.kind \"llamacpp\" and \"vllm\" alone");
  const auto has_processor = [](const std::string& word) {
    return word.find("kvsweep_forced") != std::string::npos;
  };
  if (chain == "forced" && is_vllm && config.url.empty() &&
      std::ranges::none_of(config.command, has_processor))
    in.fail("server.chain",
            "is \"forced\", which vLLM needs --logits-processors kvsweep_forced:ForcedTokens for, "
            "and analysis/python in server.env.PYTHONPATH");
  if (chain == "generated" && kind == server::Kind::openai)
    in.fail("server.chain",
            "must not be \"generated\" for server.kind \"openai\", which sends no "
            "token ids");
}

void bind_reset(ParamBinder& in, const server::ServerConfig& config) {
  const bool owned = config.url.empty();
  const std::string reset = in.text("server.reset");
  if (reset == "restart" && !owned)
    in.fail("server.reset", "cannot be \"restart\" for a server that is not started here");
  if (reset == "auto" && !owned && config.kind == server::Kind::openai)
    in.fail(
        "server.reset",
        "must be \"none\" for server.kind \"openai\" at server.url: the OpenAI API cannot empty "
        "a server's caches");
}

/// Takes server.* out of a cell's parameters, placeholders filled.
class ServerBinder {
 public:
  ServerBinder(ParamBinder& in, const sweep::ParamMap& params)
      : in_(in), params_(params), config_(*in.config.server) {}

  void bind() {
    for (const char* key : {"server.profile", "server.version", "server.model"}) in_.text(key);
    config_.kind_name = in_.text("server.kind");
    config_.model_file = in_.file("server.model_file");
    bind_place();
    bind_environment();
    bind_headers();
    bind_request();
    bind_chain(in_, config_);
    bind_reset(in_, config_);
    in_.record("policy", config_.profile.empty() ? config_.kind_name : config_.profile);
  }
  const std::set<std::string>& used() const { return used_; }

 private:
  std::string model() const {
    return config_.model_file.empty() ? config_.model : config_.model_file;
  }

  Placeholders placeholders(std::set<std::string> kept) {
    return Placeholders(in_, std::move(kept), model(), used_);
  }

  void bind_place() {
    const std::string command = in_.text("server.command");
    in_.text("server.url");
    const std::string flags = in_.text("server.flags");
    const std::string prefix = in_.text("server.prefix");
    if (command.empty() == config_.url.empty())
      in_.fail(command.empty() ? "server.kind" : "server.url",
               "needs exactly one of server.command and server.url");
    while (config_.url.ends_with('/')) config_.url.pop_back();
    if (!config_.url.empty() && !config_.url.starts_with("http"))
      in_.fail("server.url", "must begin with http:// or https://");
    if (!config_.url.empty()) return refuse_ours(flags, prefix);
    if (command.find("{port}") == std::string::npos)
      in_.fail("server.command", "must say where the server listens, by the placeholder {port}");
    std::string whole = command;
    const std::string hole = "{server.flags}";
    const std::size_t at = whole.find(hole);
    if (at != std::string::npos)
      whole.replace(at, hole.size(), flags);
    else if (!flags.empty())
      in_.fail("server.flags", "needs {server.flags} in server.command");
    bind_words(whole, prefix);
  }

  /// Refuses settings that only a server which is started here can obey.
  void refuse_ours(const std::string& flags, const std::string& prefix) {
    const char* const kRuns = "has no effect on the server at server.url, which runs already";
    if (!flags.empty()) in_.fail("server.flags", kRuns);
    if (!prefix.empty()) in_.fail("server.prefix", kRuns);
    for (const auto& [key, param] : params_)
      if (key.starts_with(kEnvironment)) in_.fail(key, kRuns);
  }

  std::vector<std::string> words_of(const std::string& key, const std::string& text) const {
    try {
      return shell_words(text);
    } catch (const std::invalid_argument& error) {
      in_.fail(key, error.what());
    }
  }

  void bind_words(const std::string& command, const std::string& prefix) {
    Placeholders fill = placeholders({"port"});
    config_.command = words_of("server.prefix", prefix);
    std::vector<std::string> identity;
    for (const std::string& word : words_of("server.command", command)) {
      config_.command.push_back(fill.filled("server.command", word));
      identity.push_back(fill.identified("server.command", word));
    }
    in_.record("server.command", without_paths(identity));
  }

  void bind_environment() {
    Placeholders fill = placeholders({"port"});
    for (const auto& [key, param] : params_) {
      if (!key.starts_with(kEnvironment)) continue;
      const std::string text = sweep::bare_text(in_.free(key));
      config_.environment[key.substr(kEnvironment.size())] = fill.filled(key, text);
      in_.record(key, without_paths({fill.identified(key, text)}));
    }
  }

  /// refuse_secrets() has seen that these are names of variables, which no archive needs.
  void bind_headers() {
    constexpr std::string_view kFrom = "env:";
    for (const auto& [key, param] : params_)
      if (key.starts_with(kHeader))
        config_.headers[key.substr(kHeader.size())] =
            sweep::bare_text(in_.free(key)).substr(kFrom.size());
  }

  /// Fields of a turn's body whose values the trace and the sweep's own keys give.
  void refuse_own_field(const std::string& key) {
    const std::string field = key.substr(kRequest.size());
    const std::string_view top = std::string_view(field).substr(0, field.find('.'));
    for (const std::string_view own : {"prompt", "input_ids", "model", "stream", "max_tokens",
                                       "min_tokens", "n_predict", "max_new_tokens", "ignore_eos"})
      if (top == own) in_.fail(key, "is a field that every turn has already: kvsweep fills it in");
  }

  void bind_request() {
    Placeholders fill = placeholders(
        {"job.id", "job.index", "turn.index", "turn.last", "tool.name", "gap.expected_s"});
    for (const auto& [key, param] : params_) {
      if (!key.starts_with(kRequest)) continue;
      refuse_own_field(key);
      sweep::Value value = in_.free(key);
      if (const auto* text = std::get_if<std::string>(&value)) value = fill.typed(key, *text);
      config_.request[key.substr(kRequest.size())] = value;
      in_.record(key, value);
    }
  }

  ParamBinder& in_;
  const sweep::ParamMap& params_;
  server::ServerConfig& config_;
  std::set<std::string> used_;
};

/// Keys that mean nothing to a server are errors, except those of other backends.
void reject_engine_keys(ParamBinder& in, const sweep::ParamMap& params) {
  for (const auto& [key, param] : params) {
    if (key.starts_with("sim.") || key.starts_with("weights.") || key.starts_with("record.")) {
      in.free(key);
      continue;
    }
    if (!sweep_keys().has(key) || in.asked(key)) continue;
    if (key == "policy")
      in.fail(key, "names a built-in policy, which a server does not know: write server.profile");
    if (key.starts_with("engine.") || key.starts_with("policy.") || key == "dram_gib")
      in.fail(key, "has no effect on backend server unless a placeholder {" + key +
                       "} passes it on, in server.command, server.flags, server.env or "
                       "server.request");
  }
}

}  // namespace

std::string chosen_profile(const sweep::ParamMap& params) {
  const auto chosen = params.find(kProfile);
  return chosen == params.end() ? "" : sweep::bare_text(chosen->second.value);
}

const sweep::Param* policy_without_server(const sweep::ParamMap& params) {
  auto found = params.find("policy");
  if (found == params.end()) found = params.find(kProfiles + chosen_profile(params) + ".sim");
  return found == params.end() ? nullptr : &found->second;
}

void refuse_values_of_servers_alone(const sweep::ParamMap& written, const std::string& backend) {
  const std::string key = "env.KVSWEEP_POLICY_SET";
  for (const std::string& full : {kServer + key, kProfiles + chosen_profile(written) + '.' + key}) {
    const auto found = written.find(full);
    if (found == written.end()) continue;
    std::istringstream words(sweep::bare_text(found->second.value));
    for (std::string word; words >> word;) {
      const std::string name = word.substr(0, word.find('='));
      if (written.contains("policy." + name)) continue;
      throw sweep::SpecError(sweep::to_text(found->second.where) + ": " + full + " sets " + name +
                             ", which backend " + backend + " knows only as policy." + name +
                             ": write " + name + "={policy." + name + "}, and policy." + name);
    }
  }
}

bool server_names(const sweep::ParamMap& params, const std::string& key) {
  const std::string own = kProfiles + chosen_profile(params) + '.';
  return std::ranges::any_of(params, [&](const auto& each) {
    const auto& [name, param] = each;
    const auto* text = std::get_if<std::string>(&param.value);
    const bool counts =
        name.starts_with(own) || (name.starts_with(kServer) && !name.starts_with(kProfiles));
    return counts && text != nullptr && std::ranges::count(placeholders_in(*text), key) > 0;
  });
}

BoundCell bind_server_cell(const sweep::ParamMap& cell, const std::string& document,
                           std::int64_t arrival_seed, Profiles& profiles) {
  const sweep::ParamMap params = with_server_profile(cell);
  ParamBinder in(params, document);
  in.record_backend("server");
  in.record("schema", sweep::kSchema);
  in.record("repeat.seed", arrival_seed);
  ExperimentConfig& config = in.config;
  config.gpu = in.profile("gpu", profiles, &Profiles::gpu);
  config.model = in.profile("model", profiles, &Profiles::model_config).shape;
  config.cost_model = "kernels";  // where no policy stands for it in a plan
  config.engine.kv.num_blocks = static_cast<int>(
      backends::kv_pool_tokens(config.gpu, config.model) / config.engine.kv.block_size + 1);
  in.integer("engine.max_model_len", std::min(kUsualLength, config.model.max_context));
  config.server.emplace();
  ServerBinder binder(in, params);
  binder.bind();
  config.server->vocabulary =
      static_cast<std::uint32_t>(in.integer("server.vocabulary", config.model.vocab));
  bind_match(in, config);
  bind_block_bytes(config);
  bind_steps(in, *config.server);
  config.server->max_model_len = config.engine.scheduler.max_model_len;
  bind_workload(in, static_cast<int>(config.server->vocabulary));
  in.take_all();
  set_arrival_seed(config, arrival_seed);
  config.policy_name =
      config.server->profile.empty() ? config.server->kind_name : config.server->profile;
  reject_engine_keys(in, params);
  in.reject_unknown();
  require_priorities(in, *config.server);
  require_last_turns(in, *config.server);
  BoundCell bound = bound_cell(in);
  bound.counting.insert(binder.used().begin(), binder.used().end());
  return bound;
}

}  // namespace worker
