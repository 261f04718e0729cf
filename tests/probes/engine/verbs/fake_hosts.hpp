// Two NICs with an RDMA device each, over FakeVerbs: engines as agents open them, which speak to each other
// directly.
#pragma once

#include <gtest/gtest.h>

#include <thread>

#include "probes/engine/verbs/verbs_engine.hpp"
#include "probes/run/engines.hpp"
#include "tests/fakes/fake_exchange.hpp"
#include "tests/fakes/fake_verbs.hpp"

namespace weft::verbs {

struct FakeHosts {
  static constexpr std::size_t kHere = 0;
  static constexpr std::size_t kThere = 1;
  std::vector<IpAddress> addresses{IpAddress(IpAddress::V4{10, 0, 1, 1}),
                                   IpAddress(IpAddress::V4{10, 0, 2, 1})};
  fakes::FakeVerbs fake{addresses};
  fakes::FakeExchange exchange;
  // Of engines opened from then on.
  rdma::VerbsTraffic traffic;
  datapath::SharedNics nics = std::make_shared<const datapath::RunNics>(
      std::vector<datapath::RunNic>{{nic(kHere), addresses[kHere]}, {nic(kThere), addresses[kThere]}});
  datapath::ProbeTransport probes = datapath::ProbeTransport::by_device;
  std::shared_ptr<VerbsEngine> here = open(kHere);
  std::shared_ptr<VerbsEngine> there = open(kThere);

  static PortId nic(std::size_t host) { return PortId(static_cast<std::uint32_t>(10 + host)); }

  std::shared_ptr<VerbsEngine> open(std::size_t host,
                                    const packet::BufferFactory& memory = run::host_memory) {
    auto engine = open_verbs_engine(fake.library(), {.gid = {addresses[host], ""},
                                                     .traffic = traffic,
                                                     .memory = {memory, run::host_memory},
                                                     .nics = nics,
                                                     .probes = probes});
    EXPECT_TRUE(engine) << engine.error().message;
    exchange.join(nic(host), **engine);
    return *engine;
  }
  /// The far end dies: it answers nobody, and its queue pairs are gone.
  void kill_peer() {
    exchange.kill(nic(kThere));
    there.reset();
  }
  /// All engines go; what the devices still hold then was leaked.
  std::size_t leaked() {
    here.reset();
    there.reset();
    return fake.held();
  }

  /// The devices as they stood when the first message of `work` arrived.
  template <class F>
  fakes::FakeVerbs::Seen seen_during(F work) {
    fake.watch_next_message();
    work();
    return fake.seen();
  }

  datapath::FlowRequest flows(std::vector<std::uint32_t> labels,
                              Bandwidth rate = Bandwidth::mbit(200)) const {
    datapath::FlowRequest request{
        .run = RunId(1), .batch = BatchId(1), .peers = {{nic(kThere), addresses[kThere]}}};
    for (const auto label : labels) request.specs.push_back({0, PathLabel(label), rate, Bytes(4096)});
    request.duration = std::chrono::milliseconds(30);
    return request;
  }
  datapath::PingRequest pings(std::uint32_t count, std::uint32_t specs = 1) const {
    datapath::PingRequest request{
        .run = RunId(1), .batch = BatchId(2), .peers = {{nic(kThere), addresses[kThere]}}};
    for (std::uint32_t i = 0; i < specs; ++i)
      request.specs.push_back({0, PathLabel(50'000 + i), PathLabel(60'000 + i), count, Bytes(128)});
    request.pace.packets_per_second = 10'000;
    return request;
  }
  /// Over 50 ms and more: a host that does not run for a while takes some of them at once, and tells of such
  /// a bunch no time that it held them; never all.
  datapath::PingRequest spread_pings(std::uint32_t specs = 1) const {
    auto request = pings(100, specs);
    request.pace.packets_per_second = 2'000;
    return request;
  }
};

/// Why a request of one spec or more came to nothing: an error of this end, or the refusal of the other.
template <class Tally>
std::string said_no(const Result<std::vector<Tally>>& tallies) {
  return tallies ? tallies->at(0).refused.value_or("") : tallies.error().message;
}

/// For tests of every operation, called by its name.
inline auto every_operation() {
  return ::testing::Values(FlowOperation::write, FlowOperation::read, FlowOperation::send);
}
inline std::string name_of_operation(const ::testing::TestParamInfo<FlowOperation>& tested) {
  return std::string(to_string(tested.param));
}

}  // namespace weft::verbs
