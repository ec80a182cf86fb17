#include "workers/workload/request_list.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/workload/generated_jobs.hpp"
#include "workers/engine/base/errors.hpp"

using namespace workload;
using Catch::Matchers::Contains;

namespace {

int total(const std::vector<RequestSize>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 0, [](int sum, const RequestSize& size) {
    return sum + size.prompt_tokens + size.output_tokens;
  });
}

/// A file that is removed after the test.
struct TextFile {
  explicit TextFile(const std::string& text)
      : path((std::filesystem::temp_directory_path() / "kvsweep-lengths-test.txt").string()) {
    std::ofstream(path) << text;
  }
  ~TextFile() { std::filesystem::remove(path); }
  std::string path;
};

std::string list_refusal(const std::string& file_text) {
  const TextFile file(file_text);
  try {
    read_sizes(file.path);
  } catch (const engine::InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("Zipf sizes are those of the published batch, request for request", "[requests]") {
  const auto sizes = zipf_sizes(
      {.count = 20, .min = 128, .max = 2048, .theta = 0.6, .seed = 1234, .prompt_to_output = 20});
  REQUIRE(sizes.size() == 20);
  CHECK(sizes[0] == RequestSize{166, 9});
  CHECK(sizes[1] == RequestSize{719, 36});
  CHECK(sizes[2] == RequestSize{388, 20});
  CHECK(sizes[3] == RequestSize{1152, 58});
  CHECK(total(sizes) == 15'868);
}

TEST_CASE("Zipf sizes stay in their range, and small ones are common", "[requests]") {
  for (const double theta : {0.1, 0.6, 0.99}) {
    const auto sizes = zipf_sizes({.count = 5000, .min = 10, .max = 1009, .theta = theta});
    int small = 0;
    for (const RequestSize& size : sizes) {
      const int sum = size.prompt_tokens + size.output_tokens;
      REQUIRE((sum >= 10 && sum <= 1009));
      REQUIRE((size.prompt_tokens >= 1 && size.output_tokens >= 1));
      small += sum < 10 + 500 ? 1 : 0;
    }
    CHECK(small > (theta > 0.5 ? 3200 : 2500));
  }
}

TEST_CASE("the output is its share of a request, rounded up, and never all of it", "[requests]") {
  for (const double ratio : {0.01, 0.5, 1.0, 20.0, 1000.0}) {
    for (const RequestSize& size :
         zipf_sizes({.count = 200, .min = 2, .max = 40, .prompt_to_output = ratio})) {
      const int sum = size.prompt_tokens + size.output_tokens;
      const auto share = static_cast<int>(std::ceil(sum / (1 + ratio)));
      CHECK(size.output_tokens == std::min(share, sum - 1));
    }
  }
}

TEST_CASE("a law that is none is refused with what is allowed", "[requests]") {
  CHECK_THROWS_AS(zipf_sizes({.count = 0}), engine::InputError);
  CHECK_THROWS_AS(zipf_sizes({.min = 1}), engine::InputError);
  CHECK_THROWS_AS(zipf_sizes({.min = 100, .max = 101}), engine::InputError);
  CHECK_THROWS_AS(zipf_sizes({.theta = 1}), engine::InputError);
  CHECK_THROWS_AS(zipf_sizes({.prompt_to_output = 0}), engine::InputError);
  CHECK_THROWS_WITH(zipf_sizes({.theta = 1.5}),
                    Contains("workload.theta: found 1.5, allowed above 0 and below 1"));
}

TEST_CASE("requests are written as prompt+output, separated by blanks or commas", "[requests]") {
  CHECK(parse_sizes("430+1024 3600+496") == std::vector<RequestSize>{{430, 1024}, {3600, 496}});
  CHECK(parse_sizes(" 1+1,2+3 , 4+5 ").size() == 3);
  for (const char* wrong : {"", "  ", "12", "12+", "+12", "0+1", "1+0", "-1+2", "1+2+3", "a+b"})
    CHECK_THROWS_AS(parse_sizes(wrong), engine::InputError);
  CHECK_THROWS_WITH(parse_sizes("1+2 3x4"), Contains("\"3x4\""));
}

TEST_CASE("a file of lengths has two numbers a line, and says where it has not", "[requests]") {
  const TextFile file("# prompt output\n378 68\n\n  29\t166  \r\n");
  CHECK(read_sizes(file.path) == std::vector<RequestSize>{{378, 68}, {29, 166}});
  CHECK_THAT(list_refusal("1 2\n3\n"), Contains(":2: found \"3\", allowed two numbers of tokens"));
  CHECK_THAT(list_refusal("1 2 3\n"), Contains(":1: "));
  CHECK_THAT(list_refusal("1 0\n"), Contains(":1: "));
  CHECK(list_refusal("1 2\n" + std::string(100'000, '1')).size() < 400);
  CHECK_THAT(list_refusal("# nothing\n"), Contains("holds no request"));
  CHECK_THROWS_AS(read_sizes("/no/such/file"), engine::InputError);
}

TEST_CASE("a list becomes jobs of one turn that share no block", "[requests]") {
  const Workload w = make_request_list({.sizes = FixedSizes{40, {33, 5}}});
  REQUIRE(w.jobs.size() == 40);
  std::set<std::string> ids;
  std::set<engine::TokenId> first;
  for (const Job& job : w.jobs) {
    REQUIRE(job.turns.size() == 1);
    CHECK(job.turns[0].prompt_tokens == 33);
    CHECK(job.turns[0].output_tokens == 5);
    CHECK(job.tokens.size() == 38);
    ids.insert(job.id);
    first.insert(job.tokens[0]);
  }
  CHECK((ids.size() == 40 && first.size() == 40));
  CHECK(generated::repeated_blocks(w, 0) == 0);
}

TEST_CASE("the first of a list can be taken alone, as far as there are any", "[requests]") {
  const ListedSizes listed{parse_sizes("1+2 3+4 5+6")};
  const Workload two = make_request_list({.sizes = listed, .first = 2});
  REQUIRE(two.jobs.size() == 2);
  CHECK(two.jobs[1].turns[0].prompt_tokens == 3);
  CHECK(two.jobs[1].tokens == make_request_list({.sizes = listed}).jobs[1].tokens);
  CHECK_THROWS_WITH(make_request_list({.sizes = listed, .first = 4}),
                    Contains("workload.n: found 4, allowed 1 to the 3 requests there are"));
}
