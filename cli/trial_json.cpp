#include "cli/trial_json.hpp"

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json links_json(const Fabric& fabric, const TrialSending& sending) {
  Json links = Json::array();
  for (std::uint32_t c = 0; c < sending.counted.size(); ++c)
    if (sending.planned[c] > 0 || sending.counted[c] > 0)
      links.push_back({{"channel", fabric.name_of(ChannelId(c))},
                       {"planned", static_cast<std::uint64_t>(sending.planned[c])},
                       {"counted", static_cast<std::uint64_t>(sending.counted[c])}});
  return links;
}

Json sending_json(const Fabric& fabric, const TrialSending& sending) {
  return {{"labels", sending.steered ? "assigned" : "random"},
          {"seconds", sending.measured},
          {"predicted_seconds", sending.predicted},
          {"packet_mode_seconds", sending.by_packets},
          {"qps", sending.qps},
          {"unfinished", sending.unfinished},
          {"packets", sending.wanted},
          {"sent", sending.sent},
          {"received", sending.received},
          {"links", links_json(fabric, sending)}};
}

Json after_json(const Fabric& fabric, LinkId link, const TrialAfterFailure& after) {
  Json blamed = Json::array();
  for (const LinkId one : after.blamed) blamed.push_back(fabric.name_of(one));
  return {{"link", fabric.name_of(link)},
          {"stuck", after.stuck.unfinished},
          {"verdict", std::string(to_string(after.verdict))},
          {"blamed", blamed},
          {"mapping_seconds", after.mapping},
          {"diagnosing_seconds", after.diagnosing},
          {"assigning_seconds", after.assigning},
          {"first_byte_seconds", after.first_byte},
          {"in_force_seconds", after.in_force},
          {"moved", after.moved},
          {"bytes_over_link", static_cast<std::uint64_t>(bytes_over(after.again, link))},
          {"sending", sending_json(fabric, after.again)}};
}

Json times_json(const TrialTimes& times) {
  return {{"seconds", times.measured},
          {"predicted_seconds", times.predicted},
          {"packet_mode_seconds", times.by_packets},
          {"sent_again", times.sent_again},
          {"unfinished", times.unfinished}};
}

}  // namespace

std::string trial_json(const Fabric& fabric, const BalanceOptions& options, const TrialOptions& trial_options,
                       const BalanceTrial& trial, const TrialSummary& summary, const DocumentStamp& stamp) {
  Json json{{"schema", "weft.trial/1"},
            {"generated_at", to_string(stamp.generated_at)},
            {"tool_version", stamp.tool_version},
            {"fabric", fabric.name()},
            {"demand", options.asked.name},
            {"qps", options.assign.qps},
            {"labels", trial_options.labels},
            {"ratio", trial.assignment().ratio()},
            {"assigned", times_json(summary.steered)},
            {"random", times_json(summary.hashed)},
            {"gain", {{"measured", summary.gain_measured}, {"predicted", summary.gain_predicted}}}};
  auto& sendings = json["sendings"] = Json::array();
  for (const TrialSending& sending : trial.sendings()) sendings.push_back(sending_json(fabric, sending));
  if (trial.after_failure())
    json["after_failure"] = after_json(fabric, *trial_options.fail, *trial.after_failure());
  json["complaints"] = summary.complaints;
  auto& unassigned = json["unassigned"] = Json::array();
  for (const RefusedFlow& line : options.asked.refused)
    unassigned.push_back({{"flow", line.flow}, {"why", line.why}});
  for (const PhaseAssignment& phase : trial.assignment().phases)
    for (const Unassigned& item : phase.unassigned)
      unassigned.push_back({{"flow", item.flow}, {"why", item.why}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft
