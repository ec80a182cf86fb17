#include "workers/workload/input/json_lines.hpp"

#include <array>
#include <cstdint>

#include "sweeps/text/input_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/json_part.hpp"

using Catch::Matchers::Contains;
using workload::LineReader;

namespace {

struct NumberedLine {
  int number;
  std::string text;
  bool operator==(const NumberedLine&) const = default;
};

std::vector<NumberedLine> lines_of(const std::string& path) {
  std::vector<NumberedLine> lines;
  LineReader reader(path);
  while (const auto line = reader.next())
    lines.push_back({reader.place().line, std::string(*line)});
  return lines;
}

std::string refusal(const std::string& path) {
  try {
    lines_of(path);
  } catch (const engine::InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("blank lines are skipped and still counted", "[json_lines]") {
  const support::TempDir folder;
  CHECK(lines_of(folder.write("blank", "\none\n \t\r\n\ntwo\n\n")) ==
        std::vector<NumberedLine>{{2, "one"}, {5, "two"}});
}

TEST_CASE("a byte order mark before the first line is no part of it", "[json_lines]") {
  const support::TempDir folder;
  CHECK(lines_of(folder.write("marked", "\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")) ==
        std::vector<NumberedLine>{{1, "one"}, {2, "\xef\xbb\xbftwo"}});
  CHECK(lines_of(folder.write("blank", "\xef\xbb\xbf\none\n")) ==
        std::vector<NumberedLine>{{2, "one"}});
}

TEST_CASE("a last line needs no line end", "[json_lines]") {
  const support::TempDir folder;
  CHECK(lines_of(folder.write("open", "one\ntwo")) ==
        std::vector<NumberedLine>{{1, "one"}, {2, "two"}});
}

TEST_CASE("lines longer than a read are returned whole", "[json_lines]") {
  const support::TempDir folder;
  const std::string longest(1'000'000, 'x');
  const std::string exact(64 * 1024 - 1, 'y');
  const std::string text = exact + "\n" + longest + "\nz\n";
  const std::vector<NumberedLine> expected{{1, exact}, {2, longest}, {3, "z"}};
  CHECK(lines_of(folder.write("long", text)) == expected);
}

TEST_CASE("a .gz gives the lines of all its members, and a cut one is refused", "[json_lines]") {
  const support::TempDir folder;
  const std::array<unsigned char, 29> bytes = {
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0xcf, 0x4b, 0xe5, 0xe2,
      0x2a, 0x29, 0xcf, 0xe7, 0x02, 0x00, 0xbf, 0x67, 0x44, 0x25, 0x09, 0x00, 0x00, 0x00};
  const std::string packed(bytes.begin(), bytes.end());  // "one\n\ntwo\n"
  const std::string whole = folder.write("two.gz", packed + packed);
  const std::vector<NumberedLine> expected{{1, "one"}, {3, "two"}, {4, "one"}, {6, "two"}};
  CHECK(lines_of(whole) == expected);
  CHECK_THAT(refusal(folder.write("cut.gz", packed.substr(0, 25))), Contains("truncated"));
  CHECK_THAT(refusal(folder.write("bad.gz", packed.substr(0, 12) + "????" + packed.substr(16))),
             Contains("damaged"));
}

TEST_CASE("files that cannot hold lines are refused by name", "[json_lines]") {
  const support::TempDir folder;
  CHECK_THAT(refusal((folder.path() / "absent.jsonl").string()),
             Contains("absent.jsonl: cannot be opened"));
  CHECK_THAT(refusal(folder.path().string()), Contains("is a folder"));
  CHECK_THAT(refusal(folder.write("empty", "")), Contains("empty: is empty"));
  CHECK_THAT(
      refusal(folder.write("a.parquet", "PAR1 rest")),
      Contains("the file is parquet; allowed: text, plain or .gz (python3 -m kvsweep.traces"));
  CHECK_THAT(refusal(folder.write("a.xz",
                                  "\xFD"
                                  "7zXZ rest")),
             Contains("the file is xz"));
  CHECK_THAT(refusal(folder.write("a.zst", "\x28\xB5\x2F\xFD rest")), Contains("is zstd"));
}

TEST_CASE("bad JSON is refused with file, line and column", "[json_lines]") {
  const workload::InputPlace place{"jobs.jsonl", 7};
  CHECK_THROWS_WITH(workload::parsed_line("{\"a\": 1, }", place),
                    Contains("jobs.jsonl:7:10: not valid JSON"));
  CHECK_THROWS_WITH(workload::parsed_line("{\"a\": ", place),
                    Contains("jobs.jsonl:7:7: not valid JSON"));
  CHECK_THROWS_AS(workload::parsed_line("{\"a\": 1e999}", place), engine::InputError);
  CHECK_THROWS_AS(workload::parsed_line("\"\xFF\"", place), engine::InputError);
}

TEST_CASE("a line beyond the limit is refused with file, line and limit", "[json_lines]") {
  const support::TempDir folder;
  const std::string longest(workload::kLongestLineBytes, 'x');
  CHECK(lines_of(folder.write("longest", longest + "\nend\n")).size() == 2);
  CHECK_THAT(refusal(folder.write("longer", "one\n" + longest + "x\nend\n")),
             Contains("longer:2: the line is longer than the 32 MiB allowed"));
  CHECK_THAT(refusal(folder.write("open", longest + "xx")), Contains("open:1: the line is longer"));
}

TEST_CASE("a failed allocation names the file that was read", "[json_lines]") {
  CHECK_THROWS_WITH(sweep::or_no_memory<engine::InputError>(
                        "jobs.jsonl", []() -> int { throw std::bad_alloc(); }),
                    "jobs.jsonl: does not fit into memory");
}

TEST_CASE("a duplicate key, and keys without end, are refused with the line", "[json_lines]") {
  const workload::InputPlace place{"jobs.jsonl", 7};
  CHECK_THROWS_WITH(workload::parsed_line(R"({"id": 1, "in": {"id": 2}, "id": 3})", place),
                    "jobs.jsonl:7: not valid JSON: the key \"id\" stands twice in one object");
  std::string word(1'000'000, 'x');
  word.front() = '"';
  try {
    workload::parsed_line(word, place);
    FAIL("accepted");
  } catch (const engine::InputError& error) {
    CHECK(std::string(error.what()).size() < 400);
  }
  CHECK_THROWS_WITH(workload::parsed_line(std::string(1'000'000, '['), place),
                    "jobs.jsonl:7: not valid JSON: is nested too deeply; allowed: 256 levels");
}
