// What NCCL's proxy threads wait for, collected without a lock and without memory of its own for an event: of
// each operation of a sampled collective (one channel, one peer, one direction) the time that its steps
// waited for the GPU, for the peer and for the network. Handles are numbers, not pointers: a stale or foreign
// one is noticed and ignored. NCCL calls from many threads, each operation and its steps from one. `now` is
// nanoseconds, above 0, of a clock that does not step back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

namespace weft::nccl {

/// What a step waits for. Of a receiving step nobody here can say whether the peer has not sent or the
/// network has not delivered: that is `data`, and the sender's record tells which.
enum class ProxyWait : std::uint8_t { none, gpu, peer, network, data, flush };
inline constexpr std::size_t kProxyWaits = 6;

struct ProfiledCommunicator {
  std::uint64_t id = 0;
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::int32_t nodes = 0;
  std::array<char, 64> name{};
};

/// Text of NCCL's, cut where it is longer.
template <std::size_t kSize>
std::array<char, kSize> short_text(const char* text) {
  std::array<char, kSize> kept{};
  if (text != nullptr)
    for (std::size_t i = 0; i + 1 < kSize && text[i] != '\0'; ++i) kept[i] = text[i];
  return kept;
}

struct ProfiledCollective {
  std::uint64_t sequence = 0;  // of its kind in its communicator, as NCCL counts; of send and receive 0
  std::array<char, 16> function{};
  std::array<char, 16> type{};
  std::array<char, 20> algorithm{};  // of send and receive empty
  std::array<char, 8> protocol{};
  std::uint64_t count = 0;
  std::int32_t peer = -1;  // of send and receive
  std::uint8_t channels = 0;
};

/// What steps of an operation that went by one queue pair waited for the network.
struct ProfiledQp {
  std::uint32_t number = 0;
  std::uint32_t steps = 0;  // 0: no queue pair
  std::uint64_t waited = 0;
};
/// NCCL_IB_QPS_PER_CONNECTION is 1 by default, and 4 where it is raised; of more, those that come later are
/// left out.
inline constexpr std::size_t kQpsOfOperation = 4;

struct ProfiledOperation {
  std::int32_t peer = 0;
  std::uint8_t channel = 0;
  bool sends = false;
  std::uint32_t steps = 0;
  std::uint64_t bytes = 0;
  std::uint64_t took = 0;  // nanoseconds
  std::array<std::uint64_t, kProxyWaits> waited{};
  std::array<ProfiledQp, kQpsOfOperation> qps{};
};

struct ProfileRecord {
  enum class Kind : std::uint8_t { collective, operation } kind = Kind::collective;
  std::uint8_t communicator = 0;
  std::uint64_t serial = 0;  // of the collective in this process
  std::uint64_t at = 0;
  ProfiledCollective collective;
  ProfiledOperation operation;
};

/// An operation of which a step waits now.
struct WaitingOperation {
  std::uint64_t serial = 0;
  std::uint8_t communicator = 0;
  std::int32_t peer = 0;
  std::uint8_t channel = 0;
  bool sends = false;
  ProxyWait wait = ProxyWait::none;
  std::uint64_t since = 0;
};

class ProfileRecorder {
 public:
  static constexpr std::size_t kMaxCommunicators = 64;
  static constexpr std::size_t kMaxOperations = 4096;
  static constexpr std::size_t kMaxRecords = 8192;
  static constexpr std::size_t kStepsUnderWay = 8;  // NCCL_STEPS

  ProfileRecorder();

  /// Null: no room, and nothing of it is recorded.
  void* open(const ProfiledCommunicator& communicator);
  /// Its operations that never ended are forgotten.
  void close(void* context);
  /// Null: no such communicator is open.
  const ProfiledCommunicator* communicator(std::size_t place) const;
  /// Odd while one is open at the place, and another number for each.
  std::uint32_t communicator_life(std::size_t place) const;

  /// Null: none of those sampled, or no room. One of `every` is, by its sequence, so that all ranks sample
  /// the same.
  void* start_collective(void* context, const ProfiledCollective& collective, std::uint32_t every,
                         std::uint64_t now);
  void* start_operation(void* parent, std::int32_t peer, std::uint8_t channel, bool sends, std::uint64_t now);
  void* start_step(void* parent, int step, std::uint64_t now);
  /// `sent` bytes went by this change, and by the queue pair of this number, where that is known.
  void step_waits(void* handle, ProxyWait wait, std::uint64_t sent, std::uint64_t now,
                  std::optional<std::uint32_t> qp = std::nullopt);
  /// Of any event.
  void stop(void* handle, std::uint64_t now);

  /// The next record; false: none. One thread at a time.
  bool take(ProfileRecord& record);
  /// Calls `visit` with each step that waits since `before` or earlier, the longest of an operation.
  template <class Visit>
  void visit_waiting(std::uint64_t before, Visit visit) const;
  /// Events that found no room since the last call.
  std::uint64_t take_dropped() { return dropped_.exchange(0, std::memory_order_relaxed); }

 private:
  struct Communicator {
    std::atomic<std::uint32_t> life{0};  // odd: open
    ProfiledCommunicator about;
  };
  struct Operation {
    std::atomic<std::uint32_t> life{0};  // odd: in use
    std::atomic<std::uint64_t> serial{0};
    std::atomic<std::uint64_t> what{0};  // communicator 8, channel 8, sends 8, peer 32 bits
    std::uint64_t started = 0;
    ProfiledOperation sums;
    std::array<std::atomic<std::uint64_t>, kStepsUnderWay> steps{};  // since << 3 | wait; 0: none
    std::array<std::optional<std::uint32_t>, kStepsUnderWay> qps{};  // by which each was sent
  };
  struct Cell {
    std::atomic<std::uint64_t> turn{0};
    ProfileRecord record;
  };

  Operation* operation_of(std::uint64_t handle);
  bool put(const ProfileRecord& record);
  static void end_wait(Operation& operation, std::size_t step, std::uint64_t before, std::uint64_t now);
  void end_operation(Operation& operation, std::uint32_t life, std::uint64_t now);
  static WaitingOperation describe(const Operation& operation);

  std::mutex opening_;  // communicators open and close seldom
  std::array<Communicator, kMaxCommunicators> communicators_;
  std::array<Operation, kMaxOperations> operations_;
  std::array<Cell, kMaxRecords> cells_;
  std::atomic<std::uint64_t> next_serial_{1};
  std::atomic<std::uint32_t> next_operation_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> head_{0};  // where the next record is put
  std::uint64_t tail_ = 0;              // where the next one is taken
};

template <class Visit>
void ProfileRecorder::visit_waiting(std::uint64_t before, Visit visit) const {
  for (const Operation& operation : operations_) {
    const std::uint32_t life = operation.life.load(std::memory_order_acquire);
    if (life % 2 == 0) continue;
    WaitingOperation waiting = describe(operation);
    if (waiting.wait == ProxyWait::none || waiting.since > before) continue;
    if (operation.life.load(std::memory_order_relaxed) == life) visit(waiting);
  }
}

}  // namespace weft::nccl
