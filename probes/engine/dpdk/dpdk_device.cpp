#include "probes/engine/dpdk/dpdk_device.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "probes/packet/probe_frame.hpp"

namespace weft::dpdk {
namespace {

constexpr std::size_t kBatch = 64;  // frames of one burst
constexpr std::size_t kMinRing = std::size_t{256} << 10;
constexpr std::size_t kTag = 4;  // of IEEE 802.1Q
constexpr auto kFlushAgain = std::chrono::milliseconds(1);
// A reader that was here so lately reads on soon: what it has no place for stays in the ring.
constexpr auto kPresent = std::chrono::seconds(1);
constexpr auto kGiveWay = std::chrono::microseconds(200);

Nanoseconds steady_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

/// True when one of them is ready before `until`.
bool wait_for(std::span<pollfd> ready, Nanoseconds until) {
  const auto left = std::max(until - steady_now(), Nanoseconds(0));
  const timespec time{.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000),
                      .tv_nsec = static_cast<long>(left.count() % 1'000'000'000)};
  return ::ppoll(ready.data(), ready.size(), &time, nullptr) > 0;
}

/// The sockets of a device in a list that wait_for takes.
template <class Sockets>
std::span<pollfd> to_be_polled(const Sockets& sockets, std::span<pollfd> list) {
  const auto count = std::min(sockets.size(), list.size());
  for (std::size_t i = 0; i < count; ++i) list[i] = {.fd = sockets[i], .events = POLLIN, .revents = 0};
  return list.first(count);
}

/// Whether this process may hold so many bytes in memory more than it does: the driver's rings are locked
/// there.
bool may_lock(std::size_t bytes) {
  void* place = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
  if (place == MAP_FAILED) return false;
  ::munmap(place, bytes);
  return true;
}

/// With rings as large as may be locked; those whose size is given are what they are.
Result<SizedDevice> lockable(const DeviceSpec& spec, std::size_t mtu) {
  auto sized = sized_for(spec, mtu);
  for (auto ring = kMaxRing / 2; sized && !may_lock(sized->rings) && ring >= kMinRing; ring /= 2)
    sized = sized_for(spec, mtu, ring);
  if (!sized || may_lock(sized->rings)) return sized;
  return fail(
      ErrorKind::not_supported,
      "this user may not lock {} MB in memory, as DPDK's rings need (ulimit -l): give a smaller framecnt= in "
      "--dpdk-args, or raise the limit",
      (sized->rings + (1 << 20) - 1) >> 20);
}

/// One device is added at a time: which sockets are its own is seen by what was there before.
std::mutex& adding() {
  static std::mutex one;
  return one;
}

/// Inlined where frames are sorted in.
inline MeantFor whose_frame(ByteSpan frame) {
  constexpr std::size_t ip = packet::kEthernetSize;
  constexpr std::size_t kKind = packet::kUdpSize + packet::kBthSize + packet::kDethSize + 5;  // docs/wire.md
  if (frame.size() < ip + packet::kIpv4Size) return MeantFor::nobody;
  const auto type = load_be16(frame, ip - 2);
  std::size_t transport = 0;
  std::uint8_t protocol = 0, icmp = 0;
  if (type == packet::kEtherTypeIpv4.value()) {
    if ((load_be16(frame, ip + 6) & 0x3FFF) != 0) return MeantFor::nobody;  // a fragment
    transport = ip + std::size_t{4} * (load_u8(frame, ip) & 0xFu);
    protocol = load_u8(frame, ip + 9);
    icmp = 1;
  } else if (type == packet::kEtherTypeIpv6.value()) {
    transport = ip + packet::kIpv6Size;
    protocol = load_u8(frame, ip + 6);
    icmp = 58;
  } else {
    return MeantFor::nobody;
  }
  if (protocol == icmp) return frame.size() > transport ? MeantFor::prober : MeantFor::nobody;
  const bool roce = protocol == 17 && frame.size() > transport + kKind &&
                    load_be16(frame, transport + 2) == packet::kRocePort.value();
  if (!roce) return MeantFor::nobody;
  const bool echo = load_u8(frame, transport + kKind) == static_cast<std::uint8_t>(packet::ProbeKind::echo);
  return echo ? MeantFor::prober : MeantFor::responder;
}

}  // namespace

MeantFor meant_for(ByteSpan frame) { return whose_frame(frame); }

/// The way of one role to the device.
class DpdkDevice::Port final : public datapath::PacketPort {
 public:
  Port(std::shared_ptr<DpdkDevice> device, Role role) : device_(std::move(device)), role_(role) {}
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port() override { device_->release(held_); }

