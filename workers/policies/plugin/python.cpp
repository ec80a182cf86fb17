#include "workers/policies/plugin/python.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"

namespace policies {
namespace {

using engine::InputError;

constexpr std::size_t kSendFrom = 1 << 16;  // bytes
/// Makes the module of the user's file importable, whatever the folder, and runs it.
constexpr const char* kStart =
    "import sys, types\n"
    "module = sys.modules['kvsweep_policy'] = types.ModuleType('kvsweep_policy')\n"
    "exec(compile(sys.argv[1], 'kvsweep_policy.py', 'exec'), module.__dict__)\n"
    "module.serve(sys.argv[2])\n";

struct Head {
  std::uint32_t number, size;
};

template <class T>
std::string_view bytes_of(const T* values, std::size_t count = 1) {
  return {reinterpret_cast<const char*>(values), count * sizeof *values};
}
// All of their bytes are sent.
static_assert(std::has_unique_object_representations_v<kvsweep_turn> &&
              std::has_unique_object_representations_v<kvsweep_waiting> &&
              std::has_unique_object_representations_v<kvsweep_program> &&
              sizeof(kvsweep_setup) == 2 * sizeof(int32_t) + 4 * sizeof(double));

/// Takes values from an answer's bytes, one after the other.
template <class T>
void take(std::string_view& bytes, T* values, std::size_t count = 1) {
  std::memcpy(values, bytes.data(), count * sizeof *values);
  bytes.remove_prefix(count * sizeof *values);
}

constexpr std::size_t kNone = 99;  // arguments

/// A table function that sends its arguments to the Python process (its state, a PythonPolicy) in
/// order, an array last without its length. Values returned through pointers follow the result.
/// `array` is the first argument that points to several values; the number of them follows.
template <std::uint32_t number, std::size_t array, class Signature>
struct Sent;
template <std::uint32_t number, std::size_t array, class Result, class... Types>
struct Sent<number, array, Result (*)(void*, Types...)> {
  using Given = std::tuple<Types...>;

  static constexpr bool is_pointer[] = {std::is_pointer_v<Types>...};
  static constexpr std::size_t length_at() {
    std::size_t at = array;
    while (at < sizeof...(Types) && is_pointer[at]) ++at;
    return at;
  }
  template <std::size_t i>
  static std::size_t count(const Given& given) {
    if constexpr (i >= array && i < length_at())
      return static_cast<std::size_t>(std::get<length_at()>(given));
    else
      return 1;
  }
  template <std::size_t i>
  static void add(std::string& values, std::string_view& last, const Given& given) {
    const auto& value = std::get<i>(given);
    if constexpr (!is_pointer[i]) {
      if (i != length_at()) values += bytes_of(&value);
    } else if constexpr (std::is_const_v<std::remove_reference_t<decltype(*value)>>) {
      const std::string_view bytes = bytes_of(value, count<i>(given));
      i >= array ? void(last = bytes) : void(values += bytes);
    }
  }
  template <std::size_t i>
  static constexpr bool is_written =
      is_pointer[i] && !std::is_const_v<std::remove_pointer_t<std::tuple_element_t<i, Given>>>;
  template <std::size_t i>
  static std::size_t written_bytes(const Given& given) {
    if constexpr (is_written<i>)
      return count<i>(given) * sizeof *std::get<i>(given);
    else
      return 0;
  }
  template <std::size_t i>
  static void write(std::string_view& answer, const Given& given) {
    if constexpr (is_written<i>) take(answer, std::get<i>(given), count<i>(given));
  }

