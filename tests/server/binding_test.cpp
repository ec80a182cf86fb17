// From the keys of a sweep file to a server's command, and to what identifies a cell.
#include "sweeps/definition/canonical_json.hpp"
#include "sweeps/definition/cell.hpp"
#include "tests/server/world.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::ServerKeys;

namespace {

worker::BoundCell bind(const ServerKeys& world, const std::string& backend = "server") {
  worker::Profiles profiles("sweeps");
  return worker::bind(world.params(), backend, 42, profiles);
}

std::string refusal(const ServerKeys& world) {
  try {
    bind(world);
  } catch (const sweep::SpecError& error) {
    return error.what();
  }
  return "accepted";
}

std::string identity(const ServerKeys& world) {
  return sweep::canonical_json(bind(world).identity);
}

ServerKeys vllm(const std::string& command) {
  ServerKeys world;
  world.set("server.kind", "vllm").set("server.version", "0.30.0").set("server.model", "org/m");
  world.set("server.command", command);
  return world;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a command is split as by a shell and its placeholders become values of the cell") {
  ServerKeys world =
      vllm("vllm serve {model} --port {port} --max-num-seqs {engine.max_num_seqs} {server.flags}");
  world.put("engine.max_num_seqs", std::int64_t{16}).put("dram_gib", std::int64_t{16});
  world.set(
      "server.flags",
      R"(--kv-transfer-config '{"kv_connector":"X","n":{dram_gib:bytes}}' --name "a b" c\ d)");
  world.set("server.env.LMCACHE_MAX_LOCAL_CPU_SIZE", "{dram_gib:gb}")
      .set("server.env.RAM_MIB", "{dram_gib:mib}");
  const auto config = bind(world).config.server.value();
  CHECK(config.command == Words{"vllm", "serve", "org/m", "--port", "{port}", "--max-num-seqs",
                                "16", "--kv-transfer-config",
                                R"({"kv_connector":"X","n":17179869184})", "--name", "a b", "c d"});
  CHECK(config.environment.at("LMCACHE_MAX_LOCAL_CPU_SIZE") == "17.179869184");
  CHECK(config.environment.at("RAM_MIB") == "16384");
}

TEST_CASE("wrong server keys are refused at their place, with what was found and what is allowed") {
  const std::string command = "vllm serve {model} --port {port}";
  const auto refused = [&](const std::string& key, sweep::Value value) {
    ServerKeys world = vllm(command);
    return refusal(world.put(key, std::move(value)));
  };
  CHECK_THAT(refused("server.command", std::string("vllm --port {port} {engine.max_num_seq}")),
             StartsWith("cell.toml:") && Contains("has the placeholder {engine.max_num_seq}") &&
                 Contains("did you mean \"engine.max_num_seqs\""));
  CHECK_THAT(refused("server.command", std::string("vllm serve")), Contains("placeholder {port}"));
  CHECK_THAT(refused("server.command", std::string("vllm {port} 'x")), Contains("open quote '"));
  CHECK_THAT(refused("server.command", std::string("vllm {port} {dram_gib}")),
             Contains("dram_gib has no value: give it"));
  CHECK_THAT(refused("server.command", std::string("v {port} {engine.max_num_seqs:mib}")),
             Contains("units are for keys in GiB"));
  CHECK_THAT(refused("server.flags", std::string("-x")), Contains("needs {server.flags}"));
  CHECK_THAT(refused("server.kind", std::string("tgi")),
             Contains("\"vllm\", \"sglang\", \"llamacpp\""));
  CHECK_THAT(refused("server.url", std::string("http://h")), Contains("exactly one of"));
  CHECK_THAT(refused("server.chain", std::string("forced")), Contains("--logits-processors"));
  ServerKeys sglang = vllm(command);
  sglang.set("server.kind", "sglang").set("server.chain", "forced");
  CHECK_THAT(refusal(sglang), Contains("\"llamacpp\" and \"vllm\" alone"));
  CHECK_THAT(refused("server.env.X", std::string("{job.id}")), Contains("is no key of a sweep"));
  CHECK_THAT(refused("policy", std::string("fcfs")),
             Contains("which a server does not know: write server.profile"));
  CHECK_THAT(refused("engine.block_size", std::int64_t{16}),
             Contains("unless a placeholder {engine.block_size} passes it on"));
  CHECK_THAT(refused("server.comand", std::string("x")), Contains("did you mean"));
}

TEST_CASE("with server.match the sizes of engine.* are flags of the server's kind") {
  const auto words = [](const std::string& kind) {
    ServerKeys world = vllm("serve {port}");
    world.set("server.kind", kind).put("server.match", true);
    world.put("engine.kv_tokens", std::int64_t{16010}).put("engine.max_num_seqs", std::int64_t{8});
    if (kind != "llamacpp") world.put("engine.block_size", std::int64_t{32});
    const worker::BoundCell bound = bind(world);
    CHECK(bound.identity.contains("engine.kv_tokens"));
    CHECK(bound.identity.contains("engine.max_num_batched_tokens"));
    return bound.config.server->command;
  };
  CHECK(words("vllm") == Words{"serve", "{port}", "--num-gpu-blocks-override", "501",
                               "--block-size", "32", "--max-num-seqs", "8",
                               "--max-num-batched-tokens", "2048", "--max-model-len", "4096"});
  CHECK(words("sglang") == Words{"serve", "{port}", "--max-total-tokens", "16000", "--page-size",
                                 "32", "--max-running-requests", "8", "--chunked-prefill-size",
                                 "2048", "--context-length", "4096"});
  CHECK(words("llamacpp") ==
        Words{"serve", "{port}", "-kvu", "-c", "16010", "-np", "8", "-b", "2048", "-ub", "2048"});
}

TEST_CASE("with server.match vllm is given KV of fp8, and no other kind is") {
  ServerKeys world = vllm("serve {port}").put("server.match", true);
  world.put("engine.kv_tokens", std::int64_t{16000});
  const std::int64_t wide = bind(world).config.bytes_per_block;
  world.set("engine.kv_dtype", "fp8_e4m3");
  const worker::ExperimentConfig config = bind(world).config;
  const Words& command = config.server->command;
  CHECK(Words(command.end() - 2, command.end()) == Words{"--kv-cache-dtype", "fp8"});
  CHECK(2 * config.bytes_per_block == wide);
  CHECK_THAT(refusal(world.set("server.kind", "sglang")),
             Contains("engine.kv_dtype must be \"bf16\" on a server of another kind than vllm"));
}

TEST_CASE("with server.steps the command has the scheduler class that writes steps") {
  const auto words = [](const std::string& command) {
    return bind(vllm(command).put("server.steps", true)).config.server->command;
  };
  CHECK(words("x {port}") ==
        Words{"x", "{port}", "--scheduler-cls", "kvsweep.vllm.AsyncScheduler"});
  CHECK(words("x {port} --no_async_scheduling").back() == "kvsweep.vllm.Scheduler");
  CHECK(identity(vllm("x {port}").put("server.steps", false)) == identity(vllm("x {port}")));
  CHECK(identity(vllm("x {port}").put("server.steps", true)) != identity(vllm("x {port}")));
}

TEST_CASE("server.steps is refused where no steps would be written, or others write them") {
  const auto refused = [](ServerKeys world) { return refusal(world.put("server.steps", true)); };
  CHECK_THAT(refused(vllm("x {port} --scheduler-cls=mine.S")),
             StartsWith("cell.toml:") && Contains("so does its command: leave it out there"));
  CHECK_THAT(refused(vllm("x {port}").set("server.env.KVSWEEP_STEPS", "f")),
             Contains("server.env.KVSWEEP_STEPS"));
  CHECK_THAT(refused(vllm("x {port}").set("server.kind", "sglang")), Contains("kind \"vllm\""));
  ServerKeys elsewhere = vllm("");
  elsewhere.drop("server.command");
  CHECK_THAT(refused(elsewhere.set("server.url", "http://h")), Contains("which runs already"));
}

TEST_CASE("server.match is refused where it cannot be kept") {
  const auto refused = [](ServerKeys world, std::int64_t tokens = 8192) {
    if (tokens > 0) world.put("engine.kv_tokens", tokens);
    return refusal(world.put("server.match", true));
  };
  CHECK_THAT(refused(vllm("x {port}"), 0),
             Contains("engine.kv_tokens") && Contains("must be given where"));
  CHECK_THAT(refused(vllm("x {port}"), 4090), Contains("at least engine.max_model_len (4096)"));
  CHECK_THAT(refused(vllm("x {port} --max-num-seqs=4")),
             Contains("gives the server --max-num-seqs, and so does its command"));
  ServerKeys openai = vllm("x {port}"), url = vllm(""), llama = vllm("x {port} --parallel 2");
  CHECK_THAT(refused(openai.set("server.kind", "openai")), Contains("whose flags for sizes"));
  CHECK_THAT(refused(url.set("server.url", "http://a:1")), Contains("which runs already"));
  CHECK_THAT(refused(llama.set("server.kind", "llamacpp")), Contains("gives the server -np"));
  llama.set("server.command", "x {port}").put("engine.block_size", std::int64_t{16});
  CHECK_THAT(refused(llama), Contains("engine.block_size has no effect on backend server"));
  ServerKeys off = vllm("x {port}"), plain = vllm("x {port}");
  CHECK(identity(off.put("server.match", false)) == identity(plain));
}

TEST_CASE("a profile gives the keys of its table, and its name takes the place of a policy") {
  ServerKeys world = vllm("vllm {model} --port {port} {server.flags}");
  world.set("server.profile.big.flags", "--big").set("server.profile.big.env.A", "1");
  world.set("server.profile.big.request.user", "x").set("server.profile.big.sim", "continuum");
  world.set("server.profile.small.flags", "--small");
  CHECK(bind(world).config.policy_name == "vllm");
  world.set("server.profile", "big");
  const worker::BoundCell bound = bind(world);
  CHECK(bound.config.policy_name == "big");
  CHECK(bound.config.server->command.back() == "--big");
  CHECK(bound.config.server->environment.at("A") == "1");
  CHECK(bound.config.server->request.count("user") == 1);
  CHECK_THAT(refusal(world.set("server.profile", "bug")),
             Contains("there is no table [server.profile.bug] with a key (did you mean \"big\"?)"));
  world.set("server.profile", "big").set("server.flags", "--own");
  CHECK_THAT(refusal(world), Contains("is set here and by the profile big"));
  ServerKeys typo = vllm("vllm --port {port}");
  CHECK_THAT(refusal(typo.set("server.profile.x.flag", "y")),
             Contains("cannot set \"flag\" (did you mean \"flags\"?)"));
}

TEST_CASE("on another backend a profile is the policy that it names, or is not modelled") {
  ServerKeys world = vllm("vllm --port {port}");
  world.set("server.profile", "a").set("server.profile.a.sim", "continuum");
  CHECK(bind(world, "sim").config.policy_name == "continuum");
  world.set("server.profile.b.flags", "-x").set("server.profile", "b");
  CHECK_THROWS_WITH(bind(world, "sim"),
                    Contains("not modelled: the profile b names no policy (sim)"));
}

TEST_CASE("a value for a policy inside vLLM is refused on a backend that would not see it") {
  ServerKeys world = vllm("vllm --port {port}");
  world.set("server.profile", "a").set("server.profile.a.sim", "working_set");
  world.set("server.profile.a.env.KVSWEEP_POLICY_SET", "first_wait_s=2");
  CHECK_THROWS_WITH(bind(world, "sim"),
                    StartsWith("cell.toml:") &&
                        Contains("server.profile.a.env.KVSWEEP_POLICY_SET sets first_wait_s, which "
                                 "backend sim knows only as policy.first_wait_s"));
  world.set("server.profile.a.env.KVSWEEP_POLICY_SET", "first_wait_s={policy.first_wait_s}");
  world.put("policy.first_wait_s", 2.0);
  CHECK_THAT(sweep::canonical_json(bind(world, "sim").identity), Contains("first_wait_s\":2"));
}

TEST_CASE("ports, paths, addresses and patience are no part of what a cell is, flags are") {
  const support::TempDir one, two;
  const auto cell = [](const std::string& folder, const std::string& more) {
    ServerKeys world;
    world.set("server.kind", "llamacpp").set("server.version", "b1");
    world.set("server.model_file", folder + "/m.gguf");
    return world.set("server.command", folder + "/llama-server -m {model} --port {port} --cache=" +
                                           folder + "/c " + more);
  };
  one.write("m.gguf", "weights");
  two.write("m.gguf", "weights");
  ServerKeys first = cell(one.path(), ""), second = cell(two.path(), "");
  CHECK(identity(first) == identity(second));
  CHECK(bind(first).config.server->command != bind(second).config.server->command);
  second.put("server.ready_s", 5.0).put("server.silent_s", 5.0);
  CHECK(identity(first) == identity(second));
  ServerKeys flags = cell(one.path(), "-np 4");
  CHECK(identity(first) != identity(flags));
  two.write("m.gguf", "other weights");
  CHECK(identity(first) != identity(second));
  ServerKeys url = vllm("x"), other = vllm("x");
  url.set("server.command", "").set("server.url", "http://a:1");
  other.set("server.command", "").set("server.url", "http://b:2/");
  CHECK(identity(url) == identity(other));
  CHECK(identity(url) != identity(other.set("server.version", "0.31.0")));
}

TEST_CASE("words in front of a server's command start it, and are no part of what a cell is") {
  ServerKeys plain = vllm("vllm serve {port}"), image = vllm("vllm serve {port}");
  image.set("server.prefix", "apptainer exec --nv '/a b/vllm.sif'");
  CHECK(bind(image).config.server->command ==
        Words{"apptainer", "exec", "--nv", "/a b/vllm.sif", "vllm", "serve", "{port}"});
  CHECK(identity(image) == identity(plain));
  CHECK_THAT(refusal(image.set("server.prefix", "'x")), Contains("open quote '"));
}

TEST_CASE("what a server that runs already cannot be told is refused") {
  ServerKeys url = vllm("x");
  url.set("server.command", "").set("server.url", "http://a:1");
  CHECK_NOTHROW(bind(url));
  ServerKeys environment = url, flags = url;
  CHECK_THROWS_WITH(bind(environment.set("server.env.A", "1")),
                    Contains("server.env.A has no effect on the server at server.url"));
  CHECK_THROWS_WITH(bind(flags.set("server.flags", "-x")),
                    Contains("server.flags has no effect on the server at server.url"));
  url.set("server.kind", "openai");
  CHECK_THAT(refusal(url), Contains("server.reset") && Contains("must be \"none\""));
  CHECK_NOTHROW(bind(url.set("server.reset", "none")));
}

TEST_CASE("fields of a turn's body that the trace gives cannot be set") {
  for (const char* field : {"prompt", "stream", "stream.x", "max_tokens", "ignore_eos", "model"}) {
    ServerKeys keys = vllm("x {port}");
    CHECK_THROWS_WITH(bind(keys.set(std::string("server.request.") + field, "1")),
                      Contains("is a field that every turn has already"));
  }
  ServerKeys free = vllm("x {port}");
  CHECK_NOTHROW(bind(free.set("server.request.top_k", "1")));
}

TEST_CASE("a header names the variable of the environment that holds its value") {
  ServerKeys plain = vllm("x {port}"), world = plain;
  world.set("server.header.Authorization", "env:MY_KEY").set("server.header.X-Org", "env:ORG_1");
  const auto config = bind(world).config.server.value();
  CHECK(config.headers ==
        std::map<std::string, std::string>{{"Authorization", "MY_KEY"}, {"X-Org", "ORG_1"}});
  CHECK(identity(world) == identity(plain));
  for (const char* own : {"Content-Type", "host", "a b"}) {
    ServerKeys keys = plain;
    CHECK_THAT(refusal(keys.set("server.header." + std::string(own), "env:A")),
               Contains("must name a header"));
  }
}

TEST_CASE("priorities need a vLLM that heeds them, as far as its flags are seen") {
  const auto said = [](const std::string& command) {
    return refusal(vllm(command).set("server.request.priority", "{job.index}"));
  };
  for (const char* heeds : {"--scheduling-policy priority", "--scheduling-policy=priority",
                            "--scheduling_policy priority", "--config vllm.yaml"})
    CHECK(said("vllm {port} " + std::string(heeds)) == "accepted");
  for (const char* not_so : {"", "--scheduling-policy fcfs", "--no-scheduling-policy"})
    CHECK_THAT(said("vllm {port} " + std::string(not_so)),
               StartsWith("cell.toml:") && Contains("server.request.priority") &&
                   Contains("--scheduling-policy priority alone, which server.command lacks"));
  ServerKeys url = vllm("");
  url.set("server.url", "http://a:1").set("server.request.priority", "{job.index}");
  CHECK(refusal(url) == "accepted");
}

TEST_CASE("a policy inside vLLM is refused where no request says which turn is a job's last") {
  ServerKeys world = vllm("vllm --port {port}");
  world.set("server.env.KVSWEEP_POLICY", "working_set");
  CHECK_THAT(refusal(world), StartsWith("cell.toml:") && Contains("server.env.KVSWEEP_POLICY") &&
                                 Contains("needs server.request vllm_xargs.is_last_step"));
  world.set("server.request.vllm_xargs.is_last_step", "{turn.last}");
  CHECK(refusal(world) == "accepted");
}

TEST_CASE("an axis of dram_gib stays for the profiles that pass it on") {
  worker::Profiles profiles("sweeps");
  const sweep::KeyRules rules = worker::key_rules(profiles);
  ServerKeys world = vllm("vllm --port {port} {server.flags}");
  world.set("server.profile.tier.flags", "--gib {dram_gib}").set("server.profile.stock.flags", "");
  CHECK(rules.counts(world.set("server.profile", "tier").params(), "dram_gib"));
  CHECK_FALSE(rules.counts(world.set("server.profile", "stock").params(), "dram_gib"));
}
