// The subjects on which standing agents and watchers of a fabric speak, and who may do what there. Pure; a
// server's configuration is made of it. Names are written as subject_token writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/session/bus_permissions.hpp"
#include "topology/base/result.hpp"

namespace weft::session {

/// kWindows: an agent's windows, kept by the stream WEFT_OBS. kEvents: those of incidents, kept by
/// WEFT_EVENTS. kSay: what an agent says of itself. kCounters: what its NICs count. kPlan: what a watcher
/// says to it. kLabels: the labels that an operator has for the jobs of its host. kLabelAnswers: what it
/// answers.
inline constexpr std::string_view kWindows = "obs";
inline constexpr std::string_view kEvents = "event";
inline constexpr std::string_view kSay = "say";
inline constexpr std::string_view kCounters = "counters";
inline constexpr std::string_view kPlan = "plan";
inline constexpr std::string_view kLabels = "labels";
inline constexpr std::string_view kLabelAnswers = "labelled";

/// The watcher where there is only one.
inline constexpr std::string_view kWatcher = "watcher";
/// The operator where there is only one.
inline constexpr std::string_view kOperator = "operator";

/// weft.KIND.FABRIC.NAME; `name`: a host's, or an incident's number.
std::string watch_subject(std::string_view kind, std::string_view fabric, std::string_view name);
/// weft.KIND.FABRIC.*
std::string watch_subjects(std::string_view kind, std::string_view fabric);
/// Of the changes of a fabric's blacklist that machines share: weft.blacklist.FABRIC
std::string ledger_subject(std::string_view fabric);
/// The name that ends it, and only where it is of this kind and fabric.
std::optional<std::string> name_in(std::string_view subject, std::string_view kind, std::string_view fabric);
/// Under which answers to this participant come: nobody else hears them.
std::string inbox_of(std::string_view fabric, std::string_view participant);

/// The numbers under which the standing agents of a fabric serve runs, one run at a time each: the mappings
/// of its watcher, and beside them the sweeps and traces of people. Made of its name, so that none of them
/// need tell the others.
RunId standing_run(std::string_view fabric);
RunId sweep_run(std::string_view fabric);

/// Of an agent that stands: its windows, what it says of itself, of its NICs and to operators, and its part
/// in any run; it hears its plan, the labels for its host, its runs and its answers alone.
BusPermissions standing_agent_permissions(std::string_view fabric, std::string_view host);
/// Of a watcher: all of its account (collectors/bus/server_config.hpp).
BusPermissions watcher_permissions();
/// Of an operator: labels to any host, and what agents answer. Nothing else; by another key it coordinates
/// sweeps.
BusPermissions operator_permissions(std::string_view fabric);
/// Of who coordinates runs of agents that stand, whatever their number.
BusUser coordinator_of_all_runs();
/// The same, of sweeps and traces alone.
BusUser coordinator_of_sweeps(std::string_view fabric);

/// Watchers first, then hosts, then operators. Error (usage): two of one name, or the fabric's name is that
/// of one: then the subjects of runs and those of windows could not be told apart.
Result<std::vector<BusUser>> watch_users(std::string_view fabric, const std::vector<std::string>& watchers,
                                         const std::vector<std::string>& hosts,
                                         const std::vector<std::string>& operators = {});

}  // namespace weft::session
