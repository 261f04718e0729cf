#include "balancer/flowsim/packets.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <queue>

#include "topology/model/fabric.hpp"

namespace weft::flowsim {
namespace {

// Ethernet with its checksum, preamble and gap 38, IPv4 20, UDP 8, BTH 12, ICRC 4; an ACK has 4 more (AETH)
// and fills the smallest frame (IBTA vol. 1 annex A17; IEEE 802.3).
constexpr Bytes kRoceOverhead(82);
constexpr Bytes kRoceAck(86);
constexpr Nanoseconds kHopDelay(500);  // a cut of what switches state, with 20 m of cable
constexpr std::uint32_t kHops = 4;     // of a path through two tiers
constexpr std::int64_t kQueuesWindows = 4;
constexpr double kMaxWindow = 1e5;
constexpr int kPatienceRoundTrips = 50;
constexpr double kMaxPatience = 1e6;  // seconds
/// As the lab's senders and TCP: three later ones say that a packet is lost, not late.
constexpr std::uint32_t kOvertaken = 3;

using Seconds = double;

Seconds seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

struct Event {
  enum class Kind : std::uint8_t { data, ack, timer, wire_free };
  Seconds at = 0;
  std::uint64_t order = 0;  // of events at one time
  std::uint32_t qp = 0;
  std::uint32_t sequence = 0;
  std::uint8_t hop = 0;  // the channel of the path that it comes to; the number of channels: it is there
  Kind kind = Kind::data;
  bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
};

struct Qp {
  std::uint32_t wanted = 0;
  std::uint32_t next = 0;
  std::uint32_t delivered = 0;
  std::deque<std::uint32_t> on_their_way;  // ascending
  Seconds last_event = 0;
  Seconds patience = 0;
  Seconds ended = 0;
  bool done() const { return delivered >= wanted; }
  bool has_more() const { return !done() && wanted - delivered > on_their_way.size(); }
};

struct Nic {
  std::vector<std::uint32_t> qps;  // by turn
  std::size_t running = 0;         // of these: not through
  std::size_t next = 0;            // whose packet is next
  std::size_t on_the_way = 0;      // packets
  std::uint32_t wire = 0;          // the channel out of it
  bool waits = false;              // for the wire
};

class PacketSimulation {
 public:
  PacketSimulation(std::span<const double> capacity, std::span<const Sending> sendings,
                   const PacketSettings& settings)
      : sendings_(sendings), settings_(settings), free_at_(capacity.size(), 0), qps_(sendings.size()) {
    for (const double bytes_per_second : capacity) seconds_a_byte_.push_back(1 / bytes_per_second);
    patience_ = seconds(settings.patience);
    std::map<PortId, std::vector<std::uint32_t>> by_nic;
    for (std::uint32_t s = 0; s < sendings.size(); ++s) {
      qps_[s].wanted = sendings[s].packets;
      qps_[s].patience = patience_;
      if (sendings[s].packets > 0) by_nic[sendings[s].src].push_back(s);
    }
    nic_of_.resize(sendings.size());
    for (auto& [port, members] : by_nic) {
      for (const std::uint32_t s : members) nic_of_[s] = static_cast<std::uint32_t>(nics_.size());
      std::ranges::stable_sort(members, {}, [&](std::uint32_t s) { return sendings[s].turn; });
      Nic& nic = nics_.emplace_back();
      nic.wire = sendings[members.front()].path.front().value();
      nic.running = members.size();
      nic.qps = std::move(members);
    }
  }

  PacketRun run() && {
    for (std::uint32_t s = 0; s < qps_.size(); ++s)
      if (qps_[s].wanted > 0) push(patience_, s, 0, 0, Event::Kind::timer);
    for (Nic& nic : nics_) send_what_may_go(nic);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      switch (event.kind) {
        case Event::Kind::timer:
          wake(event.qp);
          break;
        case Event::Kind::wire_free:
          nics_[event.qp].waits = false;
          send_what_may_go(nics_[event.qp]);
          break;
        case Event::Kind::data:
        case Event::Kind::ack:
          arrive(event);
          break;
      }
    }
    for (const Qp& qp : qps_) run_.seconds.push_back(qp.ended);
    return std::move(run_);
  }

 private:
  void push(Seconds at, std::uint32_t qp, std::uint32_t sequence, std::uint8_t hop, Event::Kind kind) {
    events_.push({at, order_++, qp, sequence, hop, kind});
  }

  /// At the queue of the next channel of its path, or at the end of it.
  void arrive(const Event& event) {
    const bool data = event.kind == Event::Kind::data;
    const auto& path = data ? sendings_[event.qp].path : sendings_[event.qp].back;
    if (event.hop == path.size()) {
      if (data)
        arrive({now_, 0, event.qp, event.sequence, 0, Event::Kind::ack});
      else
        acknowledged(event.qp, event.sequence);
      return;
    }
    const std::uint32_t channel = path[event.hop].value();
    const auto time_for = [&](Bytes bytes) {
      return static_cast<double>(bytes.count()) * seconds_a_byte_[channel];
    };
    Seconds& free_at = free_at_[channel];
    if (event.hop > 0 && free_at - now_ > time_for(settings_.queue)) {
      ++run_.dropped;
      return;
    }
    free_at = std::max(free_at, now_) + time_for(data ? settings_.frames.data : settings_.frames.ack);
    const Seconds leaves = std::max(now_, free_at - time_for(settings_.burst));
    push(leaves + seconds(settings_.hop_delay), event.qp, event.sequence,
         static_cast<std::uint8_t>(event.hop + 1), event.kind);
  }

