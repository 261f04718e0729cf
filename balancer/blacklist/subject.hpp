// Subject: what a blacklist entry keeps work away from, and what taking it out of use takes away. A ledger
// outlives fabric files, so entries name their subject; find_subject says what the name means in a fabric.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "topology/findings/incident.hpp"
#include "topology/model/fabric.hpp"

namespace weft::blacklist {

enum class SubjectKind : std::uint8_t { channel, link, nic, host, switch_ };
std::string_view to_string(SubjectKind kind);  // channel | link | nic | host | switch
std::optional<SubjectKind> parse_subject_kind(std::string_view text);

struct SubjectName {
  SubjectKind kind = SubjectKind::link;
  std::string name;  // as the fabric names it
  friend auto operator<=>(const SubjectName&, const SubjectName&) = default;
};

/// A NodeId is a host or a switch, a PortId a NIC.
using Subject = std::variant<ChannelId, LinkId, PortId, NodeId>;

SubjectName name_of(const Fabric& fabric, const Subject& subject);
/// Errors: not_found (the fabric has none of that name), invalid_input (a host where a switch is meant).
Result<Subject> find_subject(const Fabric& fabric, const SubjectName& name);
/// What an operator wrote: a node, a NIC as host1/p2, a link or a channel. Errors: those of Fabric::find_*.
Result<Subject> parse_subject(const Fabric& fabric, std::string_view text);

/// The channels of it: those that must be clean for it to be so.
std::vector<ChannelId> channels_of(const Fabric& fabric, const Subject& subject);

/// The smallest subject that covers a place; absent where none does: alternatives over several links that are
/// not of one NIC (advice for people).
std::optional<Subject> covering(const Fabric& fabric, const IncidentPlace& place);

/// What is done about a bad NIC, or about the cable between a host and its leaf.
enum class NicAction : std::uint8_t {
  host,  // the host is drained
  rail,  // jobs may use the host without that rail
};

std::string_view to_string(NicAction action);  // host | rail
std::optional<NicAction> parse_nic_action(std::string_view text);

/// What is out of use while an entry is active. Each list ascending, without repeats.
struct Effect {
  std::vector<LinkId> links{};  // between switches: no route uses them
  std::vector<PortId> nics{};   // jobs do without them
  std::vector<NodeId> hosts{};  // jobs do without them
  bool empty() const { return links.empty() && nics.empty() && hosts.empty(); }
  friend bool operator==(const Effect&, const Effect&) = default;
};

/// A link between switches leaves the routes, and so do all of a switch above the leaves; of a leaf its hosts
/// are drained, for no route leaves it out.
Effect effect_of(const Fabric& fabric, const Subject& subject, NicAction action);

}  // namespace weft::blacklist
