#include "analysis/digest/access_digest.hpp"

#include <cmath>
#include <random>
#include <set>

#include "sweeps/tables/schema.hpp"
#include "tests/support/catch.hpp"

using analysis::AccessDigest;
using analysis::AccessLimits;
using analysis::AccessMark;
using analysis::digest_accesses;
using Catch::Detail::Approx;
using sweep::KvAccessKind;

namespace {

constexpr auto kReadKey = KvAccessKind::read_key, kReadValue = KvAccessKind::read_value,
               kWriteKey = KvAccessKind::write_key, kWriteValue = KvAccessKind::write_value;

/// A log written access by access; request 10 + r is in row r of every step.
class Log {
 public:
  Log& access(int step, KvAccessKind kind, int block, double t_us, double dur_us = 0, int row = 0) {
    sweep::KvAccessRow each;
    each.step = step;
    each.layer = layer_;
    each.kind = kind;
    each.block = block;
    each.n_slots = 16;
    each.batch_row = row;
    each.t_s = t_us / 1e6;
    each.dur_s = dur_us / 1e6;
    accesses_.push_back(each);
    return *this;
  }
  Log& layer(int which) {
    layer_ = which;
    return *this;
  }
  std::vector<double> idle() const {
    return analysis::idle_shares(sweep::to_table<sweep::KvAccessRow>(accesses_));
  }
  AccessDigest digest(const AccessLimits& limits = {}) const {
    std::vector<sweep::AccessRowRow> rows;
    std::set<std::pair<std::int64_t, int>> known;
    for (const sweep::KvAccessRow& each : accesses_) {
      if (!known.emplace(each.step, each.batch_row).second) continue;
      sweep::AccessRowRow row;
      row.step = each.step;
      row.batch_row = each.batch_row;
      row.job = 10 + each.batch_row;
      rows.push_back(row);
    }
    return digest_accesses(sweep::to_table<sweep::KvAccessRow>(accesses_),
                           sweep::to_table<sweep::AccessRowRow>(rows), limits);
  }

 private:
  std::vector<sweep::KvAccessRow> accesses_;
  int layer_ = 0;
};

/// So many reads of keys, a microsecond apart, of 8 rows in turn.
Log many(int accesses) {
  Log log;
  for (int i = 0; i < accesses; ++i) log.access(1, kReadKey, i, i, 0.5, i % 8);
  return log;
}

}  // namespace

TEST_CASE("an access has its time since the first access and the request that it served",
          "[access]") {
  const AccessDigest digest =
      Log().access(1, kWriteKey, 7, 1000, 0, 0).access(2, kReadValue, 9, 1003, 2, 1).digest();
  REQUIRE(digest.marks.size() == 2);
  CHECK(digest.marks[0].t_ns == 0);
  CHECK(digest.marks[0].job == 10);
  CHECK(digest.marks[1].t_ns == 3000);
  CHECK(digest.marks[1].dur_ns == 2000);
  CHECK(digest.marks[1].block == 9);
  CHECK(digest.marks[1].job == 11);
  CHECK(digest.steps == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("only the first logged layer and its first steps are shown, but all records are counted",
          "[access]") {
  Log log;
  for (int step = 1; step <= 8; ++step) {
    log.layer(4).access(step, kReadKey, 1, 100 * step, 1);
    log.layer(2).access(step, kReadKey, 2, 100 * step + 10, 1);
  }
  const AccessDigest digest = log.digest();
  CHECK(digest.layer == 2);
  CHECK(digest.records == 16);
  CHECK(digest.in_steps == 5);
  CHECK(digest.steps == std::vector<std::int64_t>{1, 2, 3, 4, 5});
  for (const AccessMark& mark : digest.marks) CHECK(mark.block == 2);
}

TEST_CASE("pauses of more than half of the busy time are cut to it", "[access]") {
  const AccessDigest digest = Log()
                                  .access(1, kReadKey, 1, 0, 10)
                                  .access(1, kReadKey, 2, 5, 10)
                                  .access(2, kReadKey, 1, 20, 5)
                                  .access(3, kReadKey, 1, 125, 20)
                                  .digest();
  // Busy: 15 + 5 + 20 us. The pause of 5 us stays, that of 100 us keeps 20.
  CHECK(digest.kept_pause_ns == 20'000);
  REQUIRE(digest.cuts.size() == 1);
  CHECK(digest.cuts[0].from_ns == 25'000);
  CHECK(digest.cuts[0].lost_ns == 80'000);
}

TEST_CASE("a block is idle while its keys are not accessed, even if its values are", "[access]") {
  const std::vector<double> shares = Log()
                                         .access(1, kWriteKey, 1, 0)
                                         .access(1, kWriteValue, 1, 0)
                                         .access(2, kReadKey, 1, 40, 10)
                                         .access(2, kReadKey, 1, 45, 15)
                                         .access(2, kReadValue, 1, 90, 10)
                                         .idle();
  REQUIRE(shares.size() == 2);
  CHECK(shares[0] == Approx(0.9));  // of values
  CHECK(shares[1] == Approx(0.8));
}

TEST_CASE("a large log is thinned to what a page holds, evenly over time and requests",
          "[access]") {
  const AccessDigest digest = many(10'000).digest({5, 500});
  CHECK(digest.in_steps == 10'000);
  REQUIRE(digest.marks.size() == 500);
  std::set<int> jobs;
  for (std::size_t i = 0; i < digest.marks.size(); ++i) {
    CHECK(digest.marks[i].t_ns / 20'000 == static_cast<std::int64_t>(i));
    jobs.insert(digest.marks[i].job);
  }
  CHECK(jobs.size() == 8);
  CHECK(many(500).digest({5, 500}).marks.size() == 500);
}

TEST_CASE("accesses are sorted by time", "[access]") {
  const AccessDigest digest =
      Log().access(2, kReadKey, 1, 50, 1).access(1, kReadKey, 2, 10, 1).digest();
  CHECK(digest.marks[0].block == 2);
  CHECK(digest.marks[1].t_ns == 40'000);
}

TEST_CASE("an empty log gives an empty digest", "[access]") {
  const AccessDigest digest = Log().digest();
  CHECK(digest.records == 0);
  CHECK(digest.marks.empty());
  CHECK(Log().idle().empty());
}
