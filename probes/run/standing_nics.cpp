#include "probes/run/standing_nics.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "probes/engine/raw/packet_socket.hpp"
#include "probes/mad/mad_port.hpp"
#include "probes/nic/kernel_next_hops.hpp"
#include "probes/run/engines.hpp"
#include "probes/watch/mad_codec.hpp"
#include "probes/watch/ud_codec.hpp"
#include "topology/model/infiniband.hpp"

namespace weft::run {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLook = std::chrono::seconds(2);  // at NICs that are not open, and peers without a way
/// A first station that changes its MAC address is found again within a minute; asking costs two messages to
/// the kernel for each peer.
constexpr int kLooksToRefresh = 30;
constexpr auto kMaxForHops = std::chrono::seconds(3);  // of one look, for one NIC: silent ones take a second

/// A packet socket that holds UDP 4791 as long as it is open. Another program may hold it instead.
class StandingSocket final : public datapath::PacketPort {
 public:
  StandingSocket(std::unique_ptr<raw::PacketSocket> socket, os::FileDescriptor roce_port)
      : socket_(std::move(socket)), roce_port_(std::move(roce_port)) {}
  Nanoseconds now() const override { return socket_->now(); }
  Result<datapath::SendOutcome> send(std::span<const ByteSpan> frames) override {
    return socket_->send(frames);
  }
  Result<std::span<const datapath::Arrival>> receive(Nanoseconds until) override {
    return socket_->receive(until);
  }
  std::uint64_t overruns() override { return socket_->overruns(); }

 private:
  std::unique_ptr<raw::PacketSocket> socket_;
  os::FileDescriptor roce_port_;
};

/// The label of a probe is all of its way.
class NoStations final : public datapath::NextHops {
 public:
  Result<packet::MacAddress> next_hop(const IpAddress&) override { return packet::MacAddress(); }
};

Result<OpenedNic> open_raw(const nic::HostNic& nic) {
  WEFT_TRY(const auto kernel, nic::look_up_nic(nic));
  WEFT_TRY(auto socket, raw::PacketSocket::open(nic, kernel, nic::PacketRole::standing));
  WEFT_TRY(auto hops, nic::KernelNextHops::open(nic, kernel));
  auto port = nic::own_roce_port(nic, nic::PortOwner::standing);
  if (!port && port.error().kind != ErrorKind::conflict) return pass_on(port);
  return OpenedNic{
      kernel.local,
      std::make_unique<StandingSocket>(std::move(socket), port ? std::move(*port) : os::FileDescriptor()),
      std::make_unique<nic::KernelNextHops>(std::move(hops))};
}

}  // namespace

OpenStandingNic raw_standing_nics(std::uint8_t traffic_class) {
  return [traffic_class](const session::NicReport& nic) -> Result<OpenedNic> {
    nic::HostNic wanted{nic.interface, nic.address, traffic_class};
    if (nic.interface == to_string(nic.address)) {
      WEFT_TRY(wanted.interface, nic::interface_with(nic.address));
    }
    return open_raw(wanted);
  };
}

OpenStandingNic umad_standing_nics(bool in_ibsim, umad::OpenMads open) {
  return [in_ibsim, open = std::move(open)](const session::NicReport& nic) -> Result<OpenedNic> {
    const auto guid = port_of_gid(nic.address);
    if (!guid) return fail(ErrorKind::usage, "{} is no GID of an InfiniBand port", to_string(nic.address));
    WEFT_TRY(auto mads,
             open({.guid = guid, .answers = {mad::MadClass::standing_probe}, .in_ibsim = in_ibsim}));
    return OpenedNic{{.mac = {}, .address = nic.address},
                     std::make_unique<mad::MadPort>(std::move(mads)),
                     std::make_unique<NoStations>(),
                     &watch::mad_codec()};
  };
}

OpenStandingNic verbs_standing_nics(verbs::OpenUdPort open, const ChosenClass& packets,
                                    datapath::ProbeTransport probes) {
  return [open = std::move(open), packets, probes](const session::NicReport& nic) -> Result<OpenedNic> {
    std::string interface = nic.interface;
    if (interface == to_string(nic.address)) {
      WEFT_TRY(interface, nic::interface_with(nic.address));
    }
    WEFT_TRY(auto port, open({.gid = {nic.address, interface, packets.gid_index},
                              .traffic = {packets.traffic_class, packets.service_level},
                              .memory = host_memory,
                              .probes = probes}));
    OpenedNic opened{.local = {.mac = {}, .address = nic.address, .traffic_class = packets.traffic_class},
                     .port = nullptr,
                     .next_hops = port->next_hops(),
                     .codec = &watch::ud_codec(),
                     .pair = port->pair(),
                     .know_pairs = [at = port.get()](const packet::UdPairs& pairs) { at->know(pairs); }};
    opened.port = std::move(port);
    return opened;
  };
}

StandingNics::StandingNics(std::vector<session::NicReport> nics, OpenStandingNic open, OpenWhen when)
    : reports_(std::move(nics)),
      open_(std::move(open)),
      when_(when),
      thread_([this](const std::stop_token& stop) { keep(stop); }) {}

void StandingNics::assign(std::shared_ptr<const watch::Assignment> assignment) {
  {
    const std::lock_guard lock(mutex_);
    assignment_ = std::move(assignment);
    is_new_ = true;
    hops_.clear();
    in_trouble_.clear();
    if (when_ == OpenWhen::assigned) troubles_.clear();
  }
  changed_.notify_all();
}

