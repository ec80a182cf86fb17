// Secrets in [server]: refused before they reach an archive, and shown nowhere.
#include "sweeps/definition/secrets.hpp"
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
      {"server.env.PGPASS", "s3cret"},
      {"server.env.AWS_ACCESS_KEY_ID", "s3cret"},
      {"server.env.AWS_SESSION_TOKEN", "s3cret"},
      {"server.env.MYSQL_PWD", "s3cret"},
      {"server.env.OPENAI_API_KEY_BACKUP", "s3cret"},
      {"server.env.X", "Bearer s3cret-value"},
      {"server.env.X", "hf_s3cretabcdef12"},
      {"server.env.X", "--token s3cret"},
      {"server.request.api_key", "s3cret"},
      {"server.request.token", "s3cret"},
      {"server.request.key", "s3cret"},
      {"server.request.passwd", "s3cret"},
      {"server.request.hf_token", "s3cret"},
      {"server.request.authorization", "s3cret"},
      {"server.request.vllm_xargs.apiKey", "s3cret"},
      {"server.request.user", "sk-s3cret-1234567"},
      {"server.flags", "--api-key s3cret"},
      {"server.flags", "-x --api-key=s3cret"},
      {"server.flags", "--token s3cret"},
      {"server.flags", "-u user:s3cret -x"},
      {"server.flags", "-uuser:s3cret"},
      {"server.flags", "--user=user:s3cret"},
      {"server.flags", "-H 'Authorization: Basic s3cret'"},
      {"server.flags", "-HAuthorization:s3cret"},
      {"server.flags", "--header \"X-Api-Key: s3cret\""},
      {"server.flags", "--header X-Auth-Token=s3cret"},
      {"server.flags", "--config '{\"a\": {\"auth_token\": \"s3cret\"}}'"},
      {"server.flags", "--model http://hub/sk-s3cretabcdef123"},
      {"server.flags", "--model /data/hf_s3cretabcdef123/x"},
      {"server.flags", "--at http://host/?a=b&key=s3cret"},
      {"server.command", "vllm {port} {server.flags} --api_key 's3cret'"},
      {"server.command", "env VLLM_API_KEY=s3cret vllm {port} {server.flags}"},
      {"server.command", "sh -c 'export HF_TOKEN=\"s3cret\"; vllm {port} {server.flags}'"},
      {"server.command", "run --env A=b,HF_TOKEN=s3cret x {port} {server.flags}"},
      {"server.prefix", "run --admin-api-key s3cret"},
      {"server.prefix", "docker run -e HF_TOKEN=s3cret"},
      {"server.profile.other.flags", "--ssl-keyfile-password s3cret"},
      {"server.env.HTTP_PROXY", "http://me:s3cret@proxy:1"},
      {"server.url", "http://me:s3cret@host:1"},
      {"server.url", "me:s3cret@host"},
      {"server.url", "http://host:1/?token=s3cret"},
      {"server.url", "http://host:1/sk-s3cretabcdef123"},
      {"server.url", "http://host:1/sk-proj-s3cretabcdef123"},
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
  CHECK_THAT(refusal(vllm().put("server.request.password", std::int64_t{12345678})),
             Contains("shown") && !Contains("12345678"));
}

TEST_CASE("what only sounds like a secret is accepted") {
  for (const char* words : {"--api-key-file f",
                            "--skip-special-tokens",
                            "--api-key $KEY",
                            "--load-format hf_transfer",
                            "--model sk-learn",
                            "--tokenizer t",
                            "--max-num-batched-tokens 2048",
                            "--long-prefill-token-threshold 4",
                            "--stop-token x",
                            "--sort --key name",
                            "--cache-key model",
                            "python3 -u main.py",
                            "-ub 512",
                            "-u 1000:1000",
                            "-u http://host:80/v1",
                            "--override-kv tokenizer.ggml.add_bos_token=bool:false",
                            "HF_TOKEN_PATH=/run/token",
                            "HF_HUB_DISABLE_IMPLICIT_TOKEN=1",
                            "TOKENIZERS_PARALLELISM=false",
                            "--enable-auth",
                            "--model /models/hf_llama3-8b/sk-experiments-20250101",
                            "-H 'X-Request-Id: 5'",
                            "--json '{\"max_tokens\": 20000, \"key\": \"value\"}'"}) {
    INFO(words);
    CHECK(refusal(vllm(words)) == "accepted");
  }
  for (const char* key :
       {"env.VLLM_SERVER_DEV_MODE", "env.PWD", "env.TOKENIZER", "request.max_tokens_x",
        "request.prompt_cache_key", "request.stop_token", "request.routing_key"})
    CHECK(refusal(vllm().set("server." + std::string(key), "text")) == "accepted");
  CHECK(refusal(vllm().set("server.request.key", "{job.id}")) == "accepted");
  CHECK(refusal(vllm().put("server.request.use_key", true)) == "accepted");
}

TEST_CASE("a secret without quotes, or of a wrong kind, is not shown either") {
  for (const char* line : {"env.VLLM_API_KEY = s3cret", "env = { A = \"b\", HF_TOKEN = s3cret }",
                           "request.api_key = [\"a\", s3cret]", "\"env.PGPASS\" = [\n  s3cret\n]",
                           "[server.env]\nPASSPHRASE = s3cret", "[server.header]\nX-Org = s3cret",
                           "profile.other.header.X-Org = s3cret", "url = sk-s3cretabcdef123",
                           "flags = hf_s3cretabcdef123", "command = VLLM_API_KEY=s3cret",
                           "request.password = 4s3cret", "env.HF_TOKEN = \u201cs3cret\u201d"}) {
    INFO(line);
    CHECK_THAT(said_of(line), StartsWith("s.toml:") &&
                                  Contains("must be a text in quotes; what was "
                                           "found is not shown") &&
                                  !Contains("s3cret"));
  }
  CHECK_THAT(said_of("[server.env]\nVLLM_API_KEY = s3cret"),
             Contains(":4:16: server.env.VLLM_API_KEY must be"));
  CHECK_THAT(said_of("model = llama"), Contains("a text must be in quotes: \"llama\""));
  CHECK_THAT(refusal(vllm().set("server.silent_s", "sk-s3cretabcdef123")), !Contains("s3cret"));
}
