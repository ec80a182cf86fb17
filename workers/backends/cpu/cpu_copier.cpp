#include "workers/backends/cpu/cpu_copier.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/reference/kv_blocks.hpp"

namespace backends {
namespace {

std::uint64_t checksum(KvArena& arena, std::uint32_t block) {
  return kernels::reference::checksum_block(arena.block(block).data(), arena.block_bytes());
}

}  // namespace

CpuCopier::CpuCopier(KvArena& device, KvArena& host, CopierOptions options)
    : device_(device),
      host_(host),
      options_(std::move(options)),
      slot_checksums_(static_cast<std::size_t>(host.num_blocks())),
      thread_([this](const std::stop_token& stop) { serve(stop); }) {
  if (device.block_bytes() != host.block_bytes())
    throw std::invalid_argument(
        "blocks of device and host differ in size: " + std::to_string(device.block_bytes()) +
        " and " + std::to_string(host.block_bytes()) + " bytes");
}

CpuCopier::~CpuCopier() {
  thread_.request_stop();
  thread_.join();
}

engine::CopyId CpuCopier::submit(engine::CopyDirection direction,
                                 std::span<const engine::BlockCopy> copies, engine::Nanos) {
  Batch batch;
  batch.id = engine::CopyId{++submitted_};
  batch.direction = direction;
  batch.copies.assign(copies.begin(), copies.end());
  copy_late(direction);
  if (options_.checksums) expect_checksums(batch);
  const engine::CopyId id = batch.id;
  {
    const std::lock_guard lock(mutex_);
    queue(direction).push_back(std::move(batch));
  }
  work_.notify_one();
  return id;
}

/// Copies the batches of this direction that were reported done before they were copied, once
/// nothing else is in flight.
void CpuCopier::copy_late(engine::CopyDirection direction) {
  std::unique_lock lock(mutex_);
  Queue& late = late_[static_cast<std::size_t>(direction)];
  if (late.empty()) return;
  progress_.wait(lock, [this] { return idle(); });
  while (!late.empty()) {
    Batch batch = std::move(late.front());
    late.pop_front();
    for (std::size_t i = 0; i < batch.copies.size(); ++i) copy(batch, i);
    if (options_.checksums) verify(batch);
  }
}

/// Records the checksums of a store at submission, since a load submitted behind it may rely on
/// them. Poisons blocks before they are loaded, so that a read before the load gives NaN.
void CpuCopier::expect_checksums(Batch& batch) {
  for (const auto& [block, slot] : batch.copies) {
    std::uint64_t& of_slot = slot_checksums_.at(static_cast<std::size_t>(slot));
    if (batch.direction == engine::CopyDirection::store) {
      of_slot = checksum(device_, index(block));
    } else {
      kernels::reference::poison_block(device_.block(index(block)).data(), device_.block_bytes());
      if (batch.expected.empty()) batch.poison = checksum(device_, index(block));
    }
    batch.expected.push_back(of_slot);
  }
}

void CpuCopier::poll(engine::Nanos, std::vector<engine::CopyDone>& done) {
  std::vector<Batch> batches;
  {
    const std::lock_guard lock(mutex_);
    batches.swap(done_);
  }
  for (const Batch& batch : batches) {
    if (options_.checksums) verify(batch);
    done.push_back({.id = batch.id, .busy = batch.busy});
  }
}

std::string CpuCopier::where(const Batch& batch, std::size_t at) {
  const char* const verb = batch.direction == engine::CopyDirection::store ? "store " : "load ";
  return verb + std::to_string(static_cast<std::uint64_t>(batch.id)) + ", host slot " +
         std::to_string(index(batch.copies[at].slot));
}

void CpuCopier::verify(const Batch& batch) const {
  if (batch.overwritten) throw CorruptBlock(*batch.overwritten);
  for (std::size_t i = 0; i < batch.copies.size(); ++i) {
    const bool checked = i < batch.found.size();
    if (checked && batch.found[i] == batch.expected[i]) continue;
    const engine::BlockId block = batch.copies[i].block;
    if (!checked) throw UncheckedCopy(block, where(batch, i));
    throw CorruptBlock(block, where(batch, i), batch.expected[i], batch.found[i]);
  }
}

bool CpuCopier::withdraw(engine::CopyId id, engine::Nanos) {
  const std::lock_guard lock(mutex_);
  for (Queue& queue : queues_) {
    const auto batch = std::ranges::find(queue, id, &Batch::id);
    if (batch == queue.end() || batch->begun) continue;
    queue.erase(batch);
    progress_.notify_all();
    return true;
  }
  return false;
}

void CpuCopier::wait() {
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [this] { return idle(); });
}

void CpuCopier::serve(const std::stop_token& stop) {
  const engine::WallClock clock;
  std::unique_lock lock(mutex_);
  while (work_.wait(lock, stop, [this] { return !idle(); }) && !stop.stop_requested()) {
    Queue& queue = next_queue();
    // The reference stays valid while batches are added and withdrawn behind it, and a batch that
    // has begun is not withdrawn.
    Batch& batch = queue.front();
    const bool begins = !std::exchange(batch.begun, true);
    lock.unlock();
    if (begins && options_.fault) batch.fault = options_.fault(batch.id);
    const engine::Nanos start = clock.now();
    copy_next(batch);
    batch.busy += clock.now() - start;
    lock.lock();
    if (batch.next == batch.copies.size()) complete(queue);
  }
}

CpuCopier::Queue& CpuCopier::next_queue() {
  turn_ = !turn_;
  Queue& preferred = queues_[turn_ ? 1 : 0];
  return preferred.empty() ? queues_[turn_ ? 0 : 1] : preferred;
}

void CpuCopier::copy_next(Batch& batch) {
  if (batch.fault == CopyFault::complete_early) {
    batch.next = batch.copies.size();
    batch.found = batch.expected;
    const std::lock_guard lock(mutex_);
    late_[static_cast<std::size_t>(batch.direction)].push_back(batch);
    return;
  }
  if (batch.next == batch.copies.size()) return;
  if (batch.fault != CopyFault::skip || batch.next > 0) copy(batch, batch.next);
  if (options_.checksums) {
    const auto& [block, slot] = batch.copies[batch.next];
    const bool store = batch.direction == engine::CopyDirection::store;
    batch.found.push_back(store ? checksum(host_, index(slot)) : checksum(device_, index(block)));
  }
  ++batch.next;
  if (batch.fault == CopyFault::stop_short) batch.next = batch.copies.size();
}

/// Notes the first block that was written after its load was submitted: the load overwrites KV of
/// the block's next request, which may have no checksum yet.
void CpuCopier::expect_poison(Batch& batch, std::size_t at) const {
  const engine::BlockId block = batch.copies[at].block;
  const std::uint64_t found = checksum(device_, index(block));
  if (found != batch.poison && !batch.overwritten)
    batch.overwritten.emplace(block, "before " + where(batch, at), batch.poison, found);
}

void CpuCopier::copy(Batch& batch, std::size_t at) const {
  const auto& [block, slot] = batch.copies[at];
  std::byte* const on_device = device_.block(index(block)).data();
  std::byte* const on_host = host_.block(index(slot)).data();
  const bool store = batch.direction == engine::CopyDirection::store;
  if (options_.checksums && !store) expect_poison(batch, at);
  kernels::reference::copy_block(store ? on_host : on_device, store ? on_device : on_host,
                                 device_.block_bytes());
}

void CpuCopier::complete(Queue& from) {
  done_.push_back(std::move(from.front()));
  from.pop_front();
  progress_.notify_all();
}

}  // namespace backends
