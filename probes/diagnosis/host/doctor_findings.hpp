// What the checks of `weft doctor` find, before hosts of which the same holds are put together. For the files
// of this folder. Remedies have marks: @on ("on gpu7", "on each of them"), @first ("on gpu7", the first of
// them), @host (the first's name) and @login (what reaches it, "ssh gpu7").
#pragma once

#include <string>
#include <vector>

#include "probes/diagnosis/host/doctor.hpp"

namespace weft::diagnosis {

struct FoundTrouble {
  HostTrouble trouble;
  Verdict verdict;
  std::string host;
  std::string what;
  std::string evidence;  // may be empty
  std::string remedy;
};
using FoundTroubles = std::vector<FoundTrouble>;

/// Of a host that could not be asked, or whose weft speaks another protocol.
FoundTrouble silence_finding(const AskedHost& host, const DoctorExpectations& expectations);
/// Each of `fleet` has a report of our protocol.
void check_by_itself(const AskedHost& host, const DoctorExpectations& expectations, FoundTroubles& found);
void check_fleet(const std::vector<const AskedHost*>& fleet, const DoctorExpectations& expectations,
                 FoundTroubles& found);

/// The NICs that are looked at: those that serve; without a fabric file all RDMA devices; without any of
/// them, on RoCE, the interfaces with an address that packets to other hosts may take.
std::vector<const NicInventory*> judged_nics(const HostFacts& report, const DoctorExpectations& expectations);

/// Text of a host as a person may paste it into a shell: what else has a meaning there becomes `_`.
std::string pasteable(std::string text);
/// As in "ip link set dev eth3 up": the interface where there is one, else the device; pasteable.
std::string interface_of(const NicInventory& nic);

}  // namespace weft::diagnosis
