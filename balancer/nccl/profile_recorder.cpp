#include "balancer/nccl/profile_recorder.hpp"

#include <bit>

namespace weft::nccl {
namespace {

// Handles, from the lowest bit on. All: kind 2 (never 0, so that none is null). A communicator: place 8. A
// collective: communicator 8, serial 54. An operation and a step: operation 16, step 4 (of a step), life 32.
enum HandleKind : std::uint64_t { kCommunicator = 0, kCollective = 1, kOperation = 2, kStep = 3 };
constexpr std::uint64_t kOpenMark = 1U << 16U;  // a communicator's handle is not null

void* to_handle(std::uint64_t bits) { return std::bit_cast<void*>(bits); }
std::uint64_t bits_of(void* handle) { return std::bit_cast<std::uint64_t>(handle); }
HandleKind kind_of(std::uint64_t bits) { return static_cast<HandleKind>(bits & 3U); }

std::uint64_t operation_bits(std::size_t place, std::uint32_t life) {
  return kOperation | place << 2U | std::uint64_t{life} << 24U;
}
std::size_t place_of(std::uint64_t bits) { return (bits >> 2U) & 0xFFFFU; }
std::size_t step_of(std::uint64_t bits) { return (bits >> 18U) & 0xFU; }
std::uint32_t life_of(std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 24U); }

std::uint64_t pack(ProxyWait wait, std::uint64_t since) {
  return since << 3U | static_cast<std::uint64_t>(wait);
}
ProxyWait wait_of(std::uint64_t packed) { return static_cast<ProxyWait>(packed & 7U); }

}  // namespace

