#include "analysis/ranking/explanation.hpp"

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

namespace {

std::vector<std::string> why_of(const ArchivedCells& archive) {
  const auto cells = archive.cells();
  std::vector<std::string> texts;
  for (const analysis::AnswerLine& each :
       analysis::answer_of(arrange(analysis::with_results(cells))).why)
    texts.push_back(each.text());
  return texts;
}

/// Cells of the policies that fcfs, its parts and continuum are, with one job completion time each.
class Policies {
 public:
  Policies& add(const std::string& name, const std::string& order, const std::string& retention,
                double jct_s) {
    Settings settings = {{"policy", text(name)},
                         {"jps", whole(3)},
                         {"policy.order", text(order)},
                         {"policy.retention", text(retention)},
                         {"policy.tier", text("none")}};
    if (order == "job_fcfs") settings["policy.victim"] = text("last_unpinned");
    if (retention == "pin") settings["policy.ttl_s"] = whole(2);
    archive_.add(settings, jct_s);
    return *this;
  }

  std::vector<analysis::Ablation> missing() const {
    const auto cells = archive_.cells();
    const auto rows = arrange(analysis::with_results(cells));
    return analysis::missing_ablations(rows, analysis::regimes_of(rows, analysis::kAnswerFigure));
  }

  std::vector<std::string> why() const { return why_of(archive_); }

 private:
  ArchivedCells archive_;
};

Policies all_four() {
  Policies policies;
  policies.add("fcfs", "fcfs", "free", 200).add("job_fcfs", "job_fcfs", "free", 80);
  policies.add("pin", "fcfs", "pin", 190).add("continuum", "job_fcfs", "pin", 50);
  return policies;
}

}  // namespace

TEST_CASE("the best policy is explained by what its parts are worth alone") {
  CHECK(all_four().why() ==
        std::vector<std::string>{"h100-80gb: at 3 jobs/s continuum is 4.00 times as fast as fcfs; "
                                 "order alone (job_fcfs) 2.50, retention alone (pin) 1.05"});
}

TEST_CASE("a best policy of one part is explained by that part") {
  Policies policies;
  policies.add("fcfs", "fcfs", "free", 200).add("job_fcfs", "job_fcfs", "free", 50);
  CHECK(policies.why() ==
        std::vector<std::string>{"h100-80gb: at 3 jobs/s job_fcfs is 4.00 times as fast as fcfs; "
                                 "they differ in order alone (job_fcfs)"});
  CHECK(policies.missing().empty());
}

TEST_CASE("policies that the sweep changed alike are explained beside the fcfs that it changed") {
  const auto archive_with = [](const std::vector<std::string>& names) {
    ArchivedCells archive;
    for (const std::string& name : names) {
      const bool is_fast = name == "continuum";
      Settings settings = {{"policy", text(name)},
                           {"policy.eviction", text("slru")},
                           {"policy.order", text(name == "fcfs" ? "fcfs" : "job_fcfs")},
                           {"policy.retention", text(is_fast ? "pin" : "free")}};
      archive.add(settings, name == "fcfs" ? 200
                            : is_fast      ? 50
                                           : 80)
          .notes = {{"policy", name + "+eviction=slru"}};
    }
    return archive;
  };
  CHECK(why_of(archive_with({"fcfs", "job_fcfs", "continuum"})) ==
        std::vector<std::string>{
            "h100-80gb: at 1 job/s continuum+eviction=slru is 4.00 times as fast as "
            "fcfs+eviction=slru; order alone (job_fcfs+eviction=slru) 2.50, retention alone (pin) "
            "has no result"});
}

TEST_CASE("where eviction is an axis, the policies are explained beside the fcfs without parts") {
  ArchivedCells archive;
  for (const char* name : {"fcfs", "job_fcfs"})
    for (const char* eviction : {"slru", "lru"})
      archive.add({{"policy", text(name)},
                   {"policy.order", text(name)},
                   {"policy.eviction", text(eviction)}},
                  name == std::string("fcfs")      ? 200
                  : eviction == std::string("lru") ? 80
                                                   : 50);
  CHECK(why_of(archive) ==
        std::vector<std::string>{
            "h100-80gb: at 1 job/s job_fcfs (eviction=slru) is 4.00 times as fast as fcfs "
            "(eviction=lru); order alone (job_fcfs (eviction=lru)) 2.50, eviction alone (fcfs "
            "(eviction=slru)) 1.00"});
}

TEST_CASE("what would explain the best policy and did not run is named") {
  Policies policies;
  policies.add("fcfs", "fcfs", "free", 200).add("job_fcfs", "job_fcfs", "free", 80);
  policies.add("continuum", "job_fcfs", "pin", 50);
  CHECK(policies.why() ==
        std::vector<std::string>{
            "h100-80gb: at 3 jobs/s continuum is 4.00 times as fast as fcfs; order alone "
            "(job_fcfs) 2.50, retention alone (pin) has no result"});
}

