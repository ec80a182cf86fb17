#include <set>

#include "tests/cell/cell.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/trace_text.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using support::Cell;

namespace {

struct Wrong {
  std::string key;
  sweep::Value value;
  std::string complaint;
};

sweep::Value integer(std::int64_t value) { return value; }
sweep::Value text(const char* value) { return std::string(value); }

/// The profiles of a folder in order, with commas between them.
std::string names_in(const char* folder) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(support::kProfiles / folder))
    names.insert(file.path().stem());
  REQUIRE(names.size() > 1);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

TEST_CASE(
    "a value of the wrong type or out of range is refused at its place, with what was found") {
  const std::vector<Wrong> wrongs = {
      {"engine.block_size", text("16"), "must be an integer, found the string \"16\""},
      {"engine.block_size", 16.5, "must be an integer"},
      {"engine.block_size", integer(0), "must be between 1 and 1024, found 0"},
      {"engine.prefix_caching", integer(1), "must be true or false"},
      {"engine.max_num_seqs", integer(0), "must be between 1 and "},
      {"engine.max_num_batched_tokens", integer(255), "must be at least engine.max_num_seqs (256)"},
      {"engine.max_model_len", integer(1), "must be between 2 and "},
      {"engine.max_model_len", integer(1'000'000), "must be at most the 131072 tokens"},
      {"engine.kv_tokens", integer(-1), "must be between 0 and "},
      {"workload.jobs", integer(0), "must be between 1 and 100000, found 0"},
      {"workload.gap_s", -0.5, "must be between 0 and "},
      {"workload.window_s", 0.0, "must be between "},
  };
  for (const Wrong& wrong : wrongs) {
    Cell cell;
    cell.put(wrong.key, wrong.value);
    INFO(wrong.key << " = " << sweep::to_text(wrong.value));
    const std::string refusal = cell.refusal();
    CHECK_THAT(refusal, Contains(wrong.complaint));
    CHECK_THAT(refusal, Contains(wrong.key));
    CHECK_THAT(refusal, StartsWith("cell.toml:5:1: "));
  }
}

TEST_CASE("without chunked prefill, the budget must hold the longest prompt") {
  CHECK_THAT(
      Cell().set("engine.chunked_prefill", false).refusal(),
      Contains("engine.max_num_batched_tokens must be at least engine.max_model_len (16384)"));
  CHECK(Cell()
            .set("engine.chunked_prefill", false)
            .set("engine.max_num_batched_tokens", 16384)
            .refusal() == "accepted");
}

TEST_CASE("generated jobs that the model's context cannot hold are refused before they are made") {
  const std::string refusal = Cell().set("model", "opt-13b").refusal();
  CHECK_THAT(refusal, Contains("workload.max_context must be at least 4096"));
  CHECK_THAT(refusal, Contains("allows 2048, which is all that opt-13b has"));
  CHECK_THAT(Cell().set("engine.max_model_len", 2048).refusal(), EndsWith("allows 2048: raise it"));
  CHECK(Cell().set("model", "opt-13b").set("workload.kind", "agent8").refusal() == "accepted");
}

TEST_CASE("a rate must be positive, and a number") {
  for (const sweep::Value& rate : {integer(-1), integer(0), text("3")}) {
    INFO(sweep::to_text(rate));
    const std::string refusal = Cell().put("jps", rate).refusal();
    CHECK_THAT(refusal, StartsWith("cell.toml:3:1: jps must be "));
  }
}

TEST_CASE("an unknown key is refused with the nearest known one") {
  CHECK(Cell().set("engine.blok_size", 16).refusal() ==
        "cell.toml:5:1: unknown key \"engine.blok_size\" (did you mean \"engine.block_size\"?)");
  CHECK_THAT(Cell().set("dram_gb", 16).refusal(), Contains("did you mean \"dram_gib\"?"));
}

TEST_CASE("a key that another workload has is refused, with the workload that has it") {
  CHECK(Cell().set("workload.tool_hint", true).refusal() ==
        "cell.toml:5:1: workload.tool_hint has no effect here: it counts where workload.kind is "
        "agent8");
}

TEST_CASE("a key that only other policies look at is allowed and is no part of the cell") {
  CHECK(Cell().set("policy.ttl_s", 9.0).identity() == Cell().identity());
  CHECK_THAT(Cell().set("policy.ttl_s", "long").refusal(), Contains("policy.ttl_s"));
}

