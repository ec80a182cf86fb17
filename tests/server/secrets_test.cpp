// Secrets of [server] come from the environment: others are refused before they reach an archive,
// and shown nowhere.
#include "workers/server/secrets.hpp"

#include <cstdlib>

#include "sweeps/definition/sweep.hpp"
#include "tests/server/world.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::ServerKeys;

namespace {

ServerKeys vllm(const std::string& words = "") {
  ServerKeys keys;
  keys.set("server.kind", "vllm").set("server.version", "0.30.0").set("server.model", "org/m");
  return keys.set("server.command", "vllm serve --port {port} {server.flags} " + words);
}

std::string refusal(const ServerKeys& keys, const std::string& backend = "server") {
  worker::Profiles profiles("sweeps");
  try {
    worker::bind(keys.params(), backend, 42, profiles);
  } catch (const sweep::SpecError& error) {
    return error.what();
  }
  return "accepted";
}

/// What is said of a line in the table [server] of a sweep file.
std::string said_of(const std::string& line) {
  try {
    sweep::parse_spec("schema = 1\n[server]\n" + line + "\n", "s.toml");
  } catch (const sweep::SpecError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("secrets are refused before they reach an archive, and not shown") {
  struct Secret {
    const char *key, *value;
  };
  const Secret secrets[] = {
      {"server.env.HF_TOKEN", "s3cret"},
      {"server.env.my_api_key", "s3cret"},
      {"server.env.AUTHORIZATION", "s3cret"},
      {"server.env.VLLM_API_KEY_2", "s3cret"},
      {"server.env.PASSPHRASE", "s3cret"},
      {"server.env.AWS_ACCESS_KEY_ID", "s3cret"},
      {"server.env.AWS_SESSION_TOKEN", "s3cret"},
      {"server.env.OPENAI_API_KEY_BACKUP", "s3cret"},
      {"server.env.HF_TOKEN", "env:s3cret value"},
      {"server.profile.other.env.HF_TOKEN", "s3cret"},
      {"server.env.HTTP_PROXY", "http://me:s3cret@proxy:1"},
      {"server.command", "vllm {port} {server.flags} --at http://me:s3cret@host:1"},
      {"server.url", "http://me:s3cret@host:1"},
      {"server.url", "me:s3cret@host"},
      {"server.url", "http://host:1/?token=s3cret"},
      {"server.header.Authorization", "Bearer s3cret"},
      {"server.header.Authorization", "env:s3cret value"},
      {"server.profile.other.header.X-Key", "s3cret"},
  };
  for (const Secret& secret : secrets) {
    INFO(secret.key << " = " << secret.value);
    const ServerKeys keys = vllm().set(secret.key, secret.value);
    CHECK_THAT(refusal(keys), StartsWith("cell.toml:") && Contains(secret.key) &&
                                  Contains("shown") && Contains("env:VAR") && !Contains("s3cret"));
    CHECK_THAT(refusal(keys, "sim"), Contains("shown"));
  }
  CHECK_THAT(refusal(vllm().put("server.env.PASSWORD", std::int64_t{12345678})),
             Contains("shown") && !Contains("12345678"));
}

TEST_CASE("names of other things are accepted, and names of secrets with env:VARIABLE") {
  for (const char* key :
       {"env.VLLM_SERVER_DEV_MODE", "env.PWD", "env.TOKENIZERS_PARALLELISM", "env.MAX_TOKENS",
        "request.max_tokens_x", "request.prompt_cache_key", "request.stop_token"})
    CHECK(refusal(vllm().set("server." + std::string(key), "text")) == "accepted");
  CHECK(refusal(vllm().set("server.env.HF_TOKEN", "env:MY_TOKEN")) == "accepted");
  CHECK(refusal(vllm("--api-key-file f -u http://host:80/v1")) == "accepted");
}

TEST_CASE("variables of a server come from the worker's environment, and are told nowhere") {
  ::unsetenv("KVSWEEP_TEST_TOKEN");
  const std::map<std::string, std::string> variables = {{"HF_TOKEN", "env:KVSWEEP_TEST_TOKEN"},
                                                        {"MODE", "1"}};
  CHECK_THROWS_WITH(server::Secrets({}, variables),
                    StartsWith("server.env.HF_TOKEN: the environment variable "
                               "KVSWEEP_TEST_TOKEN is not set"));
  ::setenv("KVSWEEP_TEST_TOKEN", "s3cret", 1);
  const server::Secrets secrets({}, variables);
  ::unsetenv("KVSWEEP_TEST_TOKEN");
  CHECK(secrets.environment() ==
        std::map<std::string, std::string>{{"HF_TOKEN", "s3cret"}, {"MODE", "1"}});
  CHECK(secrets.redacted("no s3cret here") == "no (a secret) here");
}

TEST_CASE("a secret without quotes, or of a wrong kind, is not shown either") {
  for (const char* line : {"env.VLLM_API_KEY = s3cret", "env = { A = \"b\", HF_TOKEN = s3cret }",
                           "\"env.PASSWORD\" = [\n  s3cret\n]", "[server.env]\nPASSPHRASE = s3cret",
                           "[server.header]\nX-Org = s3cret", "profile.other.header.X-Org = s3cret",
                           "url = http://me:s3cret@host", "env.HF_TOKEN = 4s3cret",
                           "env.HF_TOKEN = \u201cs3cret\u201d"}) {
    INFO(line);
    CHECK_THAT(said_of(line), StartsWith("s.toml:") &&
                                  Contains("must be a text in quotes; what was "
                                           "found is not shown") &&
                                  !Contains("s3cret"));
  }
  CHECK_THAT(said_of("[server.env]\nVLLM_API_KEY = s3cret"),
             Contains(":4:16: server.env.VLLM_API_KEY must be"));
  CHECK_THAT(said_of("model = llama"), Contains("a text must be in quotes: \"llama\""));
}
