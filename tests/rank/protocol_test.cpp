#include "workers/rank/protocol.hpp"

#include <set>
#include <vector>

#include "tests/support/catch.hpp"

using namespace worker;
using Catch::Matchers::Contains;

namespace {

std::vector<Message> one_of_each() {
  const Hello hello{.host = "n01",
                    .pid = 4711,
                    .start_ticks = 8'000'000'000,
                    .cores = 64,
                    .memory_gib = 503.7,
                    .backend = "sim",
                    .sku = "h100-80gb",
                    .sku_source = "--fake-device",
                    .device_name = "NVIDIA H100 80GB HBM3",
                    .device_mib = 81559,
                    .engine_digest = std::string(64, '5')};
  const Progress progress{
      .finished_jobs = 3, .jobs = 100, .steps = 1'000'000'000'000, .now_s = 1.5, .serving = true};
  return {hello,
          Heartbeat{{7, 1}, progress},
          Done{{8, 2}, std::string("a\0b", 3)},
          Failed{{9, 1}, sweep::CellStatus::infeasible, "no \"room\"", true, true, true},
          Abandoned{{10, 1}},
          Goodbye{true, "no GPU", true},
          Assign{{-1, 3}, "{}"},
          Abandon{{11, 2}},
          Stop{},
          Welcome{"cuda", "{}", std::string(128, '\0'), 1, 4}};
}

std::string frame_with(std::size_t at, std::string_view bytes) {
  std::string frame = encode(Goodbye{});
  frame.replace(at, bytes.size(), bytes);
  return frame;
}

}  // namespace

TEST_CASE("every kind of message arrives as it was sent, with its kind as tag") {
  std::set<int> tags;
  for (const Message& sent : one_of_each()) {
    const Message arrived = decode(encode(sent));
    CHECK(tag_of(arrived) == tag_of(sent));
    CHECK(encode(arrived) == encode(sent));
    tags.insert(tag_of(sent));
  }
  CHECK(tags.size() == std::variant_size_v<Message>);
}

TEST_CASE("the fields of a message keep their values") {
  const Message hello = one_of_each().front();
  CHECK(std::get<Hello>(decode(encode(hello))) == std::get<Hello>(hello));
  const auto failed = std::get<Failed>(decode(encode(one_of_each()[3])));
  CHECK(failed.attempt.cell == 9);
  CHECK(failed.kind == sweep::CellStatus::infeasible);
  CHECK(failed.reason == "no \"room\"");
  CHECK(failed.poisoned);
  CHECK(failed.machine_fault);
  CHECK(failed.wrong_server);
  const auto beat = std::get<Heartbeat>(decode(encode(one_of_each()[1])));
  CHECK(beat.progress.steps == 1'000'000'000'000);
  CHECK(beat.progress.now_s == 1.5);
  CHECK(beat.progress.serving);
}

TEST_CASE("the bytes of a frame are fixed, so that two builds understand each other") {
  // version 7, kind 5, 8 bytes of payload, cell 10, attempt 1, all little-endian
  const std::string expected("\7\0\5\0\10\0\0\0\0\0\0\0\12\0\0\0\1\0\0\0", 20);
  CHECK(encode(Abandoned{{10, 1}}) == expected);
}

TEST_CASE("another protocol version is refused with both numbers") {
  CHECK_THROWS_MATCHES(
      decode(frame_with(0, std::string("\10\0", 2))), ProtocolError,
      Catch::Matchers::Message("message of protocol version 8, this program speaks version 7"));
}

TEST_CASE("an unknown kind, an impossible length, flag or status is refused") {
  CHECK_THROWS_AS(decode(frame_with(2, std::string("\0\0", 2))), ProtocolError);
  CHECK_THROWS_AS(decode(frame_with(2, std::string("\144\0", 2))), ProtocolError);
  CHECK_THROWS_AS(decode(frame_with(4, std::string("\0\0\0\0\0\0\0\177", 8))), ProtocolError);
  CHECK_THROWS_AS(decode(frame_with(12, "\2")), ProtocolError);
  std::string failed = encode(Failed{.reason = {}});
  failed[kFrameHeaderBytes + 8] = 99;
  CHECK_THROWS_AS(decode(failed), ProtocolError);
}

TEST_CASE("every truncation of every message is refused, and so is a byte too many") {
  for (const Message& message : one_of_each()) {
    const std::string frame = encode(message);
    for (std::size_t length = 0; length < frame.size(); ++length) {
      INFO("kind " << tag_of(message) << ", " << length << " of " << frame.size() << " bytes");
      CHECK_THROWS_AS(decode(frame.substr(0, length)), ProtocolError);
    }
    CHECK_THROWS_AS(decode(frame + "x"), ProtocolError);
  }
}

TEST_CASE("messages come out of a stream whatever pieces it arrives in") {
  const std::vector<Message> sent = one_of_each();
  std::string stream;
  for (const Message& message : sent) stream += encode(message);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, std::size_t{13}, stream.size()}) {
    FrameReader reader;
    std::vector<std::string> arrived;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.feed(std::string_view(stream).substr(at, piece));
      while (const auto message = reader.next()) arrived.push_back(encode(*message));
    }
    REQUIRE(arrived.size() == sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) CHECK(arrived[i] == encode(sent[i]));
    CHECK(reader.empty());
  }
}

TEST_CASE("a damaged length is refused by its header, before the bytes it announces") {
  FrameReader reader;
  CHECK_THROWS_WITH(reader.feed(frame_with(4, std::string("\0\0\0\0\0\1\0\0", 8))),
                    Contains("bytes, at most"));
}