TEST_CASE("an unknown name is refused at its place, with the names there are") {
  const std::vector<Wrong> wrongs = {
      {"gpu", text("h100-80g"),
       "cell.toml:1:1: unknown gpu \"h100-80g\" (did you mean \"h100-80gb\"?)"},
      {"policy", text("continum"),
       "cell.toml:2:1: unknown policy \"continum\" (did you mean \"continuum\"?)"},
      {"workload.kind", text("swe"),
       "cell.toml:4:1: workload.kind must be one of \"swe_smith_like\", \"agent8\", \"trace\""},
      {"model", text("llama"), "cell.toml:5:1: unknown model \"llama\""},
      {"sim.cost_model", text("kernel"), "cell.toml:5:1: sim.cost_model must be one of "},
      {"policy.order", text("lifo"), "cell.toml:5:1: policy.order must be one of "},
      {"policy.retention", text("keep"), "cell.toml:5:1: policy.retention must be one of "},
      {"policy.tier", text("nvme"), "cell.toml:5:1: policy.tier must be one of "},
      {"workload.arrivals", text("uniform"), "cell.toml:5:1: workload.arrivals must be one of "},
  };
  for (const Wrong& wrong : wrongs) {
    Cell cell;
    cell.put(wrong.key, wrong.value);
    CHECK_THAT(cell.refusal(), StartsWith(wrong.complaint));
  }
}

TEST_CASE("the names there are stand behind an unknown one") {
  const auto refusal = [](const char* key) { return Cell().set(key, "none").refusal(); };
  CHECK_THAT(refusal("gpu"), Contains("sweeps/gpus has: " + names_in("gpus")));
  CHECK_THAT(refusal("policy"), Contains("sweeps/policies has: " + names_in("policies")));
  CHECK_THAT(refusal("model"), Contains("sweeps/models has: " + names_in("models")));
  CHECK_THAT(refusal("sim.cost_model"), Contains("\"published\""));
}

TEST_CASE("a cell without its gpu, policy, rate or workload names the file and what is missing") {
  for (const std::string key : {"gpu", "policy", "jps", "workload.kind"})
    CHECK_THAT(Cell().without(key).refusal(),
               StartsWith("cell.toml: the key \"" + key + "\" is missing"));
  CHECK_THAT(Cell().without("jps").refusal(), EndsWith("where workload.arrivals is poisson"));
}

TEST_CASE("a missing key is not explained by another key that is known") {
  CHECK_THAT(Cell().without("workload.kind").set("workload.min", 128).refusal(),
             !Contains("misspelling"));
  CHECK_THAT(Cell().without("workload.kind").set("workload.knd", "agent8").refusal(),
             EndsWith("(is \"workload.knd\" a misspelling of it?)"));
}

