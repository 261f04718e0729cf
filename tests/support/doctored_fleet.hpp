// A fleet of eight hosts of which nothing is wrong, and every kind of trouble that `weft doctor` names, each
// as a change of it: for tests and for the benchmark.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "probes/diagnosis/host/doctor.hpp"

namespace weft {

struct DoctoredFleet {
  DoctoredFleet();
  std::vector<AskedHost> hosts;
  diagnosis::DoctorExpectations expectations;

  HostFacts& facts(std::size_t host) { return *hosts[host].report; }
  NicInventory& nic(std::size_t host) { return facts(host).inventory.nics.at(0); }
  /// The host says nothing but this.
  void silence(std::size_t host, std::optional<int> exit_code, const std::string& words);
  DoctorReport examined() const { return examine(hosts, expectations); }
};

struct TroubleCase {
  HostTrouble trouble;
  std::string host;  // that has it
  std::function<void(DoctoredFleet&)> put_in;
  std::string command;  // a word of what mends it
};

/// One at least for every kind.
std::vector<TroubleCase> trouble_cases();

}  // namespace weft
