// What a sweep with full load says of a simulated fabric.
#pragma once

#include <gtest/gtest.h>

#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "probes/session/sweep.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {

inline Diagnosis swept(const Fabric& fabric, const std::vector<FaultSpec>& faults,
                       session::SweepOptions options, const std::vector<HostStall>& stalls = {}) {
  const auto addresses = plan_addresses(fabric, IpFamily::v4).value();
  std::vector<session::ExpectedHost> hosts;
  std::vector<std::string> names;
  for (const NodeId host : fabric.hosts()) {
    session::ExpectedHost expected{host, {}};
    for (const PortId port : fabric.ports_of(host))
      if (fabric.channel_from(port))
        expected.nics.push_back({fmt::format("p{}", expected.nics.size() + 1), port});
    hosts.push_back(expected);
    names.push_back(fabric.name_of(host));
  }
  options.load = session::LoadLevel::full;
  options.answers_per_second = 1e5;
  const RunId id(options.seed);
  session::Sweep sweep(fabric, addresses.book, options, id);
  session::Coordinator coordinator(fabric, sweep, {id, {}}, hosts);
  EXPECT_TRUE(coordinate_in_process(
      coordinator, names,
      run::simulated_engines(fabric, addresses.book, faults, options.seed, nullptr, stalls),
      [](const session::Progress&) {}, {}));
  return sweep.finish().diagnosis;
}

inline Diagnosis swept(const Fabric& fabric, const std::vector<std::string>& texts,
                       session::SweepOptions options, const std::vector<std::string>& stall_texts = {}) {
  std::vector<FaultSpec> faults;
  for (const std::string& text : texts) faults.push_back(parse_fault(fabric, text).value());
  std::vector<HostStall> stalls;
  for (const std::string& text : stall_texts) stalls.push_back(parse_stall(fabric, text).value());
  return swept(fabric, faults, std::move(options), stalls);
}

}  // namespace weft::diagnosis