  Nanoseconds now() const override { return steady_now(); }
  Result<datapath::SendOutcome> send(std::span<const ByteSpan> frames) override {
    return device_->send(role_, frames);
  }
  Result<std::span<const datapath::Arrival>> receive(Nanoseconds until) override {
    device_->release(held_);
    WEFT_TRY_VOID(device_->read(role_, until, held_));
    return std::span<const datapath::Arrival>(held_.arrivals).first(held_.count);
  }
  std::uint64_t overruns() override { return role_ == Role::sender ? 0 : device_->overruns(role_); }
  bool has_unread() const override { return role_ != Role::sender && device_->has_unread(role_); }

 private:
  std::shared_ptr<DpdkDevice> device_;
  Role role_;
  Frames held_;  // what was handed out last
};

Result<std::shared_ptr<DpdkDevice>> DpdkDevice::open(std::shared_ptr<const DpdkLibrary> library,
                                                     const DeviceSpec& spec, const nic::HostNic& nic,
                                                     const nic::KernelNic& kernel) {
  WEFT_TRY([[maybe_unused]] const auto may, nic::open_packet_socket());
  WEFT_TRY(const auto sized, lockable(spec, kernel.local.mtu));
  const auto max_frame = kernel.local.mtu + packet::kEthernetSize;  // a larger one the kernel drops unheard
  static std::atomic<unsigned> devices{0};
  const auto name = fmt::format("{}{}", spec.driver, devices++);
  const WeftDpdkDevice wanted{.name = name.c_str(),
                              .arguments = sized.settings.c_str(),
                              .max_frame = static_cast<std::uint32_t>(max_frame + kTag),
                              .room = static_cast<std::uint32_t>(sized.frame),
                              .queues = sized.queues};
  const std::lock_guard lock(adding());
  const auto before = ring_sockets();
  auto opened = open_port(*library, wanted, probe_rules(nic.address));
  if (!opened)
    return fail(ErrorKind::not_supported, "DPDK does not open {} on {}: {}", spec.driver, nic.interface,
                opened.error().message);
  auto sockets = VdevSockets::adopt(before, nic, kernel);
  if (!sockets) {
    library->close(opened->port);
    return pass_on(sockets);
  }
  const RingShape ring{.frame = sized.frame, .count = sized.rings / 2 / sized.queues / sized.frame};
  auto times = ArrivalTimes::of(*library, opened->port, opened->has, spec.driver == kPacketSockets,
                                sockets->descriptors().size() == 1
                                    ? RingStamps::find(sockets->descriptors().front(), ring)
                                    : std::nullopt);
  std::shared_ptr<DpdkDevice> device(new DpdkDevice(
      std::move(library), std::move(*opened), std::move(*sockets), times, name, nic.interface, max_frame));
  for (Inbox& inbox : device->inboxes_) {
    inbox.wake = os::FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!inbox.wake) return fail(ErrorKind::internal, "no eventfd: {}", std::strerror(errno));
  }
  return device;
}

DpdkDevice::DpdkDevice(std::shared_ptr<const DpdkLibrary> library, OpenedPort opened, VdevSockets sockets,
                       ArrivalTimes times, std::string name, std::string interface, std::size_t max_frame)
    : library_(std::move(library)),
      port_(opened.port),
      queues_(opened.has.queues),
      sockets_(std::move(sockets)),
      times_(times),
      name_(std::move(name)),
      interface_(std::move(interface)),
      no_rules_(std::move(opened.no_rules)),
      max_frame_(max_frame) {}

std::string DpdkDevice::uses() const {
  const auto rules = no_rules_.empty() ? "flow rules" : fmt::format("no flow rules ({})", no_rules_);
  return fmt::format("DPDK ({} on {}); time stamps of the {}; {}", name_, interface_,
                     to_string(times_.source()), rules);
}

DpdkDevice::~DpdkDevice() {
  for (Inbox& inbox : inboxes_) release(inbox.unread);
  const std::lock_guard lock(adding());
  library_->close(port_);
}

nic::PacketPorts DpdkDevice::ports() {
  const auto port = [this](Role role) { return std::make_unique<Port>(shared_from_this(), role); };
  return {port(Role::prober), port(Role::sender), port(Role::responder)};
}

Result<datapath::SendOutcome> DpdkDevice::send(Role role, std::span<const ByteSpan> frames) {
  const auto fit = [this](ByteSpan frame) { return frame.size() <= max_frame_; };
  const auto end = std::ranges::find_if_not(frames.first(std::min(frames.size(), kBatch)), fit);
  const auto count = static_cast<std::size_t>(end - frames.begin());
  std::array<const void*, kBatch> bytes;
  std::array<std::uint32_t, kBatch> sizes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = frames[i].data();
    sizes[i] = static_cast<std::uint32_t>(frames[i].size());
  }
  const std::lock_guard lock(sending_);
  // The driver waits without end at a full ring: nothing is put into one that the kernel has not emptied.
  if (left_in_ring_) {
    WEFT_TRY(const bool flushed, sockets_.flush());
    left_in_ring_ = !flushed;
    if (left_in_ring_) return datapath::SendOutcome{};
  }
  const auto queue = static_cast<std::uint32_t>(role) % queues_;
  const auto taken =
      library_->send(port_, queue, bytes.data(), sizes.data(), static_cast<std::uint32_t>(count));
  WEFT_TRY(const bool flushed, sockets_.flush());
  left_in_ring_ = !flushed;
  const bool too_large = taken == count && count < std::min(frames.size(), kBatch);
  return datapath::SendOutcome{.taken = taken, .too_large = too_large};
}

