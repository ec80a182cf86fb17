#include <filesystem>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/files/sha256.hpp"
#include "tests/fuzz/targets.hpp"
#include "workers/rank/protocol.hpp"

namespace fuzz {
namespace {

bool frames(std::string_view bytes) {
  return accepted<worker::ProtocolError>("", [&] {
    worker::FrameReader reader;
    std::string again;
    for (std::size_t at = 0; at < bytes.size(); at += 7) {
      reader.feed(bytes.substr(at, 7));
      while (const auto message = reader.next()) again += worker::encode(*message);
    }
    if (!bytes.starts_with(again)) throw Undocumented("understood as something else");
  });
}

std::vector<std::string> frame_seeds() {
  using namespace worker;
  const std::vector<Message> messages = {
      Hello{.host = "n01", .pid = 4711, .cores = 64, .backend = "sim", .sku = "h100-80gb"},
      Heartbeat{{7, 1}, {}},
      Done{{8, 2}, std::string("a\0b", 3)},
      Failed{{9, 1}, sweep::CellStatus::infeasible, "no \"room\"", true},
      Abandoned{{10, 1}},
      Goodbye{true},
      Assign{{-1, 3}, "{}"},
      Abandon{{11, 2}},
      Stop{},
      Welcome{"cuda", "{}", std::string(128, '\0'), 1, 4}};
  std::vector<std::string> seeds(1);
  for (const Message& message : messages) {
    seeds.push_back(encode(message));
    seeds.front() += seeds.back();
  }
  return seeds;
}

const std::string kKey(64, 'a');

std::string shard() {
  sweep::ShardContents contents;
  contents.record.key = kKey;
  contents.record.label = "gpu=h100-80gb";
  contents.record.config_json = std::string("{}");
  contents.record.axes = {{"gpu", std::string("h100-80gb")}};
  contents.record.status = sweep::CellStatus::failed;
  contents.record.reason = "why";
  return sweep::shard_bytes(contents);
}

bool shard_of(std::string_view bytes) {
  return accepted<sweep::ArchiveError>("the shard",
                                       [&] { sweep::open_shard(std::string(bytes), "the shard"); });
}

/// With the trailer that the bytes ask for: they reach the reader of tables.
bool repaired(std::string_view bytes) {
  static const InputFile kFile;
  const std::string body(bytes);
  const std::string& path =
      kFile.holding(body + "\nkvsweep shard sha256 " + sweep::sha256_of(body) + '\n');
  return accepted<sweep::ArchiveError>(path, [&] { sweep::open_shard(path).load(kKey); });
}

}  // namespace

Target frames_target() { return {"frames", frames, frame_seeds}; }

Target shard_target() {
  return {"shard", shard_of, [] { return std::vector<std::string>{shard()}; }};
}

Target repaired_shard_target() {
  return {"repaired_shard",
          repaired,
          [] {
            const std::string whole = shard();
            return std::vector<std::string>{whole.substr(0, whole.rfind("\nkvsweep shard"))};
          },
          {},
          false};
}

}  // namespace fuzz
