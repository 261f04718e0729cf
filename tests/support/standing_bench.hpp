// A standing NIC on a fake wire: one agent's prober at the near end, another's responder at the far end, and
// the windows of the near one, on a virtual clock.
#pragma once

#include <utility>
#include <vector>

#include "probes/watch/key_epochs.hpp"
#include "probes/watch/standing_responder.hpp"
#include "probes/watch/standing_windows.hpp"
#include "tests/fakes/fake_wire.hpp"

namespace weft::fakes {

struct StandingShape {
  std::uint32_t streams = 10;
  double rate = 500;
  std::uint32_t burst = 10;
  std::uint64_t boot = 77;
  bool v6 = false;
  Nanoseconds key_time = std::chrono::hours(1);
  std::uint8_t trace_hop = 0;  // once a second
};

class StandingBench {
 public:
  explicit StandingBench(const StandingShape& shape = {})
      : wire({}, shape.v6, 2),
        epochs({std::byte{42}}, shape.key_time),
        assignment(assignment_of(shape)),
        run{assignment.plan, {{PortId(2), wire.peer_nic().address}}, Bytes(128), shape.boot},
        nic(run, keys, assignment.nics[0], wire.nic(), watch::roce_codec(), wire.now()),
        windows(assignment.plan, wire.now(), wire.now()),
        read(wire.now()) {
    assignment.peers = run.peers;
    peer_assignment.plan = assignment.plan;
    peer_assignment.asked = {{PortId(1), wire.nic().address}};
    epochs.renew(wire.now());
    renew_keys();
    renew_peer_keys();
    restart_peer(1);
    wire.far_end = [this](ByteSpan frame, Nanoseconds at, Nanoseconds now, MutableByteSpan reply) {
      const auto probe = peer_keys.read(frame, wire.peer_nic().address, watch::roce_codec());
      return probe && responder ? responder->take(*probe, at, now, reply) : 0;
    };
  }

  /// The agent at the far end begins anew; `seed` is what it draws then.
  void restart_peer(std::uint64_t seed) {
    responder.emplace(wire.peer_nic(), watch::roce_codec(), peer_keys, seed);
  }
  /// Either end hears of the keys of now.
  void renew_keys() {
    epochs.give(assignment, NodeId(1), {wire.nic().address}, {NodeId(2)}, wire.now());
    keys.renew(assignment, wire.now());
  }
  void renew_peer_keys() {
    epochs.give(peer_assignment, NodeId(2), {}, {}, wire.now());
    peer_keys.renew(peer_assignment, wire.now());
  }

  /// One look of the agent's thread.
  void look() {
    while (true) {
      const auto frames = nic.compose(wire.now(), [this](std::uint32_t) { return hop(); });
      if (frames.empty()) break;
      wire.let_pass(std::exchange(preempted, Nanoseconds(0)));
      const auto before = wire.now();
      const auto sent = wire.send(frames);
      const auto taken = sent ? sent->taken : 0;
      const bool all = taken == frames.size();
      nic.sent(taken, before, wire.now());
      if (!all) break;
    }
    const ByteSpan trace = nic.tracer().compose(wire.now(), [this](std::uint32_t) { return hop(); });
    if (!trace.empty()) static_cast<void>(wire.send({&trace, 1}));
    if (auto window =
            windows.next({{0, &nic}}, {read, wire.now()}, [this](std::uint32_t) { return wire.overruns(); }))
      told.push_back(std::move(*window));
  }

  void run_for(Nanoseconds time) {
    const auto end = wire.now() + time;
    while (wire.now() < end) {
      look();
      const auto next = wire.now() + std::chrono::milliseconds(5);
      while (wire.now() < next) {
        const auto arrivals = wire.receive(next);
        if (!arrivals) {
          wire.let_pass(next - wire.now());
          break;
        }
        for (const auto& arrival : *arrivals)
          if (const auto probe = keys.read(arrival.frame, wire.nic().address, watch::roce_codec()))
            nic.take(probe->packet, arrival.at);
          else
            nic.tracer().take(arrival.frame, arrival.at);
      }
      read = wire.now();
    }
  }

  std::optional<packet::MacAddress> hop() {
    const auto found = wire.next_hop(wire.peer_nic().address);
    return found ? std::optional(*found) : std::nullopt;
  }

  FakeWire wire;
  watch::KeyEpochs epochs;
  watch::Assignment assignment, peer_assignment;
  watch::StandingKeys keys, peer_keys;
  watch::StandingRun run;
  watch::StandingProber nic;
  watch::StandingWindows windows;
  std::optional<watch::StandingResponder> responder;
  std::vector<watch::Window> told;
  Nanoseconds read;         // what came in before it has been taken
  Nanoseconds preempted{};  // once: between composing and sending

 private:
  static watch::Assignment assignment_of(const StandingShape& shape) {
    watch::Assignment made{
        .plan = watch::PlanVersion(1),
        .nics = {
            {.nic = PortId(1), .interface = "eth0", .packets_per_second = shape.rate, .burst = shape.burst}}};
    for (std::uint32_t i = 0; i < shape.streams; ++i)
      made.nics[0].streams.push_back({0, PathLabel(50'000 + i), PathLabel(51'000 + i), shape.trace_hop});
    if (shape.trace_hop > 0) made.nics[0].traces_per_second = 1;
    return made;
  }
};

}  // namespace weft::fakes