  template <std::size_t... i>
  static Result ask(PythonPolicy& python, const Given& given, std::index_sequence<i...>) {
    std::string values;
    std::string_view last;
    (add<i>(values, last, given), ...);
    python.tell(number, values, last);
    constexpr bool is_void = std::is_void_v<Result>;
    std::conditional_t<is_void, char, Result> result{};
    if constexpr (!is_void || (is_written<i> || ...)) {
      std::string_view answer = python.answer((is_void ? 0 : sizeof result) +
                                              (std::size_t{0} + ... + written_bytes<i>(given)));
      if constexpr (!is_void) take(answer, &result);
      (write<i>(answer, given), ...);
    }
    if constexpr (!is_void) return result;
  }
  static Result call(void* state, Types... given) {
    return ask(*static_cast<PythonPolicy*>(state), {given...}, std::index_sequence_for<Types...>());
  }
};

template <auto member, std::size_t array = kNone>
struct Row {};
using T = kvsweep_policy;
/// The functions by their number in kvsweep_policy.py, from 1.
using Rows =
    std::tuple<Row<&T::on_arrival>, Row<&T::on_turn_end>, Row<&T::rank_turn>,
               Row<&T::choose_victim, 0>, Row<&T::admit, 0>, Row<&T::on_program_end>,
               Row<&T::retain>, Row<&T::rank_block>, Row<&T::on_computed>, Row<&T::on_hit>,
               Row<&T::on_released, 2>, Row<&T::on_freed>, Row<&T::on_used>, Row<&T::on_evicted>>;
constexpr std::size_t kFunctions = std::tuple_size_v<Rows>;
/// The size of a class's offer: settings, whether it has each function, and a digest.
constexpr std::size_t kSettings = 16, kDigest = 64, kOffers = kSettings + kFunctions + kDigest;

template <std::uint32_t number, auto member, std::size_t array>
void fill(kvsweep_policy& table, Row<member, array> /*row*/) {
  using Signature = std::remove_reference_t<decltype(table.*member)>;
  table.*member = Sent<number, array, Signature>::call;
}

template <std::size_t... i>
kvsweep_policy table_of(std::string_view offers, std::index_sequence<i...>) {
  kvsweep_policy table{};
  table.version = KVSWEEP_POLICY_VERSION;
  table.size = sizeof table;
  take(offers, &table.rank_each_step);
  take(offers, &table.admission_period_ns);
  take(offers, &table.admission_may_idle);
  ((offers[i] != 0 ? fill<i + 1>(table, std::tuple_element_t<i, Rows>()) : void()), ...);
  return table;
}

/// Starts python3 with `channel` as its descriptor 3.
sweep::ChildProcess start_python(const std::string& path, int channel) {
  sweep::ExecTexts words({"python3", "-B", "-c", kStart, std::string(python_module()), path});
  // Hashes of text are the same in every run.
  sweep::ExecTexts environment(sweep::environment_with({"PYTHONHASHSEED=0"}));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channel, 3);
  pid_t process = -1;
  const int error =
      posix_spawnp(&process, "python3", &actions, nullptr, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw InputError(std::string("needs python3, which cannot be started: ") +
                     std::strerror(error));
  return sweep::ChildProcess(process);
}

}  // namespace

std::string not_loaded_within(engine::Nanos most) {
  return sweep::formatted("is not loaded within %g s", engine::to_seconds(most));
}

PythonPolicy::PythonPolicy(const std::string& path, engine::Nanos most_loading) : path_(path) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw InputError(std::string("cannot be connected to Python: ") + std::strerror(errno));
  channel_ = sweep::Descriptor(ends[0]);
  process_ = start_python(path, sweep::Descriptor(ends[1]).get());
  await_first(most_loading);
  const std::string_view offers = answer(kOffers);
  table_ = table_of(offers, std::make_index_sequence<kFunctions>());
  imported_ = offers.substr(kOffers - kDigest);
  imported_.resize(imported_.find_last_not_of(' ') + 1);
  serves_ = true;
}

PythonPolicy::~PythonPolicy() {
  channel_ = sweep::Descriptor(-1);
  process_.join();
}

/// Waits for the answer that the file gives when it has run. Ends a process that does not give it.
void PythonPolicy::await_first(engine::Nanos most_loading) {
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(most_loading);
  pollfd channel{channel_.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&channel, 1, static_cast<int>(most.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready != 0) return;
  process_.kill();
  fail(not_loaded_within(most_loading));
}

/// Names the key once it serves; while a sweep is read, binding does.
void PythonPolicy::fail(const std::string& what) const {
  throw InputError((serves_ ? "policy.plugin " : "") + what + " (" + path_ + ')');
}

void PythonPolicy::create(const kvsweep_setup& setup) { tell(0, bytes_of(&setup)); }

void PythonPolicy::tell(std::uint32_t function, std::string_view values, std::string_view last) {
  if (unsent_.size() >= kSendFrom) send_all();
  const Head head{function, static_cast<std::uint32_t>(values.size() + last.size())};
  for (const std::string_view part : {bytes_of(&head), values, last}) unsent_ += part;
}

void PythonPolicy::send_all() {
  for (std::size_t sent = 0; sent < unsent_.size();) {
    const ssize_t some =
        send(channel_.get(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) break;  // it has ended, and may have said why
    sent += static_cast<std::size_t>(some);
  }
  unsent_.clear();
}

void PythonPolicy::receive(void* to, std::size_t size) {
  for (std::size_t got = 0; got < size;) {
    const ssize_t some = recv(channel_.get(), static_cast<char*>(to) + got, size - got, 0);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) fail_with_end();
    got += static_cast<std::size_t>(some);
  }
}

std::string_view PythonPolicy::answer(std::size_t size) {
  send_all();
  Head head{};
  receive(&head, sizeof head);
  answer_.resize(head.size);
  receive(answer_.data(), head.size);
  if (head.number == 0) fail("fails in Python: " + answer_);
  if (head.size != size)
    fail("answers with " + std::to_string(head.size) + " bytes in place of " +
         std::to_string(size));
  return answer_;
}

void PythonPolicy::fail_with_end() {
  std::string how;
  try {
    const sweep::ChildEnd end = process_.wait();
    how = end.signal != 0 ? " by signal " + std::to_string(end.signal)
                          : " with exit code " + std::to_string(end.exit_code);
  } catch (const sweep::FileError&) {  // it is known since an earlier call
  }
  fail("has a Python process that has ended" + how);
}

}  // namespace policies
