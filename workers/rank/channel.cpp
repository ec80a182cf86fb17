#include "workers/rank/channel.hpp"

#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>

namespace worker {
namespace {

using engine::Nanos;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Nanos kShortestSleep = milliseconds(1);
constexpr Nanos kLongestSleep = milliseconds(50);
// MPI moves bytes in flight only inside its calls, so these are frequent.
constexpr Nanos kTransferSleep = microseconds(50);
constexpr int kProbes = 3;
constexpr Nanos kLongestTransferSleep = milliseconds(1);

void check(int code, int peer, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  std::string message = std::string(call) + ": " + std::string(text, static_cast<size_t>(length));
  if (peer >= 0) message += " (peer: rank " + std::to_string(peer) + ")";
  throw ChannelError(peer, message);
}

/// Not std::this_thread::sleep_for, which continues to sleep after a signal.
void sleep_for(Nanos duration) {
  const std::int64_t ns = std::max<std::int64_t>(0, duration.count());
  const timespec span{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  nanosleep(&span, nullptr);
}

class Comm {
 public:
  explicit Comm(MPI_Comm raw) : raw_(raw) {}
  ~Comm() { MPI_Comm_free(&raw_); }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  MPI_Comm get() const { return raw_; }

 private:
  MPI_Comm raw_;
};

/// A transfer in flight with the bytes that it reads or writes, which must not move until it has
/// ended.
struct Transfer {
  int peer;
  int tag;
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;

  bool ended(const char* what) {
    int flag = 0;
    check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), peer, what);
    return flag != 0;
  }
};

MPI_Comm world_copy() {
  int initialized = 0;
  int level = MPI_THREAD_SINGLE;
  check(MPI_Initialized(&initialized), -1, "MPI_Initialized");
  if (initialized == 0) throw ChannelError(-1, "MPI is not initialized");
  check(MPI_Query_thread(&level), -1, "MPI_Query_thread");
  if (level < MPI_THREAD_FUNNELED)
    throw ChannelError(-1, "this MPI does not allow threads (MPI_THREAD_FUNNELED)");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), -1, "MPI_Comm_set_errhandler");
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), -1, "MPI_Comm_dup");
  return copy;
}

WorldPlace place_in(MPI_Comm world) {
  WorldPlace place;
  check(MPI_Comm_rank(world, &place.rank), -1, "MPI_Comm_rank");
  check(MPI_Comm_size(world, &place.size), -1, "MPI_Comm_size");
  MPI_Comm raw = MPI_COMM_NULL;
  check(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, place.rank, MPI_INFO_NULL, &raw), -1,
        "MPI_Comm_split_type");
  const Comm node(raw);
  int first_rank = place.rank;
  check(MPI_Comm_rank(node.get(), &place.local_worker), -1, "MPI_Comm_rank");
  check(MPI_Allreduce(&place.rank, &first_rank, 1, MPI_INT, MPI_MIN, node.get()), -1,
        "MPI_Allreduce");
  if (first_rank == 0) --place.local_worker;
  return place;
}

constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

