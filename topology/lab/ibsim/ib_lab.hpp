// An InfiniBand lab: a fabric in ibsim under OpenSM, kept in a directory of its own until ib_lab_down. Every
// call works from any process of the same user. ibsim moves management datagrams alone and has no rates: its
// faults are loss, an unplugged cable and counters.
#pragma once

#include <filesystem>
#include <stop_token>

#include "topology/lab/ibsim/ib_simulator.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/fault.hpp"
#include "topology/model/lab_settings.hpp"

namespace weft::lab {

struct IbLab {
  std::string name;
  std::filesystem::path directory;
  std::string sockets;  // the name of ibsim's sockets
  Fabric fabric;        // as it should be, at the rates that ibsim can say (4xHDR at most), with GUIDs
  InfinibandInventory inventory;  // as built: GUIDs and ports; LIDs are the subnet manager's
  LabSettings settings;

  /// Variables for a program that reaches the fabric through this NIC, or through the first switch but one.
  std::vector<std::string> environment_at(PortId nic) const;
  std::vector<std::string> environment_for_commands() const;
  /// The NICs that get an agent, several of one host included: kMaxIbsimAgents at most, each on another leaf
  /// as far as these go.
  std::vector<PortId> agents() const;
};

/// `fabric` at the rates that ibsim can say: 4xHDR for its fastest links at most.
Fabric at_ibsim_rates(const Fabric& fabric);

bool ib_lab_exists(const std::string& name, const std::filesystem::path& root);
std::vector<std::string> ib_lab_names(const std::filesystem::path& root);

/// Errors: conflict (a lab of that name is up), absent (ibsim or OpenSM), what the fabric file asks for and
/// ibsim cannot.
Result<IbLab> ib_lab_up(const std::string& name, const Fabric& fabric, const LabSettings& settings,
                        const std::filesystem::path& root, std::stop_token stop = {});
/// Errors: not_found; conflict when its processes are gone: says to take it down.
Result<IbLab> ib_lab_open(const std::string& name, const std::filesystem::path& root);
/// OpenSM's process; absent when it has ended.
std::optional<pid_t> ib_lab_manager(const std::filesystem::path& directory);
/// The routing engine that OpenSM's log names last; it may be another than the one asked for.
std::optional<std::string> ib_lab_engine(const IbLab& lab);
/// Packets that ibsim had no place for at a client that was not scheduled, since the lab came up: its own
/// words tell.
std::size_t ib_lab_drops(const IbLab& lab);
/// Ends its processes and removes what it left; nothing there is no error. Error: permission (the root is
/// another user's, and so may be the list of processes).
Result<void> ib_lab_down(const std::string& name, const std::filesystem::path& root);

/// A counter to set: at the port a channel leaves (transmit counters) or enters (all others).
struct CounterFault {
  std::string name;  // as infiniband-diags have it: SymbolErrorCounter, PortXmitWait, ...
  std::uint64_t value = 0;
};
Result<CounterFault> parse_counter_fault(std::string_view text);  // NAME=VALUE

Result<void> ib_lab_fault(const IbLab& lab, const FaultSpec& spec,
                          const std::optional<CounterFault>& counter);
/// Ends the faults of a link, or of all; true: there were some.
Result<bool> ib_lab_heal(const IbLab& lab, std::optional<LinkId> link);
/// The faults in force, as `lab status` prints them.
std::vector<std::string> ib_lab_faults(const IbLab& lab);

}  // namespace weft::lab