TEST_CASE("a host tier of more blocks than the engine numbers is refused where its size is given") {
  Cell cell = Cell().set("policy", "cpu_offload").set("engine.block_size", 1);
  CHECK(cell.set("dram_gib", 131'072).obstacle() == "runs");
  CHECK_THAT(cell.set("dram_gib", 131'073).refusal(),
             Contains(": dram_gib must hold at most 2^30 blocks, found 131073"));
}

TEST_CASE("host memory below one block or chunk makes the cell infeasible, with the least size") {
  CHECK(Cell().set("policy", "cpu_offload").set("dram_gib", 0.001).obstacle() ==
        "infeasible: dram_gib must be at least 0.00196 GiB, the size of one block of 16 tokens, "
        "which policy \"cpu_offload\" stores whole");
  CHECK(Cell().set("policy", "lmcache").set("dram_gib", 0.02).obstacle() ==
        "infeasible: dram_gib must be at least 0.0313 GiB, the size of one chunk of 256 tokens, "
        "which policy \"lmcache\" stores whole");
  CHECK(Cell().set("policy", "lmcache").set("dram_gib", 0.0313).obstacle() == "runs");
  CHECK_THAT(Cell()
                 .set("policy", "lmcache")
                 .without("dram_gib")
                 .set("engine.host_kv_tokens", 255)
                 .obstacle(),
             StartsWith("infeasible: engine.host_kv_tokens must be at least 256, "));
}

TEST_CASE("the published cost model is refused for a card about which nothing was published") {
  const std::string refusal =
      Cell().set("gpu", "l40s-48gb").set("sim.cost_model", "published").refusal();
  CHECK_THAT(refusal, StartsWith("cell.toml:5:1: sim.cost_model "));
  CHECK_THAT(refusal, Contains("l40s-48gb"));
}

TEST_CASE("a window and a number of jobs contradict each other") {
  CHECK_THAT(Cell().set("workload.window_s", 45).set("workload.jobs", 10).refusal(),
             StartsWith("cell.toml:5:1: workload.window_s decides the number of jobs"));
  CHECK(Cell().set("workload.window_s", 45).refusal() == "accepted");
}

TEST_CASE("a window is refused for a trace, whose number of jobs is given") {
  const support::TempDir folder;
  Cell cell;
  cell.set("workload.kind", "trace")
      .set("workload.path", folder.write("jobs.jsonl", trace_test::one_job()))
      .set("workload.window_s", 45);
  CHECK_THAT(cell.refusal(), StartsWith("cell.toml:6:1: workload.window_s "));
}

TEST_CASE("a file that is not there is refused at the key that names it") {
  Cell cell;
  cell.set("workload.kind", "trace");
  CHECK_THAT(cell.refusal(), StartsWith("cell.toml: the key \"workload.path\" is missing"));
  cell.set("workload.path", "/nowhere/jobs.jsonl");
  CHECK_THAT(cell.refusal(), StartsWith("cell.toml:5:1: workload.path names no file"));
  CHECK_THAT(cell.refusal(), Contains("/nowhere/jobs.jsonl"));
}

TEST_CASE("a file that is no trace is refused at the key that names it, with what makes one") {
  const support::TempDir folder;
  Cell cell;
  cell.set("workload.kind", "trace").set("workload.path", folder.write("chats.jsonl", "{}\n"));
  CHECK_THAT(cell.refusal(), StartsWith("cell.toml:5:1: workload.path ") &&
                                 Contains("chats.jsonl: is no trace of kvsweep; python3 -m"));
}

TEST_CASE("a range of turns must have some") {
  const support::TempDir folder;
  Cell cell;
  cell.set("workload.kind", "trace")
      .set("workload.path", folder.write("jobs.jsonl", trace_test::one_job()))
      .set("workload.min_turns", 10)
      .set("workload.max_turns", 9);
  CHECK_THAT(cell.refusal(), Contains("workload.max_turns must be at least workload.min_turns"));
}

TEST_CASE("a disk is modelled on sim alone, behind the host tier of a connector") {
  const auto with_disk = [] {
    return Cell().set("policy", "cpu_offload").set("dram_gib", 8).set("policy.disk_gib", 512);
  };
  CHECK(with_disk().refusal() == "accepted");
  CHECK_THAT(with_disk().set("engine.kv_tokens", 4096).on("cpu").refusal(),
             Contains("policy.disk_gib needs backend \"sim\", which alone models a disk"));
  CHECK_THAT(with_disk().on("cuda").refusal(), Contains("policy.disk_gib needs backend \"sim\""));
  CHECK_THAT(with_disk().set("policy.disk_gib", 1e-9).refusal(),
             Contains("policy.disk_gib must hold at least one block"));
  CHECK_THAT(with_disk().set("policy", "predictive_prefetch").refusal(),
             Contains("policy.disk_gib must be 0 with policy.prefetch"));
  CHECK_THAT(with_disk().set("sim.disk_queue", 0).refusal(), Contains("sim.disk_queue"));
}

TEST_CASE("prefixes count once only where contexts share blocks") {
  const auto once = [] {
    return Cell().set("policy", "working_set").set("policy.shared_prefixes", "once");
  };
  CHECK(once().refusal() == "accepted");
  CHECK_THAT(once().set("engine.prefix_caching", false).refusal(),
             Contains("policy.shared_prefixes must be \"each\" without engine.prefix_caching"));
}

TEST_CASE("prefetch needs the tier that it loads from, and names that are known") {
  CHECK_THAT(Cell().set("policy.prefetch", "oracle").refusal(),
             Contains("policy.prefetch needs policy.tier \"offload\""));
  const auto prefetching = [] {
    return Cell().set("policy", "predictive_prefetch").set("dram_gib", 64.0);
  };
  CHECK_THAT(prefetching().set("policy.store", "lazy").refusal(), Contains("policy.prefetch"));
  CHECK_THAT(prefetching().set("policy.prefetch", "soon").refusal(), Contains("client_hint"));
  CHECK_THAT(prefetching().set("policy.scoring", "S9").refusal(), Contains("S5"));
  CHECK_THAT(prefetching().set("policy.host_eviction", "arc").refusal(),
             Contains("policy.host_eviction must be \"lru\" with policy.prefetch"));
  CHECK(prefetching().set("policy.scoring", "S1").set("policy.error_sigma", 0.5).refusal() ==
        "accepted");
}
