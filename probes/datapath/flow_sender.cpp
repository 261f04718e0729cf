#include "probes/datapath/flow_sender.hpp"

#include <algorithm>
#include <array>

#include "probes/datapath/pacer.hpp"
#include "probes/datapath/peer_routes.hpp"
#include "probes/packet/frame_template.hpp"

namespace weft::datapath {
namespace {

// Packets of one flow that may go at once: four of 4 KB fit the 16 KB burst of a token bucket.
constexpr std::size_t kBurst = 4;
constexpr std::size_t kMaxFlows = 1024;  // of one request: each holds a frame
constexpr Nanoseconds kStopCheck = std::chrono::milliseconds(20);

struct Flow {
  packet::ProbeRoute route;
  packet::ProbeHeader header;
  std::uint32_t first_psn;
  std::size_t size;
  Pacer pacer;
  bool dead = false;  // the NIC does not take its size, or its peer cannot be reached
  FlowTally tally;
  Nanoseconds first{};
  Nanoseconds last{};
  std::array<packet::FrameTemplate, kBurst> frames;

  ByteSpan compose(std::size_t slot, std::uint32_t ahead, Nanoseconds now,
                   packet::Authenticator& authenticator) {
    auto next = header;
    next.sequence += ahead;
    next.sent_at = now;
    route.identification = static_cast<std::uint16_t>(next.sequence);
    return frames[slot].write(route, next, authenticator, first_psn, size);
  }

  void note_sent(std::size_t packets, Nanoseconds at) {
    if (packets == 0) return;
    header.sequence += static_cast<std::uint32_t>(packets);
    if (tally.packets == 0)
      tally.started = first = at;
    else
      tally.longest_gap = std::max(tally.longest_gap, at - last);
    last = at;
    tally.packets += packets;
    tally.bytes += packets * size;
    tally.elapsed = last - first;
  }
};

class FlowRun {
 public:
  FlowRun(PacketPort& port, const packet::RunKey& key, std::vector<Flow> flows)
      : port_(port), authenticator_(key), flows_(std::move(flows)) {}

  Result<void> drive(Nanoseconds end, const std::stop_token& stop) {
    while (!stop.stop_requested() && port_.now() < end) {
      auto next = std::min(end, port_.now() + kStopCheck);
      for (auto& flow : flows_) {
        if (flow.dead) continue;
        if (auto ok = send_due(flow); !ok) return ok;
        next = std::min(next, flow.pacer.next());
      }
      if (auto waited = port_.receive(next); !waited) return pass_on(waited);
    }
    return {};
  }

  std::vector<FlowTally> tallies() const {
    std::vector<FlowTally> result;
    for (const auto& flow : flows_) result.push_back(flow.tally);
    return result;
  }

 private:
  /// What a full queue leaves untaken is not sent later: it counts as not offered.
  Result<void> send_due(Flow& flow) {
    const auto now = port_.now();
    const auto count = std::min(flow.pacer.allowance(now), kBurst);
    if (count == 0) return {};
    std::array<ByteSpan, kBurst> batch;
    for (std::size_t i = 0; i < count; ++i)
      batch[i] = flow.compose(i, static_cast<std::uint32_t>(i), now, authenticator_);
    WEFT_TRY(const auto outcome, port_.send(std::span(batch).first(count)));
    flow.pacer.sent(count);
    flow.dead = outcome.too_large;
    flow.note_sent(outcome.taken, now);
    return {};
  }

  PacketPort& port_;
  packet::Authenticator authenticator_;
  std::vector<Flow> flows_;
};

Result<void> check_flows(const FlowRequest& request) {
  if (request.specs.size() > kMaxFlows)
    return fail(ErrorKind::usage, "{} flows in one request: expected at most {}", request.specs.size(),
                kMaxFlows);
  for (std::size_t i = 0; i < request.specs.size(); ++i) {
    const auto& spec = request.specs[i];
    if (!spec.label) return fail(ErrorKind::not_supported, "flow {}: only queue pairs go without a label", i);
    if (auto ok = check_spec(i, spec.peer, request.peers.size(), *spec.label); !ok) return ok;
    if (spec.rate <= Bandwidth() || spec.size.count() <= 0 || spec.size.count() > 0xFFFF)
      return fail(ErrorKind::usage, "flow {}: expected a rate above zero and a size of 1 to 65535 bytes", i);
  }
  return {};
}

}  // namespace

Result<std::vector<FlowTally>> FlowSender::run(const FlowRequest& request, std::stop_token stop) {
  if (auto ok = check_peers(request.run, secrets_, request.peers, nic_); !ok) return pass_on(ok);
  if (auto ok = check_flows(request); !ok) return pass_on(ok);
  WEFT_TRY(const auto macs, find_next_hops(next_hops_, request.peers));
  const auto start = port_.now();
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < request.specs.size(); ++i) {
    const auto& spec = request.specs[i];
    const auto& mac = macs[spec.peer];
    const auto size = packet::probe_size(static_cast<std::size_t>(spec.size.count()), nic_.address.is_v6());
    const auto interval = spec.rate.time_for(Bytes(static_cast<std::int64_t>(size)));
    // Flows of one rate start one after the other, not all at once.
    const auto offset = interval * i / static_cast<std::int64_t>(request.specs.size());
    const packet::ProbeHeader header{.kind = packet::ProbeKind::flow,
                                     .run = secrets_.run,
                                     .batch = request.batch,
                                     .nic = self_,
                                     .spec = i};
    flows.push_back({.route = {.from_mac = nic_.mac,
                               .to_mac = mac.value_or(packet::MacAddress{}),
                               .from = nic_.address,
                               .to = request.peers[spec.peer].address,
                               .label = UdpPort(static_cast<std::uint16_t>(spec.label->value())),
                               .traffic_class = nic_.traffic_class},
                     .header = header,
                     .first_psn = first_psn(header, secrets_.key),
                     .size = size,
                     .pacer = Pacer(interval, kBurst, start + offset),
                     .dead = !mac,
                     .tally = {.spec = i}});
  }
  FlowRun flow_run(port_, secrets_.key, std::move(flows));
  if (auto ok = flow_run.drive(start + request.duration, stop); !ok) return pass_on(ok);
  return flow_run.tallies();
}

}  // namespace weft::datapath
