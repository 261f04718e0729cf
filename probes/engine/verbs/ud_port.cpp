#include "probes/engine/verbs/ud_port.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "probes/engine/verbs/slots.hpp"
#include "probes/engine/verbs/verbs_engine.hpp"
#include "topology/os/clocks.hpp"

namespace weft::verbs {
namespace {

/// A thread that looks fifty times a second, or was kept from it for a tenth of a second, finds no more: 500
/// echoes a second, and the probes of a few peers.
constexpr std::size_t kReceives = 256;
constexpr std::size_t kSends = 256;
constexpr std::size_t kMaxAtOnce = 64;  // arrivals of one receive()
/// What peers ask for makes handles too: beyond all that are ever of use they are made anew.
constexpr std::size_t kMaxHandles = 8192;
constexpr std::size_t kGrh = rdma::receive_headroom(rdma::QpKind::datagram);
static_assert(kGrh >= packet::kUdHeader, "a frame begins in what the device puts before the payload");
/// Of the slots: those to receive into first.
constexpr bool is_send(std::uint64_t slot) { return slot >= kReceives; }

/// Peers whose neighbour is known, and since when: found by one thread, asked by another.
class Neighbours {
 public:
  void found(const IpAddress& peer) {
    const std::lock_guard lock(mutex_);
    found_[peer] = os::steady_now();
  }
  std::optional<Nanoseconds> known_since(const IpAddress& peer) const {
    const std::lock_guard lock(mutex_);
    const auto at = found_.find(peer);
    return at == found_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<IpAddress, Nanoseconds> found_;
};

rdma::QpRoute route_to(const IpAddress& peer, const rdma::VerbsTraffic& traffic) {
  return {.to = {.gid = rdma::gid_of(peer), .lid = {}, .lmc = 0},
          .qp = {},
          .label = {},
          .back_label = {},
          .traffic = traffic};
}

/// An address handle needs the neighbour: to make one finds it, and says that there is none.
class UdNextHops final : public datapath::NextHops {
 public:
  UdNextHops(std::shared_ptr<const rdma::VerbsDevice> device, rdma::VerbsTraffic traffic,
             std::shared_ptr<Neighbours> neighbours)
      : device_(std::move(device)), traffic_(traffic), neighbours_(std::move(neighbours)) {}
  Result<packet::MacAddress> next_hop(const IpAddress& destination) override {
    const auto made = rdma::AddressHandle::make(device_, route_to(destination, traffic_));
    if (!made) return pass_on(made);
    neighbours_->found(destination);
    return packet::MacAddress();
  }

 private:
  std::shared_ptr<const rdma::VerbsDevice> device_;
  rdma::VerbsTraffic traffic_;
  std::shared_ptr<Neighbours> neighbours_;
};

class QueuePairPort final : public UdPort {
 public:
  QueuePairPort(std::shared_ptr<const rdma::VerbsDevice> device, rdma::VerbsTraffic traffic)
      : device_(std::move(device)),
        traffic_(traffic),
        place_(kGrh + static_cast<std::size_t>(device_->path_mtu().count())) {}

  Result<void> open(const packet::BufferFactory& memory) {
    WEFT_TRY(queue_, rdma::CompletionQueue::make(device_, static_cast<int>(kReceives + kSends)));
    // No datagram is larger than the MTU of its path: one that would not fit ends a queue pair.
    WEFT_TRY(slots_,
             Slots::make(device_, memory, kReceives + kSends, Bytes(static_cast<std::int64_t>(place_))));
    WEFT_TRY(pair_,
             rdma::QueuePair::make(device_, *queue_, *queue_, {rdma::QpKind::datagram, kSends, kReceives}));
    under_way_.resize(kSends);
    for (std::size_t slot = 0; slot < kSends; ++slot) free_.push_back(kReceives + slot);
    for (std::size_t slot = 0; slot < kReceives; ++slot) WEFT_TRY_VOID(post_receive(slot));
    return {};
  }

