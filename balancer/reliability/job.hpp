// What is planned: a job, the spares beside it, how it is run and swept. And what came of it in one history.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "balancer/reliability/history.hpp"

namespace weft::reliability {

/// Hosts are missing: wait for a repair, or go on with fewer data-parallel groups.
enum class Shortage : std::uint8_t { wait, shrink };

/// When what is silent is looked for. before_job: never while it runs.
enum class SweepPolicy : std::uint8_t { before_job, at_restart, every, agents };

struct Sweeps {
  SweepPolicy policy = SweepPolicy::before_job;
  Hours every{24};
  Hours cost{2.0 / 60};      // the job stands still for so long
  Hours delay{15.0 / 3600};  // of standing agents, until they name what is silent
};

/// Every so long the next hosts of the pool, in the order of the fabric, are out for that time: updates,
/// inspections. The job writes a checkpoint first.
struct PlannedWork {
  Hours every{};  // 0: none
  Hours length{};
  Index hosts = 0;
};

struct Job {
  Index hosts = 0;
  Index spares = 0;  // hosts of the same fabric that stay idle, spread evenly among the others
  Hours detect{1.0 / 60};
  Hours restart{2.0 / 60};
  Hours spare_start{};  // more, where a host is replaced: cold spares
  Hours checkpoint_every{0.25};
  Hours checkpoint_cost{30.0 / 3600};
  Hours find_slow{1};          // until what slows the job is found without a sweep
  double network_share = 0.2;  // of a step, in which it waits for the network
  Shortage shortage = Shortage::wait;
  Index group = 1;            // hosts of a data-parallel group
  bool without_rail = false;  // a host goes on with one NIC less
  bool dual_leaf = false;     // each NIC is at two leaves: without one, or its cable, it has half of its rate
  Index crews = 0;            // repairs at the same time; 0: as many as there are
  Index most_drained = std::numeric_limits<Index>::max();  // hosts taken out for being slow
  bool caps = false;  // of a blacklist (blacklist::Caps), on cables between switches taken out for being slow
  Sweeps sweeps;
  PlannedWork planned;
  /// By cause: share of the failures that still come (at most 1), and of their repair times.
  std::array<double, kCauses> rate_factor = ones();
  double thin_shift = 0;  // which of them stay away, 0 to 1: another sample of the same share
  std::array<double, kCauses> repair_factor = ones();

  Index pool() const { return hosts + spares; }
  /// At the beginning, the Bresenham way: after each host as many spares as its share of the pool, rounded
  /// down.
  bool is_spare(Index host) const {
    return std::uint64_t{host} * spares / pool() != std::uint64_t{host + 1} * spares / pool();
  }
  Hours down() const { return detect + restart; }
  /// NICs that a host of so many lacks, and goes on, when `lost` of them fail, their cables or their leaf; 0:
  /// it does not go on.
  double lacks_after(std::size_t cause, Index nics, Index lost = 1) const {
    const bool at_nic = cause == static_cast<std::size_t>(PartClass::host_cable) ||
                        cause == static_cast<std::size_t>(PartClass::leaf);
    if (dual_leaf && at_nic) return 0.5 * lost;
    const bool whole = at_nic || cause == static_cast<std::size_t>(PartClass::nic);
    return without_rail && whole && nics > 1 && lost == 1 ? 1 : 0;
  }
  /// It does not come to this job, for its cause fails less often.
  bool passes_over(const Failure& failure) const {
    const double at = failure.thin + thin_shift;
    return (at >= 1 ? at - 1 : at) >= rate_factor[failure.cause];
  }

 private:
  static constexpr std::array<double, kCauses> ones() {
    std::array<double, kCauses> all{};
    all.fill(1);
    return all;
  }
};

/// What slow parts make of a step: the slowest decides for all, apart for the part that waits for the network
/// (NICs, cables, switches) and for the rest (GPUs, hosts, software).
struct StepTime {
  double network = 1, rest = 1;  // over those of a whole fabric

  void note(std::size_t cause, double factor) {
    const bool of_network = cause >= static_cast<std::size_t>(PartClass::nic) &&
                            cause <= static_cast<std::size_t>(PartClass::core);
    double& place = of_network ? network : rest;
    place = std::max(place, factor);
  }
  double over_whole(double network_share) const {
    return (1 - network_share) * rest + network_share * network;
  }
};

/// Where the time goes; adds up to the length of the history.
struct TimeSpent {
  Hours effective{}, checkpoints{}, repeated{}, detection{}, restart{}, waiting{}, slow{}, sweeps{}, shrunk{};
};

struct Outcome {
  Hours length{};
  TimeSpent time;
  std::array<std::uint32_t, kCauses> interruptions{};
  std::uint32_t drains = 0;            // restarts for what was found slow
  std::uint32_t restarts = 0;          // at which hosts were looked for
  std::uint32_t full = 0;              // of these, those that had all of them at once
  std::vector<std::uint32_t> missing;  // restarts by the number of hosts of the pool that were out
  Hours undetected{};                  // slow or silent, not found, of all parts

  std::uint32_t all_interruptions() const {
    std::uint32_t all = 0;
    for (const std::uint32_t each : interruptions) all += each;
    return all;
  }
  double effective_share() const { return time.effective / length; }
};

}  // namespace weft::reliability