/// Every process of the job.
class World final : public MpiChannel {
 public:
  World() : world_(world_copy()), place_(place_in(world_.get())) {
    check(MPI_Comm_set_errhandler(world_.get(), MPI_ERRORS_RETURN), -1, "MPI_Comm_set_errhandler");
  }
  ~World() override {
    for (auto* transfers : {&sends_, &receives_})
      for (Transfer& left : *transfers) give_up(left);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const WorldPlace& place() const override { return place_; }
  void send(int to, const Message& message) override {
    std::string frame = encode(message);
    const int tag = tag_of(message);
    if (frame.size() <= kPieceBytes) return send_piece(to, tag, std::move(frame));
    for (std::size_t at = 0; at < frame.size(); at += kPieceBytes)
      send_piece(to, tag, frame.substr(at, kPieceBytes));
  }

  std::optional<Received> poll() override {
    if (ready_.empty()) {
      end_sends();
      begin_receives();
      end_receives();
    }
    if (ready_.empty()) return std::nullopt;
    sleep_ = kShortestSleep;
    Received first = std::move(ready_.front());
    ready_.pop_front();
    return first;
  }

  void wait(Nanos longest) override {
    if (!ready_.empty()) return;
    if (!sends_.empty() || !receives_.empty()) {
      sleep_for(std::min(longest, transfer_sleep_));
      transfer_sleep_ = std::min(2 * transfer_sleep_, kLongestTransferSleep);
      return;
    }
    transfer_sleep_ = kTransferSleep;
    sleep_for(std::min(longest, sleep_));
    sleep_ = std::min(sleep_ + sleep_ / 8, kLongestSleep);  // at most a ninth of the whole wait
  }

  bool flush(Nanos longest) override {
    for (Nanos slept{0}; slept < longest; slept += kTransferSleep) {
      end_sends();
      if (sends_.empty()) return true;
      begin_receives();  // lets two ends that flush large messages to each other both progress
      end_receives();
      sleep_for(kTransferSleep);
    }
    return sends_.empty();
  }

 private:
  static void give_up(Transfer& left) {
    // MPI may still access the bytes of a transfer without a matching call of the peer: leaks them
    // so that they live until the process ends.
    if (left.request == MPI_REQUEST_NULL) return;
    MPI_Request_free(&left.request);
    static_cast<void>(new std::string(std::move(left.bytes)));
  }

  void send_piece(int to, int tag, std::string bytes) {
    Transfer& piece = sends_.emplace_back(Transfer{to, tag, std::move(bytes)});
    check(MPI_Isend(piece.bytes.data(), static_cast<int>(piece.bytes.size()), MPI_BYTE, to, tag,
                    world_.get(), &piece.request),
          to, "MPI_Isend");
    end_sends();
  }

  void end_sends() {
    const auto ended =
        sends_.remove_if([](Transfer& piece) { return piece.ended("MPI_Test of a send"); });
    if (ended > 0) transfer_sleep_ = kTransferSleep;
  }

  void begin_receives() {
    // A probe that finds nothing still makes progress, and the next one finds what that brings in.
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
      Transfer& piece = receives_.emplace_back(Transfer{
          status.MPI_SOURCE, status.MPI_TAG, std::string(static_cast<std::size_t>(size), '\0')});
      check(MPI_Imrecv(piece.bytes.data(), size, MPI_BYTE, &matched, &piece.request), piece.peer,
            "MPI_Imrecv");
    }
  }

  void end_receives() {
    std::vector<int> waiting;  // peers with an earlier piece in flight; pieces stay in order
    for (auto piece = receives_.begin(); piece != receives_.end();) {
      const bool blocked = std::find(waiting.begin(), waiting.end(), piece->peer) != waiting.end();
      if (!blocked && piece->ended("MPI_Test of a receive")) {
        take(*piece);
        transfer_sleep_ = kTransferSleep;
        piece = receives_.erase(piece);
      } else {
        waiting.push_back(piece->peer);
        ++piece;
      }
    }
  }

  void take(const Transfer& piece) {
    FrameReader& reader = frames_[piece.peer];
    reader.feed(piece.bytes);
    while (std::optional<Message> message = reader.next()) {
      if (tag_of(*message) != piece.tag)
        throw ProtocolError("rank " + std::to_string(piece.peer) + " sent a message of kind " +
                            std::to_string(tag_of(*message)) + " with tag " +
                            std::to_string(piece.tag));
      ready_.push_back({piece.peer, std::move(*message)});
    }
  }

  Comm world_;
  WorldPlace place_;
  std::list<Transfer> sends_;
  std::list<Transfer> receives_;  // in the order of arrival
  std::map<int, FrameReader> frames_;
  std::deque<Received> ready_;
  Nanos sleep_ = kShortestSleep;
  Nanos transfer_sleep_ = kTransferSleep;
};

}  // namespace

MpiSession::MpiSession(bool on_one_host) {
  if (on_one_host) ::setenv("OMPI_MCA_pml", "ob1", 0);  // unless mpirun or the user named one
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED)
    throw std::runtime_error("MPI cannot be initialized with MPI_THREAD_FUNNELED");
}

MpiSession::~MpiSession() { MPI_Finalize(); }

std::unique_ptr<MpiChannel> join_world() { return std::make_unique<World>(); }

void abort_job(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace worker
