// What failures leave of a plant. PlantState: which hosts can be used and how much of the network is left.
// LackingHosts: those that go on with fewer NICs. Repairs: which parts are out until a repair of their own
// ends.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "balancer/reliability/job.hpp"

namespace weft::reliability {

/// Which hosts can be used and how much of the network is left, as failures and repairs come.
class PlantState {
 public:
  explicit PlantState(const Plant& plant);

  void reset(const Job& job);
  Index hosts() const { return plant_.hosts; }
  bool usable(Index host) const { return reasons_[host] == 0; }
  bool is_own_down(Index host) const { return own_down_[host]; }
  Index usable_in_pool() const { return usable_; }

  // Each takes away, and gives back what was taken before. take_* return whether a host of the pool became
  // unusable; what did stands in lost().
  bool take_host(Index host);
  void give_host(Index host);
  void take_hosts_of(Index leaf);
  void give_hosts_of(Index leaf);
  void take_cable(Index cable);
  void give_cable(Index cable);
  void mark_own(Index host, bool down) { own_down_[host] = down; }
  /// Hosts of the pool that became unusable since it was emptied.
  const std::vector<Index>& lost() const { return lost_; }
  std::vector<Index>& lost() { return lost_; }

  /// The time that an all-to-all of the pool takes over that with all links: by the bundle with most of it
  /// over the links that are left.
  double narrowest() const;
  bool has_cable(Index cable) const { return cable_reasons_[cable] == 0; }
  /// One cable more may be taken out for being slow, by the caps of a blacklist; one may always.
  bool may_drain(Index cable) const;
  /// The pool sends over it.
  bool matters(Index bundle) const { return loads_[bundle] > 0; }

 private:
  void load(Index pool);
  void cut(Index bundle, bool take);

  const Plant& plant_;
  Index pool_ = 0, usable_ = 0;
  std::vector<std::uint16_t> reasons_;        // by host
  std::vector<bool> own_down_;                // by host: itself, not only what it hangs on
  std::vector<std::uint16_t> cable_reasons_;  // by cable
  std::vector<double> loads_;                 // by bundle, of the whole fabric
  double busiest_ = 0;                        // of these
  std::vector<Index> missing_;                // by bundle
  std::vector<double> missing_capacity_;      // by bundle
  std::vector<Index> narrowed_;               // bundles with a link missing
  std::vector<Index> lost_;
};

/// Where a part is that fails: a host, a NIC while its host goes on, a cable between switches, or a switch by
/// its number among all (above: a spine or a core).
struct Place {
  enum class Kind : std::uint8_t { host, nic, cable, leaf, above };
  Kind kind;
  Index at;
  bool operator==(const Place&) const = default;
};

/// Hosts that go on without some of their NICs, where the job lets them.
class LackingHosts {
 public:
  /// Both must outlive it.
  LackingHosts(const Plant& plant, const Job& job) : plant_(plant), job_(job) {}
  void reset();

  bool is_nic_out(Index nic) const { return nic_lacks_[nic] > 0; }
  /// The host lacks so much of that NIC (Job::lacks_after) and goes on; false: it does not go on.
  bool take_nic(Index nic, std::uint32_t cause, double lacks);
  void give_nic(Index nic);
  /// The host goes on without that leaf.
  bool take_leaf(Index leaf, Index host);
  void give_leaf(Index leaf, Index host) { add(host, -lacks_at(leaf, host)); }

  const std::vector<Index>& hosts() const { return hosts_; }
  /// Of what it sends.
  double slowdown_of(Index host) const {
    return plant_.nics_of[host] / (plant_.nics_of[host] - static_cast<double>(lacks_[host]));
  }

 private:
  bool goes_on(std::uint32_t cause, Index host, double lacks) const;
  double lacks_at(Index leaf, Index host) const;
  void add(Index host, double nics);

  const Plant& plant_;
  const Job& job_;
  std::vector<float> nic_lacks_;  // by NIC: how much of it is out while its host goes on
  std::vector<float> lacks_;      // by host: NICs, of those and of leaves
  std::vector<Index> hosts_;      // with some
};

/// Which parts are out for a repair of their own, and when they are back.
class Repairs {
 public:
  /// Both must outlive it.
  Repairs(const Plant& plant, const Job& job)
      : plant_(plant), job_(job), state_(plant), lacking_(plant, job) {}
  /// For a history of so many failures.
  void reset(std::size_t failures);
  PlantState& state() { return state_; }
  const PlantState& state() const { return state_; }
  const LackingHosts& lacking() const { return lacking_; }

  /// When it is back. Absent: it is out already, or a host beyond the pool. No NIC: take_nic().
  std::optional<Hours> take(const Place& place, Hours now, Hours repair);
  /// As LackingHosts::take_nic(); absent: its host does not go on.
  std::optional<Hours> take_nic(Index nic, std::uint32_t cause, double lacks, Hours now, Hours repair);
  void give(const Place& place);

  /// Whether the job sends over that cable between switches: not where it, or a switch at its end, is out.
  bool is_cable_used(Index cable) const;
  bool is_switch_used(Index which) const;

  /// Within the caps of a blacklist, for being slow.
  bool may_drain(const Place& place) const;
  void mark_drained(Index host) { ++drained_, is_drained_[host] = true; }

 private:
  Hours repaired_at(Hours now, Hours repair);
  void take_leaf(Index leaf);
  void give_leaf(Index leaf);

  const Plant& plant_;
  const Job& job_;
  PlantState state_;
  LackingHosts lacking_;
  std::priority_queue<double, std::vector<double>, std::greater<>> crews_;  // when each is free
  std::vector<bool> is_drained_;                                            // by host
  Index drained_ = 0;
  std::vector<bool> switch_out_, cable_out_;
  std::vector<std::vector<Index>> go_on_;  // by switch: hosts of a leaf that is out
};

}  // namespace weft::reliability
