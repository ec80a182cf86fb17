#include "workers/workload/input/json_lines.hpp"

#include <lzma.h>

#include <array>
#include <cstdint>

#include "sweeps/files/input_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/engine/base/errors.hpp"

using Catch::Matchers::Contains;
using workload::LineReader;

namespace {

std::string xz(const std::string& text) {
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t used = 0;
  const lzma_ret result = lzma_easy_buffer_encode(
      6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
      reinterpret_cast<std::uint8_t*>(packed.data()), &used, packed.size());
  REQUIRE(result == LZMA_OK);
  packed.resize(used);
  return packed;
}

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

/// Incompressible text, so that a cut falls into the middle of the lines.
std::string noise_lines(int count) {
  std::string text;
  std::uint64_t state = 1;
  for (int line = 0; line < count; ++line) {
    for (int i = 0; i < 100; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      text += static_cast<char>('a' + (state >> 60));
    }
    text += '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("a plain file and its .xz give the same numbered lines", "[json_lines]") {
  const support::TempDir folder;
  const std::string text = "{\"a\": 1}\n{\"b\": 2}\n";
  const std::vector<NumberedLine> expected{{1, "{\"a\": 1}"}, {2, "{\"b\": 2}"}};
  CHECK(lines_of(folder.write("plain.txt", text)) == expected);
  CHECK(lines_of(folder.write("packed.txt", xz(text))) == expected);
}

TEST_CASE("several .xz streams in a row read as one file", "[json_lines]") {
  const support::TempDir folder;
  const std::string path = folder.write("two.xz", xz("one\ntw") + xz("o\n"));
  CHECK(lines_of(path) == std::vector<NumberedLine>{{1, "one"}, {2, "two"}});
}

TEST_CASE("blank lines are skipped and still counted", "[json_lines]") {
  const support::TempDir folder;
  CHECK(lines_of(folder.write("blank", "\none\n \t\r\n\ntwo\n\n")) ==
        std::vector<NumberedLine>{{2, "one"}, {5, "two"}});
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
  CHECK(lines_of(folder.write("long.xz", xz(text))) == expected);
}

TEST_CASE("a truncated .xz is refused with the line that is cut", "[json_lines]") {
  const support::TempDir folder;
  const std::string packed = xz(noise_lines(4'000));
  LineReader reader(folder.write("half.xz", packed.substr(0, packed.size() / 2)));
  int whole_lines = 0;
  const auto read_all = [&] {
    while (reader.next()) ++whole_lines;
  };
  CHECK_THROWS_WITH(read_all(), Contains("half.xz:") && Contains("the file is truncated"));
  CHECK(whole_lines == Approx(2'000).epsilon(0.2));
  CHECK_THROWS_WITH(read_all(), Contains("half.xz:" + std::to_string(whole_lines + 1) + ": "));
}

TEST_CASE("an .xz cut in its head or its very end is refused too", "[json_lines]") {
  const support::TempDir folder;
  const std::string packed = xz("one\ntwo\n");
  const std::string head = folder.write("head.xz", packed.substr(0, 8));
  const std::string tail = folder.write("tail.xz", packed.substr(0, packed.size() - 1));
  CHECK_THAT(refusal(head), Contains("head.xz:1: ") && Contains("truncated"));
  CHECK_THAT(refusal(tail), Contains("tail.xz:3: ") && Contains("truncated"));
}

TEST_CASE("a damaged .xz is refused", "[json_lines]") {
  const support::TempDir folder;
  std::string packed = xz(noise_lines(2'000));
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  CHECK_THAT(refusal(folder.write("bad.xz", packed)), Contains("bad.xz:") && Contains("damaged"));
}

TEST_CASE("a .gz gives the lines of all its members, and a cut one is refused", "[json_lines]") {
  const support::TempDir folder;
  const std::array<unsigned char, 29> bytes = {
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0xcf, 0x4b, 0xe5, 0xe2,
      0x2a, 0x29, 0xcf, 0xe7, 0x02, 0x00, 0xbf, 0x67, 0x44, 0x25, 0x09, 0x00, 0x00, 0x00};
  const std::string packed(bytes.begin(), bytes.end());  // "one\n\ntwo\n"
  const std::string whole = folder.write("two.gz", packed + packed);
  try {
    const std::vector<NumberedLine> expected{{1, "one"}, {3, "two"}, {4, "one"}, {6, "two"}};
    CHECK(lines_of(whole) == expected);
  } catch (const engine::InputError& error) {
    CHECK_THAT(error.what(), Contains("built without"));
    SKIP_TEST("no zlib in this build");
  }
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
  CHECK_THAT(refusal(folder.write("a.parquet", "PAR1 rest")),
             Contains("swesmith_parquet_to_jsonl.py"));
}

TEST_CASE("bad JSON is refused with file, line and column", "[json_lines]") {
  const workload::InputPlace place{"jobs.jsonl", 7};
  CHECK_THROWS_WITH(workload::parse_json("{\"a\": 1, }", place),
                    Contains("jobs.jsonl:7:10: not valid JSON"));
  CHECK_THROWS_WITH(workload::parse_json("{\"a\": ", place),
                    Contains("jobs.jsonl:7:7: not valid JSON"));
  CHECK_THROWS_AS(workload::parse_json("{\"a\": 1e999}", place), engine::InputError);
  CHECK_THROWS_AS(workload::parse_json("\"\xFF\"", place), engine::InputError);
}

TEST_CASE("a wrong type names the field, what was found and what is allowed", "[json_lines]") {
  const workload::InputPlace place{"jobs.jsonl", 3};
  const workload::Json row =
      workload::parse_json(R"({"a": [{"b": 42}], "n": -1, "t": "yes"})", place);
  const workload::JsonField fields(row, "", place);
  CHECK_THROWS_WITH(fields.find("a")->at(0).find("b")->text(),
                    "jobs.jsonl:3: a[0].b is a number (42); allowed: a string");
  CHECK_THROWS_WITH(fields.find("n")->number(0, 10),
                    "jobs.jsonl:3: n is a number (-1); allowed: a number from 0 to 10");
  CHECK_THROWS_WITH(fields.find("t")->boolean(),
                    "jobs.jsonl:3: t is a string (\"yes\"); allowed: true or false");
  CHECK_THROWS_WITH(fields.find("t")->find("x"), Contains("allowed: an object"));
}

TEST_CASE("a line beyond the limit is refused with file, line and limit", "[json_lines]") {
  const support::TempDir folder;
  const std::string longest(workload::kLongestLineBytes, 'x');
  CHECK(lines_of(folder.write("longest", longest + "\nend\n")).size() == 2);
  CHECK_THAT(refusal(folder.write("longer", "one\n" + longest + "x\nend\n")),
             Contains("longer:2: the line is longer than the 32 MiB allowed"));
  CHECK_THAT(refusal(folder.write("open", longest + "xx")), Contains("open:1: the line is longer"));
}

TEST_CASE("an .xz that expands beyond its limit is refused on the way, lines or none",
          "[json_lines]") {
  const support::TempDir folder;
  std::string lines, one_line;
  const std::string newlines = xz(std::string(std::size_t{16} << 20, '\n'));
  const std::string blanks = xz(std::string(std::size_t{16} << 20, ' '));
  for (int stream = 0; stream < 8; ++stream) lines += newlines, one_line += blanks;
  CHECK_THAT(refusal(folder.write("lines.xz", lines)),
             Contains("the .xz data expands too far; allowed: 400 times its size, and 64 MiB"));
  CHECK_THAT(refusal(folder.write("line.xz", one_line)),
             Contains("line.xz:1: the line is longer than the 32 MiB allowed"));
}

TEST_CASE("an .xz that asks for gigabytes to be decoded is refused before it gets them",
          "[json_lines]") {
  const support::TempDir folder;
  std::string packed = xz("{}\n");
  constexpr std::size_t kBlock = 12;  // behind the header of the stream
  const std::size_t dictionary = packed.find("\x21\x01", kBlock) + 2;  // LZMA2, a byte of settings
  const std::size_t header = 4 * (static_cast<unsigned char>(packed[kBlock]) + 1U);
  packed[dictionary] = 40;  // 4 GiB
  const std::uint32_t crc =
      lzma_crc32(reinterpret_cast<const std::uint8_t*>(packed.data()) + kBlock, header - 4, 0);
  for (unsigned i = 0; i < 4; ++i)
    packed[kBlock + header - 4 + i] = static_cast<char>(crc >> (8 * i) & 0xFFU);
  CHECK_THAT(refusal(folder.write("greedy.xz", packed)),
             Contains("greedy.xz:1: the .xz data needs more memory than the 256 MiB allowed"));
}

TEST_CASE("a failed allocation names the file that was read", "[json_lines]") {
  CHECK_THROWS_WITH(sweep::fitting_memory<engine::InputError>(
                        "jobs.jsonl", []() -> int { throw std::bad_alloc(); }),
                    "jobs.jsonl: does not fit into memory");
}

TEST_CASE("a duplicate key, and keys without end, are refused with the line", "[json_lines]") {
  const workload::InputPlace place{"jobs.jsonl", 7};
  CHECK_THROWS_WITH(workload::parse_json(R"({"id": 1, "in": {"id": 2}, "id": 3})", place),
                    "jobs.jsonl:7: not valid JSON: the key \"id\" stands twice in one object");
  std::string many = "{\"0\": 0";
  for (int i = 1; i <= 4096; ++i) many += ", \"" + std::to_string(i) + "\": 0";
  CHECK_THROWS_WITH(workload::parse_json(many + "}", place),
                    Contains("too many keys; allowed: 4096"));
  std::string word(1'000'000, 'x');
  word.front() = '"';
  try {
    workload::parse_json(word, place);
    FAIL("accepted");
  } catch (const engine::InputError& error) {
    CHECK(std::string(error.what()).size() < 400);
  }
  CHECK_THROWS_WITH(workload::parse_json(std::string(1'000'000, '['), place),
                    "jobs.jsonl:7: not valid JSON: is nested too deeply; allowed: 256 levels");
}