TEST_CASE("a policy that ties with one of its parts is explained by that one, and none with fcfs") {
  Policies policies;
  policies.add("fcfs", "fcfs", "free", 200).add("job_fcfs", "job_fcfs", "free", 50.1);
  policies.add("continuum", "job_fcfs", "pin", 50);
  REQUIRE(policies.why().size() == 1);
  CHECK_THAT(policies.why().front(),
             Catch::Matchers::Contains("order alone (job_fcfs) is as fast"));
  Policies none_faster;
  none_faster.add("fcfs", "fcfs", "free", 50).add("continuum", "job_fcfs", "pin", 50);
  CHECK(none_faster.why().empty());
}

TEST_CASE(
    "a part that is as fast alone as the whole policy, and pins that hold nothing, are named") {
  ArchivedCells archive;
  Settings settings = {{"jps", whole(3)}, {"policy.retention", text("free")}};
  for (const char* name : {"fcfs", "job_fcfs", "continuum"}) {
    settings["policy"] = text(name);
    settings["policy.order"] = text(name == std::string("fcfs") ? "fcfs" : "job_fcfs");
    if (name == std::string("continuum")) settings["policy.retention"] = text("pin");
    const double jct_s = name == std::string("fcfs")       ? 176
                         : name == std::string("job_fcfs") ? 100.2
                                                           : 100;
    archive.add(settings, jct_s).figures.push_back({"gap_held_tok_s", 0, "tok s"});
  }
  CHECK(why_of(archive) ==
        std::vector<std::string>{
            "h100-80gb: at 3 jobs/s continuum is 1.76 times as fast as fcfs; it pins "
            "no KV; order alone (job_fcfs) is as fast, retention alone (pin) has no result"});
}

TEST_CASE(
    "a policy that would tell is offered with the command that runs it, in an archive of its own") {
  Policies policies;
  policies.add("fcfs", "fcfs", "free", 200).add("continuum", "job_fcfs", "pin", 50);
  const std::vector<analysis::Ablation> missing = policies.missing();
  REQUIRE(missing.size() == 2);
  CHECK(analysis::ablation_command(missing[0],
                                   "run s.toml --set x=1 --only jps=3 --fresh --archive s.h5") ==
        "kvsweep run s.toml --set x=1 --set policy=job_fcfs --only gpu=h100-80gb,jps=3 --archive "
        "job_fcfs.h5");
  CHECK(analysis::ablation_command(
            missing[0], "run 'my sweep.toml' --set 'policy.x=it'\\''s a' --archive 'of mine.h5'") ==
        "kvsweep run 'my sweep.toml' --set 'policy.x=it'\\''s a' --set policy=job_fcfs --only "
        "gpu=h100-80gb,jps=3 --archive job_fcfs.h5");
  CHECK(missing[1].policy == "pin");
  CHECK(all_four().missing().empty());
}

TEST_CASE("the command that runs cells again has nothing that was of that run alone") {
  CHECK(
      analysis::command_again("run a.toml --set repeat.n=3 --resume --only jps=1 --archive m.h5") ==
      "kvsweep run a.toml --set repeat.n=3");
}

TEST_CASE("a plugin belongs to the parts that it decides") {
  ArchivedCells archive;
  const auto add = [&](const char* order, const char* eviction, const char* retention,
                       double jct_s) {
    Settings settings = {{"jps", whole(3)},
                         {"policy", text("fcfs")},
                         {"policy.order", text(order)},
                         {"policy.eviction", text(eviction)},
                         {"policy.retention", text(retention)}};
    std::string name = "fcfs";
    for (const char* key : {"policy.eviction", "policy.order", "policy.retention"})
      if (settings[key] == text("plugin")) name += '+' + std::string(key + 7) + "=plugin";
    if (name != "fcfs") {
      settings["policy.plugin.sha256"] = text("c0ffee");
      settings["policy.plugin_value_1"] = whole(7);
    }
    archive.add(settings, jct_s).notes = {{"policy", name}};
  };
  add("fcfs", "lru", "free", 200);
  add("plugin", "lru", "free", 100);
  add("fcfs", "plugin", "free", 160);
  add("plugin", "plugin", "free", 50);
  add("fcfs", "lru", "plugin", 190);
  CHECK(why_of(archive) ==
        std::vector<std::string>{
            "h100-80gb: at 3 jobs/s fcfs+eviction=plugin+order=plugin is 4.00 times as fast as "
            "fcfs; order alone (fcfs+order=plugin) 2.00, eviction alone (fcfs+eviction=plugin) "
            "1.25"});
}
