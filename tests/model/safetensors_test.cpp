#include "workers/model/safetensors.hpp"

#include "tests/model/safetensors_file.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"

using nlohmann::json;
using support::safetensors_file;

namespace {

auto parse(const std::string& file) {
  return model::parse_safetensors(std::as_bytes(std::span(file)), "x.safetensors");
}

std::string refusal(const std::string& file) {
  try {
    parse(file);
  } catch (const engine::InputError& error) {
    return error.what();
  }
  return "";
}

/// The error for a tensor "t" with this description, in a file with 8 bytes of data.
std::string refusal_of(const json& tensor) {
  return refusal(safetensors_file(json{{"t", tensor}}.dump(), std::string(8, '\1')));
}

json tensor(const json& dtype, const json& shape, const json& offsets) {
  return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", offsets}};
}

}  // namespace

TEST_CASE("tensors come out of a file with type, shape and bytes") {
  const std::string file = safetensors_file({{"a", "F32", {2}, "abcdefgh"},
                                             {"b", "BF16", {1, 1}, "xy"},
                                             {"none", "F16", {0, 3}, ""},
                                             {"scalar", "U8", {}, "s"}});
  const auto tensors = parse(file);
  REQUIRE(tensors.size() == 4);
  const auto text = [&](const char* name) {
    const auto bytes = tensors.at(name).bytes;
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  CHECK(tensors.at("a").dtype == "F32");
  CHECK(tensors.at("b").shape == std::vector<std::int64_t>{1, 1});
  CHECK(text("a") == "abcdefgh");
  CHECK(text("b") == "xy");
  CHECK(text("none").empty());
  CHECK(text("scalar") == "s");
}

TEST_CASE("a file without tensors is valid") { CHECK(parse(safetensors_file("{}", "")).empty()); }

TEST_CASE("a file too short for its header is refused") {
  CHECK(refusal("") ==
        "x.safetensors: is truncated: found 0 bytes, expected at least the 8 of the header's "
        "length");
  CHECK(refusal(std::string(7, '\0')).find("found 7 bytes") != std::string::npos);
  CHECK(refusal(std::string("\x05\0\0\0\0\0\0\0{}", 10)) ==
        "x.safetensors: the header's length is beyond the file or its limit: found 5, expected at "
        "most 2");
  CHECK(refusal(std::string(8, '\xff') + "{}").find("found 18446744073709551615") !=
        std::string::npos);
}

TEST_CASE("a header that is no JSON object is refused") {
  CHECK(refusal(safetensors_file("{", "")).find("x.safetensors (header): is not JSON") == 0);
  CHECK(refusal(safetensors_file("[]", "")) ==
        "x.safetensors (header): found [], allowed: a JSON object");
  CHECK(refusal(safetensors_file("\xff\xfe", "")).find("is not JSON") != std::string::npos);
  CHECK(refusal(safetensors_file(std::string(100'000, '['), "")).find("is not JSON") !=
        std::string::npos);
}

TEST_CASE("a tensor's description that is damaged is refused with the tensor's name") {
  CHECK(refusal_of(7) ==
        "x.safetensors: tensor \"t\": found 7, expected an object of dtype, shape and "
        "data_offsets");
  CHECK(refusal_of(json{{"dtype", "F32"}, {"shape", {2}}}) ==
        R"(x.safetensors: tensor "t": found {"dtype":"F32","shape":[2]}, expected data_offsets, )"
        "two offsets");
  CHECK(refusal_of(tensor("F33", {2}, {0, 8})) ==
        R"(x.safetensors: tensor "t": found "F33", expected a dtype such as "F32", "BF16" or )"
        R"("F16")");
  CHECK(refusal_of(tensor(4, {2}, {0, 8})).find("expected dtype, a string") != std::string::npos);
  CHECK(refusal_of(tensor("F32", {-2}, {0, 8})) ==
        "x.safetensors: tensor \"t\": found [-2], expected dimensions that are not negative");
  CHECK(refusal_of(tensor("F32", {1.5}, {0, 8})).find("found [1.5]") != std::string::npos);
  CHECK(refusal_of(tensor("F32", {2}, {0})).find("expected two offsets") != std::string::npos);
  CHECK(refusal_of(tensor("F32", {2}, {-8, 0})).find("not negative") != std::string::npos);
}

TEST_CASE("offsets beyond the file, or falling, are refused") {
  const std::string expected =
      ", expected rising data_offsets of at most 8, the bytes of data in the file";
  CHECK(refusal_of(tensor("F32", {2}, {1, 9})) ==
        "x.safetensors: tensor \"t\": found [1,9]" + expected);
  CHECK(refusal_of(tensor("F32", {2}, {8, 0})) ==
        "x.safetensors: tensor \"t\": found [8,0]" + expected);
}

TEST_CASE("offsets that do not match shape and type are refused") {
  CHECK(refusal_of(tensor("F32", {1}, {0, 8})) ==
        "x.safetensors: tensor \"t\": found [0,8], expected a difference of 4 bytes, the size of "
        "F32 [1]");
}

TEST_CASE("a shape with a size that overflows is refused") {
  const std::uint64_t big = 1ULL << 62;
  for (const json& shape : {json{big, 4}, json{8, 8}, json{big, big, big, big}, json{0, big}})
    CHECK(refusal_of(tensor("F32", shape, {0, 8})) ==
          "x.safetensors: tensor \"t\": found " + shape.dump() +
              ", expected a shape that fits into the file's 8 bytes of data");
}

TEST_CASE("tensors that overlap, or leave gaps, are refused") {
  const auto two = [](const json& first, const json& second) {
    const json header{{"a", tensor("U8", {first[1].get<int>() - first[0].get<int>()}, first)},
                      {"b", tensor("U8", {second[1].get<int>() - second[0].get<int>()}, second)}};
    return refusal(safetensors_file(header.dump(), std::string(8, '\1')));
  };
  CHECK(two({0, 4}, {4, 8}).empty());
  CHECK(two({4, 8}, {0, 4}).empty());
  CHECK(two({0, 5}, {4, 8}) ==
        "x.safetensors: tensor \"b\" overlaps the one before: found data at 4, expected 5");
  CHECK(two({0, 8}, {0, 8}).find("overlaps") != std::string::npos);
  CHECK(two({0, 3}, {4, 8}) ==
        "x.safetensors: tensor \"b\" leaves a gap behind the one before: found data at 4, expected "
        "3");
  CHECK(two({0, 4}, {4, 7}) ==
        "x.safetensors: found 8 bytes of data, expected 7, the end of the last tensor");
}
