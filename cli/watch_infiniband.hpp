// What a watch of an InfiniBand fabric has besides that of others: its paths are read from the switches'
// tables, each time anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/infiniband_reading.hpp"
#include "probes/run/watch_run.hpp"

namespace weft::cli {

/// What ibsim, one process that moves every datagram over every hop, carries beside its agents on two cores:
/// of a host, where --rate says nothing.
inline constexpr double kIbsimProbesPerSecond = 100;
/// Probes that leave a host together there: ibsim holds ten datagrams for a process, and all hosts send at
/// the same times.
inline constexpr std::uint32_t kIbsimBurst = 2;

/// Standing probes between these NICs over what the tables say of the labels of few pairs of them.
run::MappedPlan plan_of_tables(const InfinibandReading& reading, const Fabric& fabric,
                               const std::vector<PortId>& nics, const watch::PlanLimits& limits);
/// The same of a reading that is made when it is asked for; nobody else uses `mads` meanwhile, and the fabric
/// outlives it. NICs whose GID is no longer that of `gids` are left out: agents and keys have that one.
run::ReadPlan plans_of_subnet(std::shared_ptr<mad::Mads> mads, const Fabric& fabric, AddressBook gids,
                              const watch::PlanLimits& limits);

/// Of at most `most` hosts one NIC each, those of `first` before others: a process in ibsim is at one
/// adapter, and a standing agent is one process.
std::vector<PortId> one_nic_a_host(const Fabric& fabric, std::vector<PortId> first, std::size_t most);

/// Of an ibsim lab: datagrams that ibsim had no place for at a process that was not scheduled. They are lost,
/// and no cable lost them.
class DropNotes {
 public:
  /// `dropped`: so far.
  explicit DropNotes(std::function<std::size_t()> dropped)
      : dropped_(std::move(dropped)), known_(dropped_()) {}
  /// Words for people where it dropped some since this said so last; looks once a second.
  std::optional<std::string> news(Nanoseconds now);

 private:
  std::function<std::size_t()> dropped_;
  std::size_t known_;
  Nanoseconds next_{};
};

}  // namespace weft::cli
