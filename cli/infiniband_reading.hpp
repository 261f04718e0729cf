// An InfiniBand fabric as it is, beside the one that its file describes: what sweep, trace and routes ask.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "collectors/counters/counter_reading.hpp"
#include "probes/discover/matching.hpp"
#include "probes/discover/subnet_tables.hpp"
#include "probes/plan/echo_plan.hpp"
#include "probes/plan/path_learner.hpp"
#include "topology/model/addressing.hpp"
#include "topology/routing/adaptive_routes.hpp"
#include "topology/routing/routing_report.hpp"

namespace weft::cli {

struct InfinibandReading {
  InfinibandFabric found;
  discover::SubnetRoutes routes;
  discover::FabricMatch match;
  discover::TableReading tables;
  counters::CounterReading counters;
};
Result<InfinibandReading> read_infiniband(mad::Mads& mads, const Fabric& expected);
/// All but the counters.
Result<InfinibandReading> read_infiniband_routes(mad::Mads& mads, const Fabric& expected,
                                                 const std::stop_token& stop = {});

/// The ways of a label in the channels of the fabric file. An Error says why there is no answer: it does not
/// arrive, has too many ways, or one of them is not in the file (a part of them would be no answer).
Result<std::vector<std::vector<ChannelId>>> expected_paths(const routing::LabelPaths& label,
                                                           const discover::FabricMatch& match);
/// By channel of the fabric file: what the routes between these of its NICs take.
std::vector<bool> scope_of(const InfinibandReading& reading, const Fabric& expected,
                           const std::vector<PortId>& nics);
/// Few pairs of NICs of the fabric file, all but those in `without`, whose labels cross what its routes take
/// of `scope` (empty: of all).
std::vector<plan::NicPair> pairs_to_probe(const InfinibandReading& reading, const Fabric& expected,
                                          const std::vector<PortId>& without,
                                          const std::vector<bool>& scope = {});
/// Whether a route leads from one NIC of the fabric file to another.
bool is_reached(const InfinibandReading& reading, PortId from, PortId to);
/// The echoes that each of `askers` can ask of each other adapter: by every label, there and back over links
/// of the file.
std::vector<plan::Echo> possible_echoes(const InfinibandReading& reading, const Fabric& expected,
                                        const std::vector<PortId>& askers);
/// What the tables say of the paths between these pairs: every label of each. Gives how many (source, label)
/// have none, by the reason.
std::map<std::string, std::size_t> adopt_paths(plan::PathLearner& learner, const InfinibandReading& reading,
                                               const std::vector<plan::NicPair>& pairs);
/// How many of the routes between these pairs are no longer those of the reading.
std::size_t changed_routes(const InfinibandReading& reading, const routing::ForwardingTables& now,
                           const std::vector<plan::NicPair>& pairs);
/// The GIDs of the NICs of the fabric file that were found in the subnet.
AddressBook gids_of(const InfinibandReading& reading, const Fabric& expected);
/// The LIDs that the subnet gave to a NIC of the fabric file.
std::optional<LidRange> lids_of(const InfinibandReading& reading, PortId nic);
/// Sentences on nodes that are others than the file says and yet take part; `check_command` tells all.
std::vector<std::string> match_notes(const discover::FabricMatch& match, const std::string& check_command);
/// Sentences on what is wrong with the routing; `routes_command` tells more.
std::vector<std::string> routing_notes(const InfinibandReading& reading, const std::string& routes_command);

}  // namespace weft::cli
