// Puts what was found beside what should be there: for each link of a fabric file the link that was found
// between the same two nodes.
#pragma once

#include "topology/findings/observation.hpp"
#include "topology/model/infiniband.hpp"

namespace weft {

/// Ids of the expected fabric to ids of the found one and back; absent where the other has no such thing.
struct FabricMatch {
  std::vector<std::optional<ChannelId>> found;     // by expected channel
  std::vector<std::optional<ChannelId>> expected;  // by found channel
  std::vector<std::optional<PortId>> found_nic;    // by expected port, NICs only
};

/// Nodes by name; of several links between two nodes those at the same ports of the switches, of the others
/// the first to the first. A host's NIC is known by its switch and the port there.
FabricMatch match_fabrics(const Fabric& expected, const Fabric& found);

/// The signs of a link that is not there, and of one that runs at `rate` instead of what it should: certain,
/// for they are seen and not inferred.
ChannelEvidence evidence_of_no_link(ChannelId channel);
ChannelEvidence evidence_of_slow_link(ChannelId channel, std::string_view rate, Bandwidth expected);

/// What the match alone says of channels: cables that are not there, links slower than they should be.
std::vector<ChannelEvidence> match_evidence(const Fabric& expected, const InfinibandFabric& found,
                                            const FabricMatch& match);

}  // namespace weft
