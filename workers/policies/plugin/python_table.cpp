#include "workers/policies/plugin/python_table.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "workers/policies/plugin/python.hpp"

namespace policies {
namespace {

/// Functions by their number in kvsweep_policy.py.
enum Function : std::uint32_t {
  kCreate,
  kOnArrival,
  kOnTurnEnd,
  kRankTurn,
  kChooseVictim,
  kAdmit,
  kOnProgramEnd,
  kRetain,
  kTimeToLive,
  kForecastTool,
  kLearnTool,
  kReturnsBy,
  kCanPredict,
  kScorePrefetch,
  kRankBlock,
  kOnComputed,
  kOnHit,
  kOnReleased,
  kOnFreed,
  kOnUsed,
  kOnEvicted,
  kHostVictim,
  kOnHostPool,
  kOnHostStored,
  kOnHostGone,
  kOnHostHeld,
  kOnHostTurn,
  kFunctions
};
static_assert(kPythonFunctions == kFunctions);
// All of their bytes are sent.
static_assert(std::has_unique_object_representations_v<kvsweep_turn> &&
              std::has_unique_object_representations_v<kvsweep_waiting> &&
              std::has_unique_object_representations_v<kvsweep_program> &&
              std::has_unique_object_representations_v<kvsweep_call> &&
              std::has_unique_object_representations_v<kvsweep_gap_forecast> &&
              sizeof(kvsweep_setup) == 2 * sizeof(int32_t) + 4 * sizeof(double) &&
              sizeof(kvsweep_awaited) ==
                  4 * (sizeof(int64_t) + sizeof(int32_t)) + 3 * sizeof(double));

template <class T>
std::span<const T> all(const T* first, std::int32_t count) {
  return {first, static_cast<std::size_t>(count)};
}

/// Takes values from an answer's bytes, one after the other.
template <class T>
T take(std::span<const std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

/// The function that sends its arguments, pointed to or not, and returns the answer, if any.
template <std::uint32_t F, class Signature>
struct Plain;
template <std::uint32_t F, class Result, class... Types>
struct Plain<F, Result (*)(void*, Types...)> {
  template <class T>
  static const auto& value(const T& given) {
    if constexpr (std::is_pointer_v<T>) {
      return *given;
    } else {
      return given;
    }
  }
  static Result call(void* state, Types... given) {
    auto& python = *static_cast<PythonPolicy*>(state);
    if constexpr (std::is_void_v<Result>) {
      python.tell(F, value(given)...);
    } else {
      auto bytes = python.ask(F, sizeof(Result), value(given)...);
      return take<Result>(bytes);
    }
  }
};

PythonPolicy& python_of(void* state) { return *static_cast<PythonPolicy*>(state); }

uint64_t choose_victim(void* state, const kvsweep_turn* running, int32_t count) {
  auto bytes = python_of(state).ask(kChooseVictim, sizeof(std::uint64_t), all(running, count));
  return take<std::uint64_t>(bytes);
}

void admit(void* state, const kvsweep_program* programs, int32_t* admitted, int32_t count,
           int32_t timer, int64_t now_ns) {
  const std::size_t size = all(programs, count).size() * sizeof *admitted;
  const auto bytes = python_of(state).ask(kAdmit, size, timer, now_ns, all(programs, count));
  std::memcpy(admitted, bytes.data(), bytes.size());
}

void retain(void* state, const kvsweep_turn* turn, kvsweep_gap* gap, int64_t now_ns) {
  auto bytes = python_of(state).ask(kRetain, sizeof *gap, *turn, now_ns);
  *gap = take<kvsweep_gap>(bytes);
}

int64_t time_to_live(void* state, const kvsweep_turn* turn, const kvsweep_gap_forecast* forecast,
                     int32_t* reason, int64_t now_ns) {
  auto bytes =
      python_of(state).ask(kTimeToLive, sizeof(int64_t) + sizeof *reason, *turn, *forecast, now_ns);
  const auto ttl = take<int64_t>(bytes);
  *reason = take<int32_t>(bytes);
  return ttl;
}

int32_t forecast_tool(void* state, const kvsweep_call* call, kvsweep_forecast* forecast) {
  auto bytes = python_of(state).ask(kForecastTool, sizeof(int32_t) + sizeof *forecast, *call);
  const auto known = take<int32_t>(bytes);
  *forecast = take<kvsweep_forecast>(bytes);
  return known;
}

double rank_block(void* state, uint32_t block, int64_t now_ns, int64_t* until_ns) {
  auto bytes = python_of(state).ask(kRankBlock, sizeof(double) + sizeof *until_ns, block, now_ns);
  const auto rank = take<double>(bytes);
  *until_ns = take<int64_t>(bytes);
  return rank;
}

void on_released(void* state, const kvsweep_turn* turn, int32_t finished, const uint32_t* blocks,
                 int32_t count, int64_t now_ns) {
  python_of(state).tell(kOnReleased, *turn, finished, now_ns, all(blocks, count));
}

void on_host_turn(void* state, const kvsweep_turn* turn, const uint64_t* contents, int32_t count,
                  int32_t computed) {
  python_of(state).tell(kOnHostTurn, *turn, computed, all(contents, count));
}

/// Fills the table with the functions that the class has.
class Filler {
 public:
  Filler(kvsweep_policy& table, std::span<const std::byte> has) : table_(table), has_(has) {}

  template <std::uint32_t F, class Signature>
  void plain(Signature kvsweep_policy::*member) {
    own<F>(member, Plain<F, Signature>::call);
  }
  template <std::uint32_t F, class Signature>
  void own(Signature kvsweep_policy::*member, std::type_identity_t<Signature> function) {
    if (has_[F] != std::byte{0}) table_.*member = function;
  }

 private:
  kvsweep_policy& table_;
  std::span<const std::byte> has_;
};

}  // namespace

kvsweep_policy python_table(std::span<const std::byte> offers) {
  kvsweep_policy table{};
  table.version = KVSWEEP_POLICY_VERSION;
  table.size = sizeof table;
  table.rank_each_step = take<int32_t>(offers);
  table.prefetch_ranks_host = take<int32_t>(offers);
  table.admission_period_ns = take<int64_t>(offers);
  table.admission_may_idle = take<int32_t>(offers);
  using Table = kvsweep_policy;
  Filler fill(table, offers);
  fill.plain<kOnArrival>(&Table::on_arrival);
  fill.plain<kOnTurnEnd>(&Table::on_turn_end);
  fill.plain<kRankTurn>(&Table::rank_turn);
  fill.own<kChooseVictim>(&Table::choose_victim, choose_victim);
  fill.own<kAdmit>(&Table::admit, admit);
  fill.plain<kOnProgramEnd>(&Table::on_program_end);
  fill.own<kRetain>(&Table::retain, retain);
  fill.own<kTimeToLive>(&Table::time_to_live, time_to_live);
  fill.own<kForecastTool>(&Table::forecast_tool, forecast_tool);
  fill.plain<kLearnTool>(&Table::learn_tool);
  fill.plain<kReturnsBy>(&Table::returns_by);
  fill.plain<kCanPredict>(&Table::can_predict);
  fill.plain<kScorePrefetch>(&Table::score_prefetch);
  fill.own<kRankBlock>(&Table::rank_block, rank_block);
  fill.plain<kOnComputed>(&Table::on_computed);
  fill.plain<kOnHit>(&Table::on_hit);
  fill.own<kOnReleased>(&Table::on_released, on_released);
  fill.plain<kOnFreed>(&Table::on_freed);
  fill.plain<kOnUsed>(&Table::on_used);
  fill.plain<kOnEvicted>(&Table::on_evicted);
  fill.plain<kHostVictim>(&Table::host_victim);
  fill.plain<kOnHostPool>(&Table::on_host_pool);
  fill.plain<kOnHostStored>(&Table::on_host_stored);
  fill.plain<kOnHostGone>(&Table::on_host_gone);
  fill.plain<kOnHostHeld>(&Table::on_host_held);
  fill.own<kOnHostTurn>(&Table::on_host_turn, on_host_turn);
  return table;
}

std::string imported_digest(std::span<const std::byte> offers) {
  const auto digest = offers.last(kPythonDigest);
  std::string text;
  if (std::ranges::count(digest, std::byte{0}) == kPythonDigest) return text;
  for (const std::byte each : digest)
    for (const int shift : {4, 0})
      text += "0123456789abcdef"[std::to_integer<unsigned>(each) >> shift & 0xF];
  return text;
}

}  // namespace policies