ProfileRecorder::ProfileRecorder() {
  for (std::size_t i = 0; i < kMaxRecords; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
}

void* ProfileRecorder::open(const ProfiledCommunicator& about) {
  const std::lock_guard lock(opening_);
  for (std::size_t place = 0; place < kMaxCommunicators; ++place) {
    Communicator& slot = communicators_[place];
    if (slot.life.load(std::memory_order_relaxed) % 2 != 0) continue;
    slot.about = about;
    slot.life.fetch_add(1, std::memory_order_release);
    return to_handle(kCommunicator | place << 2U | kOpenMark);
  }
  return nullptr;
}

void ProfileRecorder::close(void* context) {
  const std::uint64_t bits = bits_of(context);
  if (bits == 0 || kind_of(bits) != kCommunicator || place_of(bits & ~kOpenMark) >= kMaxCommunicators) return;
  const std::size_t place = place_of(bits & ~kOpenMark) & 0xFFU;
  const std::lock_guard lock(opening_);
  for (Operation& operation : operations_) {
    std::uint32_t life = operation.life.load(std::memory_order_acquire);
    if (life % 2 != 0 && (operation.what.load(std::memory_order_relaxed) & 0xFFU) == place)
      operation.life.compare_exchange_strong(life, life + 1);
  }
  Communicator& slot = communicators_[place];
  if (slot.life.load(std::memory_order_relaxed) % 2 != 0) slot.life.fetch_add(1, std::memory_order_release);
}

const ProfiledCommunicator* ProfileRecorder::communicator(std::size_t place) const {
  if (place >= kMaxCommunicators) return nullptr;
  const Communicator& slot = communicators_[place];
  return slot.life.load(std::memory_order_acquire) % 2 != 0 ? &slot.about : nullptr;
}

std::uint32_t ProfileRecorder::communicator_life(std::size_t place) const {
  return place < kMaxCommunicators ? communicators_[place].life.load(std::memory_order_acquire) : 0;
}

void* ProfileRecorder::start_collective(void* context, const ProfiledCollective& collective,
                                        std::uint32_t every, std::uint64_t now) {
  const std::uint64_t bits = bits_of(context);
  const std::size_t place = place_of(bits & ~kOpenMark);
  if (bits == 0 || kind_of(bits) != kCommunicator || communicator(place) == nullptr) return nullptr;
  if (every == 0 || collective.sequence % every != 0) return nullptr;
  ProfileRecord record;
  record.kind = ProfileRecord::Kind::collective;
  record.communicator = static_cast<std::uint8_t>(place);
  record.serial = next_serial_.fetch_add(1, std::memory_order_relaxed);
  record.at = now;
  record.collective = collective;
  if (!put(record)) return nullptr;
  return to_handle(kCollective | place << 2U | record.serial << 10U);
}

void* ProfileRecorder::start_operation(void* parent, std::int32_t peer, std::uint8_t channel, bool sends,
                                       std::uint64_t now) {
  constexpr std::uint32_t kTries = 64;
  const std::uint64_t bits = bits_of(parent);
  if (kind_of(bits) != kCollective || communicator((bits >> 2U) & 0xFFU) == nullptr) return nullptr;
  const std::uint32_t first = next_operation_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kTries; ++i) {
    const std::size_t place = (first + i) % kMaxOperations;
    Operation& operation = operations_[place];
    std::uint32_t life = operation.life.load(std::memory_order_relaxed);
    // An odd life means that it is in use. While it is filled it is so already, with no step that waits.
    if (life % 2 != 0 || !operation.life.compare_exchange_strong(life, life + 1, std::memory_order_acquire))
      continue;
    for (auto& step : operation.steps) step.store(0, std::memory_order_relaxed);
    operation.serial.store(bits >> 10U, std::memory_order_relaxed);
    operation.what.store(((bits >> 2U) & 0xFFU) | std::uint64_t{channel} << 8U | std::uint64_t{sends} << 16U |
                             std::uint64_t{static_cast<std::uint32_t>(peer)} << 32U,
                         std::memory_order_relaxed);
    operation.started = now;
    operation.sums = ProfiledOperation{.peer = peer, .channel = channel, .sends = sends};
    return to_handle(operation_bits(place, life + 1));
  }
  dropped_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

ProfileRecorder::Operation* ProfileRecorder::operation_of(std::uint64_t handle) {
  const auto kind = kind_of(handle);
  if ((kind != kOperation && kind != kStep) || place_of(handle) >= kMaxOperations) return nullptr;
  Operation& operation = operations_[place_of(handle)];
  return operation.life.load(std::memory_order_relaxed) == life_of(handle) ? &operation : nullptr;
}

void* ProfileRecorder::start_step(void* parent, int step, std::uint64_t now) {
  const std::uint64_t bits = bits_of(parent);
  Operation* const operation = kind_of(bits) == kOperation ? operation_of(bits) : nullptr;
  if (operation == nullptr) return nullptr;
  const std::size_t place = static_cast<std::uint32_t>(step) % kStepsUnderWay;
  operation->qps[place].reset();
  operation->steps[place].store(pack(ProxyWait::none, now), std::memory_order_release);
  return to_handle(bits | kStep | place << 18U);
}

void ProfileRecorder::end_wait(Operation& operation, std::size_t step, std::uint64_t before,
                               std::uint64_t now) {
  const std::uint64_t waited = now - (before >> 3U);
  operation.sums.waited[static_cast<std::size_t>(wait_of(before))] += waited;
  if (wait_of(before) != ProxyWait::network || !operation.qps[step]) return;
  for (ProfiledQp& qp : operation.sums.qps) {
    if (qp.steps != 0 && qp.number != *operation.qps[step]) continue;
    qp.number = *operation.qps[step];
    ++qp.steps;
    qp.waited += waited;
    return;
  }
}

void ProfileRecorder::step_waits(void* handle, ProxyWait wait, std::uint64_t sent, std::uint64_t now,
                                 std::optional<std::uint32_t> qp) {
  const std::uint64_t bits = bits_of(handle);
  Operation* const operation = kind_of(bits) == kStep ? operation_of(bits) : nullptr;
  if (operation == nullptr) return;
  const std::size_t place = step_of(bits) % kStepsUnderWay;
  auto& step = operation->steps[place];
  const std::uint64_t before = step.load(std::memory_order_relaxed);
  operation->sums.bytes += sent;
  // NCCL says again that it waits for the peer with each try.
  if (before == 0 || wait_of(before) == wait) return;
  end_wait(*operation, place, before, now);
  operation->qps[place] = qp;
  step.store(pack(wait, now), std::memory_order_release);
}

void ProfileRecorder::end_operation(Operation& operation, std::uint32_t life, std::uint64_t now) {
  ProfileRecord record;
  record.kind = ProfileRecord::Kind::operation;
  record.communicator = static_cast<std::uint8_t>(operation.what.load(std::memory_order_relaxed) & 0xFFU);
  record.serial = operation.serial.load(std::memory_order_relaxed);
  record.at = now;
  record.operation = operation.sums;
  record.operation.took = now - operation.started;
  if (operation.life.compare_exchange_strong(life, life + 1, std::memory_order_release)) put(record);
}

void ProfileRecorder::stop(void* handle, std::uint64_t now) {
  const std::uint64_t bits = bits_of(handle);
  Operation* const operation = operation_of(bits);
  if (operation == nullptr) return;
  if (kind_of(bits) == kOperation) {
    end_operation(*operation, life_of(bits), now);
    return;
  }
  const std::size_t place = step_of(bits) % kStepsUnderWay;
  const std::uint64_t before = operation->steps[place].exchange(0, std::memory_order_relaxed);
  if (before == 0) return;
  end_wait(*operation, place, before, now);
  ++operation->sums.steps;
}

// Loads acquire, so that the look at its life that follows them says whether it was the same one throughout.
WaitingOperation ProfileRecorder::describe(const Operation& operation) {
  // The steps first: one that waits was stored behind what its operation is.
  WaitingOperation waiting{};
  for (const auto& step : operation.steps) {
    const std::uint64_t packed = step.load(std::memory_order_acquire);
    if (wait_of(packed) == ProxyWait::none) continue;
    if (waiting.wait == ProxyWait::none || packed >> 3U < waiting.since) {
      waiting.wait = wait_of(packed);
      waiting.since = packed >> 3U;
    }
  }
  const std::uint64_t what = operation.what.load(std::memory_order_acquire);
  waiting.serial = operation.serial.load(std::memory_order_acquire);
  waiting.communicator = static_cast<std::uint8_t>(what & 0xFFU);
  waiting.peer = static_cast<std::int32_t>(static_cast<std::uint32_t>(what >> 32U));
  waiting.channel = static_cast<std::uint8_t>((what >> 8U) & 0xFFU);
  waiting.sends = ((what >> 16U) & 1U) != 0;
  return waiting;
}

// Many put, one takes: each cell says whose turn it is (Vyukov's bounded queue).
bool ProfileRecorder::put(const ProfileRecord& record) {
  std::uint64_t head = head_.load(std::memory_order_relaxed);
  for (;;) {
    Cell& cell = cells_[head % kMaxRecords];
    const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
    if (turn < head) {  // full
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    if (turn == head && head_.compare_exchange_weak(head, head + 1, std::memory_order_relaxed)) {
      cell.record = record;
      cell.turn.store(head + 1, std::memory_order_release);
      return true;
    }
    if (turn != head) head = head_.load(std::memory_order_relaxed);
  }
}

bool ProfileRecorder::take(ProfileRecord& record) {
  Cell& cell = cells_[tail_ % kMaxRecords];
  if (cell.turn.load(std::memory_order_acquire) != tail_ + 1) return false;
  record = cell.record;
  cell.turn.store(tail_ + kMaxRecords, std::memory_order_release);
  ++tail_;
  return true;
}

}  // namespace weft::nccl
