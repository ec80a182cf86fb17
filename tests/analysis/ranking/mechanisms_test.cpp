#include "analysis/ranking/mechanisms.hpp"

#include <algorithm>

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

namespace {

/// What is said of the mechanism of one cell.
std::vector<std::string> idle(const Settings& settings, const std::vector<sweep::Figure>& figures) {
  ArchivedCells archive;
  archive.add(settings, 1).figures = figures;
  const auto cells = archive.cells();
  return idle_mechanisms(arrange(analysis::with_results(cells)));
}

}  // namespace

TEST_CASE("a policy that pins nothing, or finds nothing in host memory, is named") {
  CHECK(idle({{"policy", text("continuum")}, {"policy.retention", text("pin")}},
             {{"gap_held_tok_s", 0, "tok s"}}) ==
        std::vector<std::string>{"h100-80gb: continuum pins no KV at 1 job/s"});
  CHECK(idle({{"policy", text("continuum")}, {"policy.retention", text("pin")}},
             {{"gap_held_tok_s", 5, "tok s"}})
            .empty());
  CHECK(
      idle({{"policy", text("lmcache")}, {"dram_gib", whole(16)}}, {{"host_hit_tok", 0, "tok"}}) ==
      std::vector<std::string>{
          "h100-80gb: nothing is found in host memory under lmcache-16G at 1 job/s"});
  CHECK(idle({{"policy", text("fcfs")}, {"policy.retention", text("free")}},
             {{"gap_held_tok_s", 0, "tok s"}})
            .empty());
}

TEST_CASE("a policy that pins almost nothing is named, with the reason if tools take too long") {
  Settings settings = {{"policy", text("continuum")},
                       {"policy.retention", text("pin")},
                       {"policy.threshold_s", whole(2)},
                       {"workload.gap_s", whole(5)},
                       {"engine.block_size", whole(16)}};
  const auto held = [](double tok_s) {
    return std::vector<sweep::Figure>{
        {"gap_held_tok_s", tok_s, "tok s"}, {"makespan_s", 100, "s"}, {"gpu_blocks", 1000, ""}};
  };
  CHECK(idle(settings, held(0.01 * 100 * 16000)) ==
        std::vector<std::string>{
            "h100-80gb: continuum pins almost no KV (less than 2 % of the "
            "pool; tools of 5 s exceed its policy.threshold_s of 2 s) at 1 job/s"});
  CHECK(idle(settings, held(0.1 * 100 * 16000)).empty());
}

TEST_CASE("where no KV is lost the answer says that keeping it has nothing to gain") {
  const auto said = [](double recomputed_tok, double preemptions, bool has_rival = true) {
    ArchivedCells archive;
    double size = 0;  // so that the policies are no twins
    for (const char* policy : {"fcfs", "continuum"}) {
      if (size > 0 && !has_rival) continue;
      archive.add({{"policy", text(policy)}, {"engine.block_size", whole(16)}}, 1).figures = {
          {"turns", 100, ""},
          {"recomputed_tok", recomputed_tok, "tok"},
          {"preemptions", preemptions, ""},
          {"size", ++size, ""}};
    }
    const auto cells = archive.cells();
    return idle_mechanisms(arrange(analysis::with_results(cells)));
  };
  // A hundred turns leave up to fifteen tokens each in blocks that are not full.
  CHECK(said(1500, 0) ==
        std::vector<std::string>{"h100-80gb: no KV is lost before it is read again, so a policy "
                                 "that keeps it has nothing to gain at 1 job/s"});
  CHECK(said(1600, 0).empty());
  CHECK(said(0, 1).empty());
  CHECK(said(0, 0, false).empty());  // a policy alone is compared with none
}