  packet::UdPair pair() const override { return {pair_->number(), packet::QueueKey(pair_->queue_key())}; }
  std::unique_ptr<datapath::NextHops> next_hops() const override {
    return std::make_unique<UdNextHops>(device_, traffic_, neighbours_);
  }
  void know(packet::UdPairs pairs) override {
    std::erase_if(handles_, [&](const auto& known) {
      const auto now = pairs.find(known.first.first);
      const auto before = pairs_.find(known.first.first);
      return now == pairs.end() || before == pairs_.end() || now->second != before->second;
    });
    pairs_ = std::move(pairs);
  }

  Nanoseconds now() const override { return os::steady_now(); }

  Result<datapath::SendOutcome> send(std::span<const ByteSpan> frames) override {
    WEFT_TRY_VOID(look());
    datapath::SendOutcome outcome;
    for (const ByteSpan frame : frames) {
      const auto target = packet::target_of(frame);
      const bool fits = target && frame.size() - packet::kUdHeader <= place_ - kGrh;
      auto to = fits ? handle_to(*target) : nullptr;
      outcome.too_large = !fits;
      if (!to || free_.empty()) break;
      if (!post(std::move(to), frame.subspan(packet::kUdHeader))) break;
      ++outcome.taken;
    }
    if (outcome.taken == 0 && broken_) return tl::unexpected(*broken_);
    return outcome;
  }

  Result<std::span<const datapath::Arrival>> receive(Nanoseconds until) override {
    arrivals_.clear();
    for (const std::size_t slot : std::exchange(lent_, {}))
      if (const auto posted = post_receive(slot); !posted) broken_ = posted.error();
    WEFT_TRY_VOID(look());
    if (came_.empty() && until > now()) {
      WEFT_TRY_VOID(queue_->wait(until - now()));
      WEFT_TRY_VOID(look());
    }
    const auto count = std::min(came_.size(), kMaxAtOnce);
    for (std::size_t i = 0; i < count; ++i) {
      const auto [slot, bytes, at] = came_[i];
      lent_.push_back(slot);
      // The tail of the GRH stands where a frame has its target: who reads it looks at the payload alone.
      const auto frame = ByteSpan(slots_->bytes(slot)).first(bytes).subspan(kGrh - packet::kUdHeader);
      arrivals_.push_back({frame, at});
    }
    came_.erase(came_.begin(), came_.begin() + static_cast<std::ptrdiff_t>(count));
    return std::span<const datapath::Arrival>(arrivals_);
  }

  std::uint64_t overruns() override { return starved_.exchange(0); }

 private:
  struct Known {
    std::shared_ptr<rdma::AddressHandle> handle;
    Nanoseconds made{};
  };
  struct Came {
    std::size_t slot;
    std::size_t bytes;  // with the GRH
    Nanoseconds at;
  };

  Result<void> post_receive(std::size_t slot) {
    WEFT_TRY_VOID(pair_->post_receive(slot, slots_->piece(slot, place_)));
    ++posted_;
    return {};
  }

  /// Null: nobody has said where the peer is, or the device makes no handle. One that was made before its
  /// neighbour was found last is made again: a station may have another MAC address by now.
  std::shared_ptr<rdma::AddressHandle> handle_to(const packet::UdTarget& target) {
    const auto peer = pairs_.find(target.to);
    const auto since = neighbours_->known_since(target.to);
    if (peer == pairs_.end() || !since) return nullptr;
    if (handles_.size() >= kMaxHandles) handles_.clear();
    Known& known = handles_[{target.to, target.label}];
    if (known.handle && known.made > *since) return known.handle;
    auto route = route_to(target.to, traffic_);
    route.qp = peer->second.qp;
    route.queue_key = peer->second.key.value();
    route.label = target.label;
    known.made = now();  // one that is refused is asked for again when its neighbour is found again
    if (auto made = rdma::AddressHandle::make(device_, route)) known.handle = std::move(*made);
    return known.handle;
  }

  bool post(std::shared_ptr<rdma::AddressHandle> to, ByteSpan payload) {
    const std::size_t slot = free_.back();
    std::ranges::copy(payload, slots_->bytes(slot).begin());
    const rdma::Message message{slot, slots_->piece(slot, payload.size())};
    if (const auto posted = pair_->post(*to, std::span(&message, 1)); !posted) {
      if (posted.error().kind != ErrorKind::conflict) broken_ = posted.error();
      return false;
    }
    free_.pop_back();
    under_way_[slot - kReceives] = std::move(to);
    return true;
  }

