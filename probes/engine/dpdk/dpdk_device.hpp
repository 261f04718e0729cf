// DpdkDevice: one device of DPDK that prober, sender and responder of a NIC share. Each has a PacketPort of
// its own over it. Frames that come are sorted by whom they are for; whoever waits first polls the device for
// all, and wakes the other. The device closes with the last of its ports.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "probes/engine/dpdk/arrival_times.hpp"
#include "probes/engine/dpdk/dpdk_arguments.hpp"
#include "probes/engine/dpdk/dpdk_library.hpp"
#include "probes/engine/dpdk/probe_rules.hpp"
#include "probes/engine/dpdk/vdev_sockets.hpp"
#include "probes/nic/packet_engine.hpp"

namespace weft::dpdk {

/// Who a frame is for, by its first bytes: nothing is trusted here, and all is decoded again.
enum class MeantFor : std::uint8_t { prober, responder, nobody };
MeantFor meant_for(ByteSpan frame);

class DpdkDevice : public std::enable_shared_from_this<DpdkDevice> {
 public:
  /// Adds the device to a DPDK that runs. In the calling thread's network namespace. Errors: permission (no
  /// CAP_NET_RAW), usage (its ring holds no frame of this MTU), not_supported (the driver does not open it).
  static Result<std::shared_ptr<DpdkDevice>> open(std::shared_ptr<const DpdkLibrary> library,
                                                  const DeviceSpec& spec, const nic::HostNic& nic,
                                                  const nic::KernelNic& kernel);
  ~DpdkDevice();
  DpdkDevice(const DpdkDevice&) = delete;
  DpdkDevice& operator=(const DpdkDevice&) = delete;

  nic::PacketPorts ports();
  /// The device, whose stamps say when frames came, and whether it has flow rules: in words.
  std::string uses() const;
  ArrivalTimes::Source stamps() const { return times_.source(); }

 private:
  class Port;
  enum class Role : std::uint8_t { prober, responder, sender };
  static constexpr std::size_t kReaders = 2;

  static constexpr std::size_t kMaxUnread = 256;  // of each reader: the module has buffers for as many

  /// Frames that came in, and by the same index their buffers.
  struct Frames {
    std::array<datapath::Arrival, kMaxUnread> arrivals;
    std::array<void*, kMaxUnread> buffers;
    std::size_t count = 0;
  };
  /// What came for one reader and was not read yet.
  struct Inbox {
    std::mutex mutex;
    Frames unread;
    Nanoseconds read_at{};                  // when its reader looked last
    std::atomic<std::uint64_t> dropped{0};  // found no place here
    std::atomic<bool> waits{false};
    os::FileDescriptor wake;  // an eventfd
  };

  DpdkDevice(std::shared_ptr<const DpdkLibrary> library, OpenedPort opened, VdevSockets sockets,
             ArrivalTimes times, std::string name, std::string interface, std::size_t max_frame);
  Result<datapath::SendOutcome> send(Role role, std::span<const ByteSpan> frames);
  Result<void> read(Role role, Nanoseconds until, Frames& into);
  Result<void> poll_until(Nanoseconds until);
  static void wait_at(Inbox& inbox, Nanoseconds until);
  bool is_full_of_unread();
  /// For a reader: in its inbox, or not sorted yet, which may be another's. Any thread.
  bool has_unread(Role role);
  std::size_t poll();
  void sort_in(std::span<const WeftDpdkFrame> came);
  void wake_other(Role role);
  static bool take(Inbox& inbox, Frames& into);
  void release(Frames& frames);
  std::uint64_t overruns(Role role);

  std::shared_ptr<const DpdkLibrary> library_;
  WeftDpdkPort* port_;
  std::uint32_t queues_;
  VdevSockets sockets_;
  ArrivalTimes times_;  // whoever holds `polled_`
  std::string name_;
  std::string interface_;
  std::string no_rules_;
  std::size_t max_frame_;
  std::array<Inbox, kReaders> inboxes_;
  std::atomic_flag polled_;                     // somebody polls the device
  std::mutex sending_;                          // over the device's way out
  std::atomic<bool> left_in_ring_{false};       // of it: the kernel has not taken all yet
  std::mutex counting_;                         // over those below
  std::uint64_t drops_ = 0;                     // of the device and its sockets, since it was opened
  std::array<std::uint64_t, kReaders> told_{};  // of drops_, to each reader
};

}  // namespace weft::dpdk
