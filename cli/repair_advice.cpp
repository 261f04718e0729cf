#include "cli/repair_advice.hpp"

#include "collectors/counters/repair_signs.hpp"
#include "probes/diagnosis/repair/repair_causes.hpp"

namespace weft::cli {
namespace {

bool is_of_cable(Cause cause) {
  return cause == Cause::loss || cause == Cause::counter || cause == Cause::corruption;
}

/// The direction that is at fault.
std::optional<ChannelId> direction(const Fabric& fabric, const counters::RepairSurvey& survey,
                                   const files::LinkReport& finding) {
  const auto link = fabric.find_link(finding.link);
  if (!link) return std::nullopt;
  if (!finding.from) return survey.worse(*link);
  const Link& cable = fabric.link(*link);
  return fabric.channel_from(fabric.name_of(fabric.port(cable.a).node) == *finding.from ? cable.a : cable.b);
}

}  // namespace

void add_repair_advice(const Fabric& fabric, counters::CounterTable& table,
                       files::DiagnosisDocument& document) {
  if (table.empty() || document.links.empty()) return;
  const counters::RepairSurvey survey(fabric, table);
  for (files::LinkReport& finding : document.links) {
    const auto channel = is_of_cable(finding.cause) ? direction(fabric, survey, finding) : std::nullopt;
    if (!channel) continue;
    const RepairSigns signs = survey.signs(*channel);
    if (!diagnosis::departs_from_usual(signs)) continue;
    for (const auto& action : diagnosis::repair_actions(diagnosis::repair_causes(signs))) {
      files::LinkReport::Repair one{.cause = action.cause, .probability = action.probability};
      if (action.at_sender)
        one.port = fabric.name_of(*action.at_sender ? fabric.source(*channel) : fabric.target(*channel));
      finding.repair.push_back(std::move(one));
    }
    finding.repair_missing = survey.missing(*channel);
  }
}

}  // namespace weft::cli
