// HostTrouble: a kind of trouble that `weft doctor` names before a run, and DoctorFinding: where it is, how
// bad it is, and the command that mends it. Values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/findings/host_facts.hpp"
#include "topology/findings/verdict.hpp"

namespace weft {

enum class HostTrouble : std::uint8_t {
  // The host could not be asked.
  unreachable,
  host_key,
  login_refused,
  no_answer,
  no_weft,
  wrong_machine,
  missing_libraries,
  other_version,
  bad_answer,
  // It answered.
  same_machine,
  slow_login,
  firewall,
  path_mtu,
  nic_unreached,
  no_raw_packets,
  memory_lock,
  clock_off,
  clock_loose,
  no_room,
  nic_missing,
  no_nic,
  nic_down,
  port_not_active,
  no_gid,
  mtu_differs,
  rate_low,
  pcie_link,
  firmware_differs,
  setting_differs,
  nic_unhealthy,
  no_rdma_driver,
  gpu_missing,
  gpu_off_bus,
  gpu_memory,
  gpu_error,
  gpu_driver,
  no_gpu_direct,
  host_memory,
  pcie_error,
};

/// "login_refused": as documents and docs/doctor.md name it.
std::string_view to_string(HostTrouble trouble);
std::span<const HostTrouble> all_host_troubles();

struct DoctorFinding {
  HostTrouble trouble = HostTrouble::no_answer;
  Verdict verdict = Verdict::unknown;
  std::string what;                   // "the MTU of eth3 is 1500; on 63 of 64 hosts it is 4200"
  std::vector<std::string> hosts;     // of all of which that holds
  std::vector<std::string> evidence;  // of the first of them
  std::string remedy;                 // what mends it, with the command
  friend bool operator==(const DoctorFinding&, const DoctorFinding&) = default;
};

/// One host of a fleet, as it was asked.
struct AskedHost {
  std::string name;
  std::optional<HostFacts> report = std::nullopt;
  std::optional<HostTrouble> silence = std::nullopt;  // why there is no report
  std::string words = {};                             // what it said instead
  Nanoseconds asked{};                                // since 1970
  Nanoseconds answered{};
};

struct DoctorReport {
  std::vector<AskedHost> hosts;
  std::vector<DoctorFinding> findings;  // what hurts most first
  std::vector<std::string> notes;       // what could not be looked at

  Verdict verdict() const;
};

}  // namespace weft