  /// Takes all completions that there are.
  Result<void> look() {
    for (;;) {
      if (broken_) return tl::unexpected(*broken_);
      const auto done = queue_->poll();
      if (!done) broken_ = done.error();
      if (!done || done->empty()) break;
      const auto at = now();
      for (const rdma::Completion& completion : *done) take(completion, at);
    }
    return broken_ ? Result<void>(tl::unexpected(*broken_)) : Result<void>();
  }

  /// Nobody acknowledges a datagram: a status other than success is of this device alone.
  void take(const rdma::Completion& completion, Nanoseconds at) {
    const auto slot = static_cast<std::size_t>(completion.work);
    if (completion.status != 0)
      broken_ =
          Error{ErrorKind::internal, fmt::format("{}: its queue pair of datagrams ended: {}", device_->name(),
                                                 rdma::describe_status(completion.status))};
    if (is_send(slot)) {
      under_way_[slot - kReceives].reset();
      free_.push_back(slot);
      return;
    }
    if (--posted_ == 0) ++starved_;
    if (completion.status == 0 && completion.bytes >= kGrh && completion.bytes <= place_)
      came_.push_back({slot, completion.bytes, at});
    else
      lent_.push_back(slot);
  }

  std::shared_ptr<const rdma::VerbsDevice> device_;
  rdma::VerbsTraffic traffic_;
  std::size_t place_;  // bytes of a slot
  std::shared_ptr<Neighbours> neighbours_ = std::make_shared<Neighbours>();
  std::unique_ptr<rdma::CompletionQueue> queue_;
  std::unique_ptr<Slots> slots_;
  packet::UdPairs pairs_;
  std::map<std::pair<IpAddress, PathLabel>, Known> handles_;
  std::vector<std::shared_ptr<rdma::AddressHandle>> under_way_;  // by slot to send from
  std::vector<std::size_t> free_;                                // slots to send from
  std::vector<std::size_t> lent_;                                // to be received into again
  std::vector<Came> came_;
  std::vector<datapath::Arrival> arrivals_;
  std::size_t posted_ = 0;  // places that the device has
  std::atomic<std::uint64_t> starved_ = 0;
  std::optional<Error> broken_;
  std::unique_ptr<rdma::QueuePair> pair_;  // it goes before its handles and the queue
};

}  // namespace

Result<std::unique_ptr<UdPort>> open_ud_port(const UdPortOptions& options) {
  WEFT_TRY(auto library, rdma::VerbsLibrary::load());
  return open_ud_port(std::move(library), options);
}

Result<std::unique_ptr<UdPort>> open_ud_port(std::shared_ptr<const rdma::VerbsLibrary> library,
                                             const UdPortOptions& options) {
  WEFT_TRY(auto device, rdma::VerbsDevice::open(std::move(library), options.gid));
  if (device->is_infiniband())
    return fail(ErrorKind::not_supported,
                "{}: standing probes of an InfiniBand port are management datagrams: --engine umad",
                device->name());
  const auto kind =
      choose_probe_kind(options.probes, device->name(), device->driver(), device->is_infiniband());
  if (!kind || *kind != rdma::QpKind::datagram)
    return fail(ErrorKind::not_supported,
                "{}: standing probes over queue pairs are datagrams (UD), and {}: probe raw, or elsewhere",
                device->name(),
                device->driver() == rdma::RdmaDriver::soft_roce
                    ? "soft-RoCE gives them the port of their queue pair's number, whatever their labels"
                    : "this device is not known to label them (--probe-transport ud says that it does)");
  if (device->address().gid != rdma::gid_of(options.gid.address))
    return fail(ErrorKind::not_supported, "{}: {} is not the GID of {}, at which peers look for this NIC",
                device->name(), rdma::gid_text(device->address().gid), to_string(options.gid.address));
  auto port = std::make_unique<QueuePairPort>(std::move(device), options.traffic);
  WEFT_TRY_VOID(port->open(options.memory));
  return port;
}

}  // namespace weft::verbs
