// FabricMap: the hashes of all switches of a fabric, from a few traces of each NIC to peers that it has
// anyway, at the one hop that decides. Rounds: what to ask now, all NICs at once; the answers; until each
// group of next hops is learned and checked, or has no structure and all its members were seen. A later
// refresh checks each group first and asks more only where a check fails. Pure; not thread-safe. Fabric and
// addresses must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "probes/plan/path_search.hpp"
#include "probes/plan/switch_hashes.hpp"

namespace weft::plan {

class FabricMap {
 public:
  /// `peers[i]`: whom the i-th NIC of Fabric::nics() may ask; none is the NIC itself. All have addresses.
  FabricMap(const Fabric& fabric, const AddressBook& addresses, std::vector<std::vector<PortId>> peers,
            Fraction confidence, std::uint64_t seed);

  using Asking = PathSearch::Asking;
  /// Empty: nothing is left to ask that would teach more.
  std::vector<Asking> next_round();
  /// None where nobody answered.
  void take(const Asking& asking, std::span<const datapath::HopAnswer> answers);

  /// Each group that predicts is to be checked once more, in the rounds that follow; what fails is learned
  /// anew.
  void refresh();

  SwitchHashes& hashes() { return hashes_; }
  std::size_t asked() const { return asked_; }

 private:
  bool wants(std::size_t group) const;
  std::size_t quota(std::size_t group) const;
  std::optional<std::size_t> lesson_of(const SwitchHashes::Walk& walk) const;
  HopRange deciding(const NicPair& pair);
  void note_members(const NicPair& pair, std::span<const ChannelId> path);

  const Fabric* fabric_;
  const AddressBook* addresses_;
  std::vector<std::vector<PortId>> peers_;
  std::mt19937_64 random_;
  PathTable table_;
  PathLearner learner_;
  SwitchHashes hashes_;
  std::map<std::pair<NodeId, NodeId>, HopRange> deciding_;  // by edge switches
  std::vector<std::uint32_t> checks_due_;                   // by group: of a refresh
  std::vector<std::uint32_t> pending_;                      // by group: asked for in this round
  std::vector<std::vector<bool>> seen_;                     // by group and member
  std::size_t asked_ = 0;
  std::size_t rounds_ = 0;
};

}  // namespace weft::plan