  void acknowledged(std::uint32_t index, std::uint32_t sequence) {
    Qp& qp = qps_[index];
    Nic& nic = nics_[nic_of_[index]];
    const auto before = qp.on_their_way.size();
    if (++qp.delivered == qp.wanted) {
      qp.ended = now_;
      --nic.running;
    }
    qp.patience = patience_;
    qp.last_event = now_;
    const auto at = std::ranges::lower_bound(qp.on_their_way, sequence);
    if (at != qp.on_their_way.end() && *at == sequence) qp.on_their_way.erase(at);
    while (!qp.on_their_way.empty() && qp.on_their_way.front() + kOvertaken <= sequence)
      qp.on_their_way.pop_front();
    if (qp.done()) qp.on_their_way.clear();
    nic.on_the_way -= before - qp.on_their_way.size();
    send_what_may_go(nic);
  }

  /// After a silence, everything on its way is taken for lost.
  void wake(std::uint32_t index) {
    Qp& qp = qps_[index];
    if (qp.done()) return;
    Nic& nic = nics_[nic_of_[index]];
    if (!qp.on_their_way.empty() && now_ >= qp.last_event + qp.patience) {
      nic.on_the_way -= qp.on_their_way.size();
      qp.on_their_way.clear();
      qp.patience *= 2;
      qp.last_event = now_;
      send_what_may_go(nic);
    }
    push(std::max(now_ + patience_, qp.last_event + qp.patience), index, 0, 0, Event::Kind::timer);
  }

  void send(std::uint32_t index) {
    Qp& qp = qps_[index];
    const std::uint32_t sequence = qp.next++;
    qp.on_their_way.push_back(sequence);
    qp.last_event = now_;
    ++nics_[nic_of_[index]].on_the_way;
    ++run_.sent;
    arrive({now_, 0, index, sequence, 0, Event::Kind::data});
  }

  void send_what_may_go(Nic& nic) {
    while (!nic.waits) {
      if (!settings_.host_queue && free_at_[nic.wire] > now_) {
        nic.waits = true;
        push(free_at_[nic.wire], static_cast<std::uint32_t>(&nic - nics_.data()), 0, 0,
             Event::Kind::wire_free);
        return;
      }
      const auto next = next_to_send(nic);
      if (!next) return;
      send(*next);
    }
  }

  /// One packet of each QP in turn, so that none stands behind another's whole window. The lab's senders let
  /// every QP have one packet on its way, however many there are.
  std::optional<std::uint32_t> next_to_send(Nic& nic) {
    const std::size_t parts = settings_.host_queue ? std::max<std::size_t>(1, nic.running) : nic.qps.size();
    const std::size_t share = std::max<std::size_t>(1, settings_.window / parts);
    if (!settings_.host_queue && nic.on_the_way >= settings_.window) return std::nullopt;
    for (std::size_t i = 0; i < nic.qps.size(); ++i) {
      const std::size_t at = (nic.next + i) % nic.qps.size();
      const Qp& qp = qps_[nic.qps[at]];
      if (!qp.has_more() || qp.on_their_way.size() >= share) continue;
      nic.next = at + 1;
      return nic.qps[at];
    }
    return std::nullopt;
  }

  std::span<const Sending> sendings_;
  const PacketSettings& settings_;
  std::vector<double> seconds_a_byte_;  // per channel
  std::vector<Seconds> free_at_;        // per channel: when all that it took is sent
  Seconds patience_ = 0;
  std::vector<Qp> qps_;
  std::vector<Nic> nics_;
  std::vector<std::uint32_t> nic_of_;  // per QP
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  Seconds now_ = 0;
  PacketRun run_;
};

}  // namespace

PacketSettings usual_packets(const Fabric& fabric, Bytes payload) {
  PacketSettings settings{.frames = {payload + kRoceOverhead, kRoceAck}, .payload = payload};
  double slowest = std::numeric_limits<double>::infinity();
  for (const Link& link : fabric.links()) slowest = std::min(slowest, link.rate.bits_per_second() / 8);
  if (fabric.links().empty()) slowest = 1e9;
  const double wire = static_cast<double>(settings.frames.data.count()) / slowest;
  const double round_trip = kHops * (wire + 2e-9 * static_cast<double>(kHopDelay.count()));
  settings.window = static_cast<std::uint32_t>(std::min(kMaxWindow, std::ceil(3 * round_trip / wire)));
  settings.queue = settings.frames.data * (kQueuesWindows * settings.window);
  settings.hop_delay = kHopDelay;
  settings.patience =
      Nanoseconds(std::llround(std::min(kMaxPatience, kPatienceRoundTrips * round_trip) * 1e9));
  return settings;
}

PacketRun send_packets(std::span<const double> capacity, std::span<const Sending> sendings,
                       const PacketSettings& settings) {
  return PacketSimulation(capacity, sendings, settings).run();
}

}  // namespace weft::flowsim