Result<void> DpdkDevice::read(Role role, Nanoseconds until, Frames& into) {
  if (role == Role::sender) {  // nothing comes for it
    wait_for({}, until);
    return {};
  }
  Inbox& own = inboxes_[static_cast<std::size_t>(role)];
  for (;;) {
    const bool is_last_look = steady_now() >= until;
    own.waits = true;  // before the look: what comes after it wakes this one
    const bool came = take(own, into);
    const bool polls = !came && !polled_.test_and_set();
    if (came || polls) own.waits = false;
    if (came) return {};
    if (polls) {
      const auto polled = poll_until(is_last_look ? Nanoseconds(0) : until);
      polled_.clear();
      wake_other(role);
      if (!polled) return polled;
      if (is_last_look) take(own, into);
    } else {
      if (!is_last_look) wait_at(own, until);
      own.waits = false;
    }
    if (is_last_look) return {};
  }
}

/// Until somebody wakes this reader.
void DpdkDevice::wait_at(Inbox& inbox, Nanoseconds until) {
  pollfd ready{.fd = inbox.wake.get(), .events = POLLIN, .revents = 0};
  if (!wait_for({&ready, 1}, until)) return;
  std::uint64_t times = 0;
  [[maybe_unused]] const auto read = ::read(inbox.wake.get(), &times, sizeof times);
}

/// Sorts in what the device has, or what comes next.
Result<void> DpdkDevice::poll_until(Nanoseconds until) {
  const bool full = is_full_of_unread();
  if (full) wait_for({}, std::min(until, steady_now() + kGiveWay));
  if (full || poll() > 0 || until == Nanoseconds(0)) return {};
  if (left_in_ring_) {
    const std::lock_guard lock(sending_);
    WEFT_TRY(const bool flushed, sockets_.flush());
    left_in_ring_ = !flushed;
    if (left_in_ring_) until = std::min(until, steady_now() + kFlushAgain);
  }
  std::array<pollfd, kMaxQueues> ready;
  const auto waited = to_be_polled(sockets_.descriptors(), ready);
  if (!wait_for(waited, until)) return {};
  if (std::ranges::any_of(waited, [](const pollfd& p) { return (p.revents & POLLERR) != 0; }))
    WEFT_TRY_VOID(sockets_.check());
  poll();
  return {};
}

