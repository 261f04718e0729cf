// What keeps the hosts of a fleet from a run, before anything is sent: each host's report by itself, against
// what the fabric file says, and against what most hosts of the fleet have; hosts that could not be asked by
// what was said instead. Hosts of which the same holds are one finding. Pure. What a host did not tell is no
// fault.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/findings/host_trouble.hpp"

namespace weft::diagnosis {

/// A NIC that the fabric file gives a host.
struct WantedNic {
  std::string address;
  std::optional<Bandwidth> rate = std::nullopt;
};

struct DoctorExpectations {
  std::string version;               // of this weft
  std::uint32_t protocol = 0;        // that its coordinator speaks
  std::string program;               // weft, as the hosts know it
  std::string login = "ssh {host}";  // what reaches a host, for what is to be done there
  std::string coordinator = {};      // where it would wait: address:port
  std::string limit = {};            // how long a host had to answer
  bool one_machine = false;          // all hosts are this machine: a lab
  bool roce = true;                  // false: InfiniBand
  std::map<std::string, std::vector<WantedNic>> nics = {};  // by host; empty: no fabric file was given
  std::optional<Bytes> mtu = std::nullopt;                  // of those NICs
  bool paired_by_name =
      false;  // paths were tried between NICs of one name: they may be of different networks
};

/// A NIC and the one of another host that it should reach, by their addresses.
struct NicsToTry {
  std::string own;
  std::string other;
  friend bool operator==(const NicsToTry&, const NicsToTry&) = default;
};

struct PathsToTry {
  std::vector<std::vector<NicsToTry>> of_host;  // in the order of the hosts
  std::size_t left_out = 0;  // NICs that no other host has one of that name for, with an address
};

/// Where no fabric file says which NICs belong together: each NIC that is looked at (but bridges and
/// InfiniBand) towards that of the same name of the next host that has one, in a ring, so that each is tried
/// both ways. An address that two hosts have is no place to send to, and of two names of one host the second
/// tries nothing.
PathsToTry paths_to_try(const std::vector<AskedHost>& hosts, const DoctorExpectations& expectations);

/// Why a host that ended with `exit_code` (absent: by a signal) after it said `words` gave no report.
HostTrouble why_silent(std::optional<int> exit_code, std::string_view words);

/// The line of `words` that told it; the last where none did.
std::string_view telling_line(std::optional<int> exit_code, std::string_view words);

DoctorReport examine(std::vector<AskedHost> hosts, const DoctorExpectations& expectations);

}  // namespace weft::diagnosis
