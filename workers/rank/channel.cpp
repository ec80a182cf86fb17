#include "workers/rank/channel.hpp"

#include <list>
#include <map>
#include <set>

#include "workers/rank/mpi_handles.hpp"

namespace worker {
namespace {

using namespace mpi;
using engine::Nanos;
using std::chrono::microseconds;
using std::chrono::milliseconds;

MPI_Comm world_copy() {
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), -1, "MPI_Comm_set_errhandler");
  MPI_Comm copy = MPI_COMM_NULL;  // with the same error handler
  check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), -1, "MPI_Comm_dup");
  return copy;
}

WorldPlace place_in(MPI_Comm world) {
  WorldPlace place{.local_worker = -1};
  check(MPI_Comm_rank(world, &place.rank), -1, "MPI_Comm_rank");
  check(MPI_Comm_size(world, &place.size), -1, "MPI_Comm_size");
  MPI_Comm workers = MPI_COMM_NULL;
  check(MPI_Comm_split_type(world, place.rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED,
                            place.rank, MPI_INFO_NULL, &workers),
        -1, "MPI_Comm_split_type");
  if (place.rank == 0) return place;
  const Comm node(workers);
  check(MPI_Comm_rank(node.get(), &place.local_worker), -1, "MPI_Comm_rank");
  return place;
}

constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

class World final : public MpiChannel {
 public:
  explicit World(bool on_one_host)
      : session_(on_one_host), world_(world_copy()), place_(place_in(world_.get())) {}

  const WorldPlace& place() const override { return place_; }
  void send(int to, const Message& message) override {
    std::string frame = encode(message);
    const int tag = tag_of(message);
    if (frame.size() <= kPieceBytes) return send_piece(to, tag, std::move(frame));
    for (std::size_t at = 0; at < frame.size(); at += kPieceBytes)
      send_piece(to, tag, frame.substr(at, kPieceBytes));
  }

  void wait(Nanos longest) override {
    if (!ready_.empty()) return;
    if (!sends_.empty() || !receives_.empty()) return while_moving_.sleep(longest);
    while_moving_.restart();
    while_idle_.sleep(longest);
  }

  bool flush(Nanos longest) override {
    const engine::WallClock clock;
    while_moving_.restart();
    exchange();  // and not sends alone: two ends that flush large messages to each other progress
    for (; !sends_.empty() && clock.now() < longest; exchange()) while_moving_.sleep(longest);
    return sends_.empty();
  }

 private:
  void exchange() override {
    end_sends();
    begin_receives();
    end_receives();
    if (!ready_.empty()) while_idle_.restart();
  }

  void send_piece(int to, int tag, std::string bytes) {
    Transfer& piece = sends_.emplace_back(to, tag, std::move(bytes));
    check(MPI_Isend(piece.bytes->data(), static_cast<int>(piece.bytes->size()), MPI_BYTE, to, tag,
                    world_.get(), &piece.request),
          to, "MPI_Isend");
    end_sends();
  }

  void end_sends() {
    if (sends_.remove_if([](Transfer& piece) { return piece.ended("MPI_Test of a send"); }) > 0)
      while_moving_.restart();
  }

  void begin_receives() {
    // A probe that finds nothing still makes progress, and the next one finds what that brings in.
    constexpr int kProbes = 3;
    for (int empty_probes = 0; empty_probes < kProbes;) {
      int found = 0;
      MPI_Message matched = MPI_MESSAGE_NULL;
      MPI_Status status;
      check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, world_.get(), &found, &matched, &status), -1,
            "MPI_Improbe");
      if (found == 0) {
        ++empty_probes;
        continue;
      }
      int size = 0;
      check(MPI_Get_count(&status, MPI_BYTE, &size), status.MPI_SOURCE, "MPI_Get_count");
      Transfer& piece = receives_.emplace_back(status.MPI_SOURCE, status.MPI_TAG,
                                               std::string(static_cast<std::size_t>(size), '\0'));
      check(MPI_Imrecv(piece.bytes->data(), size, MPI_BYTE, &matched, &piece.request), piece.peer,
            "MPI_Imrecv");
    }
  }

  void end_receives() {
    std::set<int> waiting;  // peers with an earlier piece in flight; pieces stay in order
    receives_.remove_if([&](Transfer& piece) {
      if (waiting.contains(piece.peer) || !piece.ended("MPI_Test of a receive")) {
        waiting.insert(piece.peer);
        return false;
      }
      take(piece);
      while_moving_.restart();
      return true;
    });
  }

  void take(const Transfer& piece) {
    FrameReader& reader = frames_[piece.peer];
    reader.feed(*piece.bytes);
    while (std::optional<Message> message = reader.next()) {
      if (tag_of(*message) != piece.tag)
        throw ProtocolError("rank " + std::to_string(piece.peer) + " sent a message of kind " +
                            std::to_string(tag_of(*message)) + " with tag " +
                            std::to_string(piece.tag));
      ready_.push_back({piece.peer, std::move(*message)});
    }
  }

  Session session_;
  Comm world_;
  WorldPlace place_;
  std::list<Transfer> sends_;
  std::list<Transfer> receives_;  // in the order of arrival
  std::map<int, FrameReader> frames_;
  Pause while_idle_{milliseconds(1), milliseconds(50)};
  // MPI moves bytes in flight only inside its calls, so these are frequent.
  Pause while_moving_{microseconds(50), milliseconds(1)};
};

}  // namespace

std::unique_ptr<MpiChannel> join_world(bool on_one_host) {
  return std::make_unique<World>(on_one_host);
}

void abort_job(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace worker
