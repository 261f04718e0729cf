// Puts what was found beside what should be there: nodes and NICs by their GUIDs, where the fabric file has
// them, else by their names; then for each link of the file the link that was found between the same two.
#pragma once

#include <string>

#include "topology/findings/observation.hpp"
#include "topology/model/ib_subnet.hpp"

namespace weft::discover {

/// A node or NIC of the file that is there and yet another: nothing is wrong with it.
struct MatchRemark {
  enum class Kind { renamed, replaced };
  Kind kind = Kind::renamed;
  std::string where;   // as the file calls it
  std::string should;  // its name, or GUID, in the file
  std::string is;
};
std::string_view to_string(MatchRemark::Kind kind);
/// "renamed: host3 is now localhost"; "replaced: host3/p1 (0x...) is now 0x...".
std::string to_string(const MatchRemark& remark);

/// Ids of the expected fabric to ids of the found one and back; absent where the other has no such thing.
struct FabricMatch {
  std::vector<std::optional<ChannelId>> found;      // by expected channel
  std::vector<std::optional<ChannelId>> expected;   // by found channel
  std::vector<std::optional<PortId>> found_nic;     // by expected port, NICs only
  std::vector<bool> is_there;                       // by expected node; a host: any of it
  std::vector<std::optional<NodeId>> node_of_port;  // by found port: the expected node it is a port of
  std::vector<MatchRemark> remarks;                 // in the order of expected nodes
};

/// Switches by their GUIDs and NICs by those of their ports, whatever they are called; those that are left by
/// name; a node whose name nobody gave by its cables. Of several links between two nodes those at the same
/// ports of the switches, of the others the first to the first. A NIC without a GUID in the file is known by
/// its switch and the port there.
FabricMatch match_fabrics(const Fabric& expected, const Fabric& found);

/// The signs of a link that is not there, of the cable of a NIC without a LID, and of one that runs at `rate`
/// instead of what it should: certain, for they are seen and not inferred.
ChannelEvidence evidence_of_no_link(ChannelId channel);
ChannelEvidence evidence_of_no_lid(ChannelId channel);
ChannelEvidence evidence_of_slow_link(ChannelId channel, std::string_view rate, Bandwidth expected);

/// Whether anything at an end of this channel was found: of a cable between two nodes that are beyond what is
/// down nobody can say whether it is there.
bool is_in_view(const Fabric& expected, const FabricMatch& match, ChannelId channel);

/// What the match alone says of channels in view: cables that are not there, links slower than they should
/// be.
std::vector<ChannelEvidence> match_evidence(const Fabric& expected, const InfinibandFabric& found,
                                            const FabricMatch& match);

}  // namespace weft::discover