StandingNics::News StandingNics::news(const watch::Assignment& assignment) {
  const std::lock_guard lock(mutex_);
  News news;
  if (assignment_.get() != &assignment) return news;
  for (std::uint32_t nic = 0; nic < assignment.nics.size() && !opened_.empty(); ++nic)
    if (auto opened = opened_.extract(assignment.nics[nic].interface))
      news.opened.emplace(nic, std::move(opened.mapped()));
  news.hops = std::exchange(hops_, {});
  return news;
}

void StandingNics::in_trouble(const std::string& interface) {
  const std::lock_guard lock(mutex_);
  in_trouble_.insert(interface);
}

std::vector<std::string> StandingNics::troubles() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [interface, why] : troubles_) lines.push_back(interface + ": " + why);
  return lines;
}

std::map<std::string, packet::UdPair> StandingNics::pairs() const {
  const std::lock_guard lock(mutex_);
  return pairs_;
}

bool StandingNics::is_current(const watch::Assignment& assignment) const {
  const std::lock_guard lock(mutex_);
  return assignment_.get() == &assignment && !is_new_;
}

void StandingNics::keep(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (when_ == OpenWhen::at_once) open_at_once(stop);
    std::shared_ptr<const watch::Assignment> assignment;
    bool is_fresh = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, kLook, [this] { return is_new_; });
      is_fresh = std::exchange(is_new_, false);
      assignment = assignment_;
    }
    if (assignment && !stop.stop_requested()) look_after(*assignment, is_fresh, stop);
  }
}

/// Those that wait to be assigned; what cannot be opened is tried again each look.
void StandingNics::open_at_once(const std::stop_token& stop) {
  for (const session::NicReport& nic : reports_) {
    if (stop.stop_requested()) return;
    if (!known_.contains(nic.interface)) open(nic.interface);
  }
}

void StandingNics::look_after(const watch::Assignment& assignment, bool is_fresh,
                              const std::stop_token& stop) {
  const bool again = looks_++ % kLooksToRefresh == 0;
  for (std::uint32_t nic = 0; nic < assignment.nics.size() && is_current(assignment); ++nic) {
    const bool opened = is_to_open(assignment, nic) && open(assignment.nics[nic].interface);
    auto hops = find_hops(assignment, nic, again || opened, stop);
    const std::lock_guard lock(mutex_);
    if (assignment_.get() != &assignment) return;
    if (hops || is_fresh) hops_[nic] = hops ? std::move(*hops) : known_hops(assignment, nic);
  }
}

bool StandingNics::is_to_open(const watch::Assignment& assignment, std::uint32_t nic) {
  const std::lock_guard lock(mutex_);
  const auto& interface = assignment.nics[nic].interface;
  return in_trouble_.erase(interface) > 0 || !known_.contains(interface);
}

/// Whether it is open now; it waits to be fetched.
bool StandingNics::open(const std::string& interface) {
  const auto report = std::ranges::find(reports_, interface, &session::NicReport::interface);
  auto opened = report != reports_.end()
                    ? open_(*report)
                    : Result<OpenedNic>(fail(ErrorKind::absent, "this agent was not told of such a NIC"));
  const std::lock_guard lock(mutex_);
  if (!opened) {
    troubles_[interface] = opened.error().message;
    if (known_.contains(interface)) in_trouble_.insert(interface);
    return false;
  }
  troubles_.erase(interface);
  if (opened->pair) pairs_[interface] = *opened->pair;
  Known& known = known_[interface];
  known.next_hops = std::move(opened->next_hops);
  known.answers_by_hops = opened->pair.has_value();
  opened_.insert_or_assign(interface, std::move(*opened));
  return true;
}

PeerHops StandingNics::known_hops(const watch::Assignment& assignment, std::uint32_t nic) const {
  PeerHops hops(assignment.peers.size());
  const auto known = known_.find(assignment.nics[nic].interface);
  if (known == known_.end()) return hops;
  for (std::size_t peer = 0; peer < hops.size(); ++peer)
    if (const auto hop = known->second.hops.find(assignment.peers[peer].address);
        hop != known->second.hops.end())
      hops[peer] = hop->second;
  return hops;
}

/// Absent: nothing was asked. A station that does not answer now stays where it was: a dead cable is for the
/// probes to find.
std::optional<PeerHops> StandingNics::find_hops(const watch::Assignment& assignment, std::uint32_t nic,
                                                bool again, const std::stop_token& stop) {
  const auto known = known_.find(assignment.nics[nic].interface);
  if (known == known_.end()) return std::nullopt;
  std::set<IpAddress> others;
  for (const watch::StreamSpec& stream : assignment.nics[nic].streams)
    others.insert(assignment.peers[stream.peer].address);
  if (known->second.answers_by_hops)
    for (const datapath::RunNic& asker : assignment.asked) others.insert(asker.address);
  auto& hops = known->second.hops;
  bool asked = false;
  const auto end = Clock::now() + kMaxForHops;
  for (const IpAddress& address : others) {
    if (!again && hops.contains(address)) continue;
    if (Clock::now() > end || stop.stop_requested() || !is_current(assignment)) break;
    asked = true;
    if (const auto hop = known->second.next_hops->next_hop(address)) hops[address] = *hop;
  }
  return asked ? std::optional(known_hops(assignment, nic)) : std::nullopt;
}

}  // namespace weft::run