/// One who reads has no place for a burst.
bool DpdkDevice::is_full_of_unread() {
  const auto since = steady_now() - kPresent;
  return std::ranges::any_of(inboxes_, [&](Inbox& inbox) {
    const std::lock_guard lock(inbox.mutex);
    return inbox.unread.count + kBatch > kMaxUnread && inbox.read_at >= since;
  });
}

bool DpdkDevice::has_unread(Role role) {
  Inbox& own = inboxes_[static_cast<std::size_t>(role)];
  if (const std::lock_guard lock(own.mutex); own.unread.count > 0) return true;
  std::array<pollfd, kMaxQueues> ready;
  return wait_for(to_be_polled(sockets_.descriptors(), ready), Nanoseconds(0));
}

/// Sorts in what the device has; how many frames came. Only whoever holds `polled_` calls this.
std::size_t DpdkDevice::poll() {
  std::size_t all = 0;
  for (std::uint32_t queue = 0; queue < queues_; ++queue) {
    std::array<WeftDpdkFrame, kBatch> frames;
    const auto room = times_.look(kBatch);
    const auto came =
        std::span(frames).first(room == 0 ? 0 : library_->receive(port_, queue, frames.data(), room));
    times_.read(came);
    sort_in(came);
    all += came.size();
  }
  return all;
}

void DpdkDevice::sort_in(std::span<const WeftDpdkFrame> came) {
  if (came.empty()) return;
  const auto now = steady_now();
  std::array<void*, kBatch> unwanted;
  std::size_t released = 0;
  {
    const std::scoped_lock both(inboxes_[0].mutex, inboxes_[1].mutex);
    for (const WeftDpdkFrame& frame : came) {
      const ByteSpan bytes(static_cast<const std::byte*>(frame.bytes), frame.size);
      const auto whose = whose_frame(bytes);
      Inbox* const inbox = whose == MeantFor::nobody ? nullptr : &inboxes_[static_cast<std::size_t>(whose)];
      if (inbox != nullptr && inbox->unread.count < kMaxUnread) {
        inbox->unread.arrivals[inbox->unread.count] = {bytes, times_.time_of(frame, now)};
        inbox->unread.buffers[inbox->unread.count++] = frame.buffer;
        continue;
      }
      if (inbox != nullptr) ++inbox->dropped;
      unwanted[released++] = frame.buffer;
    }
  }
  if (released > 0) library_->release(port_, unwanted.data(), static_cast<std::uint32_t>(released));
}

/// The device is free, or something came for the other reader.
void DpdkDevice::wake_other(Role role) {
  Inbox& other = inboxes_[role == Role::prober ? 1 : 0];
  if (!other.waits) return;
  const std::uint64_t once = 1;
  [[maybe_unused]] const auto written = ::write(other.wake.get(), &once, sizeof once);
}

/// At most a batch, the oldest first; false where there is nothing.
bool DpdkDevice::take(Inbox& inbox, Frames& into) {
  const std::lock_guard lock(inbox.mutex);
  inbox.read_at = steady_now();
  const auto count = std::min(inbox.unread.count, kBatch), all = inbox.unread.count;
  const auto move = [&](auto& from, auto& to) {
    std::copy_n(from.begin(), count, to.begin());
    std::copy(from.begin() + count, from.begin() + all, from.begin());
  };
  move(inbox.unread.arrivals, into.arrivals);
  move(inbox.unread.buffers, into.buffers);
  into.count = count;
  inbox.unread.count -= count;
  return count > 0;
}

void DpdkDevice::release(Frames& frames) {
  if (frames.count > 0)
    library_->release(port_, frames.buffers.data(), static_cast<std::uint32_t>(frames.count));
  frames.count = 0;
}

std::uint64_t DpdkDevice::overruns(Role role) {
  const auto reader = static_cast<std::size_t>(role);
  const std::lock_guard lock(counting_);
  const auto counts = library_->counts(port_);
  drops_ += sockets_.take_drops();
  const auto all = drops_ + counts.missed + counts.unsent;
  return all - std::exchange(told_[reader], all) + inboxes_[reader].dropped.exchange(0);
}

}  // namespace weft::dpdk