TEST_CASE("KV that a tier finds was lost on the GPU, though no job computed it again") {
  const auto said = [](double host_hit_tok) {
    ArchivedCells archive;
    archive.add({{"policy", text("fcfs")}, {"engine.block_size", whole(16)}}, 1).figures = {
        {"turns", 100, ""}, {"recomputed_tok", 0, "tok"}, {"preemptions", 0, ""}};
    archive
        .add({{"policy", text("cpu_offload")},
              {"engine.block_size", whole(16)},
              {"dram_gib", whole(64)}},
             1)
        .figures = {{"turns", 100, ""}, {"host_hit_tok", host_hit_tok, "tok"}};
    const auto cells = archive.cells();
    return idle_mechanisms(arrange(analysis::with_results(cells)));
  };
  const auto says_so = Catch::Matchers::Contains("no KV is lost");
  CHECK_THAT(said(1).front(), says_so);
  for (const std::string& remark : said(1e6)) CHECK_THAT(remark, !says_so);
}

TEST_CASE("policies with equal results are named as twins") {
  ArchivedCells archive;
  for (const char* policy : {"fcfs", "continuum", "job_fcfs"})
    archive.add({{"policy", text(policy)}}, policy == std::string("job_fcfs") ? 2 : 1);
  const auto cells = archive.cells();
  CHECK(idle_mechanisms(arrange(analysis::with_results(cells))) ==
        std::vector<std::string>{"h100-80gb: continuum and fcfs have equal results at 1 job/s"});
}

TEST_CASE("several policies with equal results, or that serve every job alike, are one list") {
  ArchivedCells archive;
  for (const char* policy : {"c", "b", "a", "copies", "other", "another"}) {
    const bool is_other = std::string(policy).ends_with("other");
    sweep::CellRecord& cell = archive.add({{"policy", text(policy)}}, 40);
    cell.figures.push_back({"ttft_mean_s", is_other ? 0.2 : 0.1, "s"});
    cell.figures.push_back({"d2h_bytes", policy == std::string("copies") ? 9.0 : 0.0, "B"});
  }
  const auto cells = archive.cells();
  CHECK(idle_mechanisms(arrange(analysis::with_results(cells))) ==
        std::vector<std::string>{"h100-80gb: a, b and c have equal results at 1 job/s",
                                 "h100-80gb: another and other have equal results at 1 job/s",
                                 "h100-80gb: a, b, c and copies serve every job alike at 1 job/s"});
}

TEST_CASE("the same remark on several policies is one line") {
  ArchivedCells archive;
  for (const std::int64_t gib : {16, 128})
    for (const std::int64_t jps : {1, 3})
      archive.add({{"policy", text("lmcache")}, {"dram_gib", whole(gib)}, {"jps", whole(jps)}}, 1)
          .figures = {{"host_hit_tok", 0, "tok"}, {"size", static_cast<double>(gib), ""}};
  const auto cells = archive.cells();
  CHECK(idle_mechanisms(arrange(analysis::with_results(cells))) ==
        std::vector<std::string>{"h100-80gb: nothing is found in host memory under lmcache-16G and "
                                 "lmcache-128G at 1 and 3 jobs/s"});
}

TEST_CASE("policies that serve every job alike are named, though one of them copies more") {
  ArchivedCells archive;
  for (const char* policy : {"fcfs", "tier", "pin"}) {
    sweep::CellRecord& cell = archive.add({{"policy", text(policy)}}, 40);
    cell.figures.push_back({"ttft_mean_s", policy == std::string("pin") ? 0.2 : 0.1, "s"});
    cell.figures.push_back({"d2h_bytes", policy == std::string("tier") ? 9.0 : 0.0, "B"});
  }
  const auto cells = archive.cells();
  const auto lines = idle_mechanisms(arrange(analysis::with_results(cells)));
  CHECK(std::ranges::find(lines, "h100-80gb: fcfs and tier serve every job alike at 1 job/s") !=
        lines.end());
  CHECK(std::ranges::none_of(lines, [](const std::string& line) {
    return line.find("pin and") != line.npos || line.find("and pin") != line.npos;
  }));
}
