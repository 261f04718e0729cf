#include "topology/files/incident_json.hpp"

#include <algorithm>

#include "topology/base/instant.hpp"
#include "topology/base/json_limits.hpp"
#include "topology/files/finding_fields.hpp"
#include "topology/files/json_text.hpp"

namespace weft::files {
namespace {

constexpr std::string_view kEventSchema = "weft.event/1";

// A switch of 1,024 ports names 2,048 channels of some 40 bytes; a message of the bus holds 1 MB.
constexpr JsonLimits kEventLimits{.bytes = 1'000'000, .depth = 8, .values = 50'000};

const auto as_state = as_word(&parse_incident_state, "suspected, open, recovering, closed or dismissed");
const auto as_change =
    as_word(&parse_incident_change, "suspected, opened, changed, recovering, came_back, closed or dismissed");

Result<Nanoseconds> as_nanoseconds(const JsonView& view) {
  WEFT_TRY(const auto count, view.count<std::uint64_t>());
  if (count > static_cast<std::uint64_t>(Nanoseconds::max().count()))
    return view.error("{} ns is too long", count);
  return Nanoseconds(static_cast<std::int64_t>(count));
}

Result<std::uint32_t> as_flaps(const JsonView& view) { return view.count<std::uint32_t>(); }

Result<std::vector<std::vector<std::string>>> as_alternatives(const JsonView& view) {
  WEFT_TRY(auto all, read_array<std::vector<std::string>>(view, read_texts));
  if (all.size() == 1) return view.error("one alternative alone is none");
  return all;
}

Result<void> read_place(const JsonView& root, IncidentReport& incident) {
  return in_turn([&] { return read_member(root, "channels", incident.channels, read_texts); },
                 [&] { return read_member(root, "nodes", incident.nodes, read_texts); },
                 [&] { return read_member(root, "alternatives", incident.alternatives, as_alternatives); },
                 [&] { return read_member(root, "links", incident.links, read_texts); },
                 [&]() -> Result<void> {
                   if (incident.channels.empty() && incident.nodes.empty() && incident.alternatives.empty())
                     return root.error("it names neither channels nor nodes nor alternatives");
                   return {};
                 });
}

Result<IncidentId> as_incident_id(const JsonView& view) {
  WEFT_TRY(const auto number, view.count<std::uint64_t>());
  if (number == 0) return view.error("incidents count from 1");
  return IncidentId(number);
}

Result<IncidentReport> as_incident(const JsonView& root) {
  IncidentReport incident;
  const auto done = in_turn([&] { return need_member(root, "incident", incident.id, as_incident_id); },
                            [&] { return read_place(root, incident); },
                            [&] { return need_member(root, "cause", incident.cause, as_cause); },
                            [&] { return need_member(root, "verdict", incident.verdict, as_verdict); },
                            [&] { return need_member(root, "state", incident.state, as_state); },
                            [&] { return read_member(root, "estimate", incident.estimate, as_estimate); },
                            [&] { return need_member(root, "confidence", incident.confidence, as_share); },
                            [&] { return read_member(root, "evidence", incident.evidence, read_texts); },
                            [&] { return need_member(root, "first_seen", incident.first_seen, as_instant); },
                            [&] { return need_member(root, "last_seen", incident.last_seen, as_instant); },
                            [&] { return read_member(root, "opened", incident.opened, as_instant); },
                            [&] { return read_member(root, "closed", incident.closed, as_instant); },
                            [&] { return read_member(root, "flaps", incident.flaps, as_flaps); },
                            [&] { return read_member(root, "bad_ns", incident.bad, as_nanoseconds); },
                            [&] { return read_member(root, "muted_by", incident.muted_by, as_text); });
  if (!done) return pass_on(done);
  return incident;
}

DocumentTree tree_of(const Estimate& estimate) {
  DocumentTree tree;
  tree["value"] = estimate.value, tree["low"] = estimate.low, tree["high"] = estimate.high;
  return tree;
}

void put_place(DocumentTree& tree, const IncidentReport& incident) {
  if (!incident.channels.empty()) tree["channels"] = incident.channels;
  if (!incident.nodes.empty()) tree["nodes"] = incident.nodes;
  if (!incident.alternatives.empty()) tree["alternatives"] = incident.alternatives;
  if (!incident.links.empty()) tree["links"] = incident.links;
}

template <class Id>
std::vector<std::string> names_of(const Fabric& fabric, const std::vector<Id>& ids) {
  std::vector<std::string> names;
  for (const Id id : ids) names.emplace_back(fabric.name_of(id));
  return names;
}

std::vector<std::string> links_of(const Fabric& fabric, const IncidentPlace& place) {
  std::vector<LinkId> links;
  const auto add = [&](const std::vector<ChannelId>& channels) {
    for (const ChannelId channel : channels) links.push_back(Fabric::link_of(channel));
  };
  add(place.channels);
  for (const auto& alternative : place.alternatives) add(alternative);
  std::ranges::sort(links);
  links.erase(std::ranges::unique(links).begin(), links.end());
  return names_of(fabric, links);
}

/// Ascending, as IncidentPlace has them: another fabric file may have other ids for the same names.
template <class Id>
Result<std::vector<Id>> found(const std::vector<std::string>& names, const auto& find) {
  std::vector<Id> ids;
  for (const std::string& name : names) {
    const Result<Id> id = find(name);
    if (!id) return fail(ErrorKind::not_found, "{}", id.error().message);
    ids.push_back(*id);
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

}  // namespace

std::string place_text(const IncidentReport& incident) {
  if (!incident.nodes.empty()) {
    const std::string nodes = fmt::format("{}", fmt::join(incident.nodes, ", "));
    return incident.channels.empty() ? nodes
                                     : fmt::format("{} ({} channels)", nodes, incident.channels.size());
  }
  if (!incident.alternatives.empty()) {
    std::vector<std::string> each;
    for (const auto& alternative : incident.alternatives)
      each.push_back(fmt::format("{}", fmt::join(alternative, " and ")));
    return fmt::format("{}", fmt::join(each, " or "));
  }
  if (incident.links.size() == 1 && incident.channels.size() == 2) return incident.links.front();
  return fmt::format("{}", fmt::join(incident.channels, ", "));
}

EventReport report_of(const Fabric& fabric, const IncidentEvent& event) {
  const Incident& from = event.incident;
  IncidentReport incident{.id = from.id,
                          .channels = names_of(fabric, from.place.channels),
                          .nodes = names_of(fabric, from.place.nodes),
                          .links = links_of(fabric, from.place),
                          .alternatives = {},
                          .cause = from.cause,
                          .verdict = from.verdict,
                          .state = from.state,
                          .estimate = from.estimate,
                          .confidence = from.confidence,
                          .evidence = from.evidence,
                          .first_seen = from.first_seen,
                          .last_seen = from.last_seen,
                          .opened = from.opened,
                          .closed = from.closed,
                          .flaps = from.flaps,
                          .bad = from.bad,
                          .muted_by = from.muted_by};
  for (const auto& alternative : from.place.alternatives)
    incident.alternatives.push_back(names_of(fabric, alternative));
  return {fabric.name(), event.number, event.at, event.change, std::move(incident)};
}

Result<IncidentEvent> event_of(const Fabric& fabric, const EventReport& report) {
  if (report.fabric != fabric.name())
    return fail(ErrorKind::invalid_input, "an event of the fabric '{}', not of '{}'", report.fabric,
                fabric.name());
  const IncidentReport& from = report.incident;
  const auto channel = [&](std::string_view name) { return fabric.find_channel(name); };
  const auto node = [&](std::string_view name) { return fabric.find_node(name); };
  IncidentPlace place;
  WEFT_TRY(place.channels, found<ChannelId>(from.channels, channel));
  WEFT_TRY(place.nodes, found<NodeId>(from.nodes, node));
  for (const auto& names : from.alternatives) {
    WEFT_TRY(auto alternative, found<ChannelId>(names, channel));
    place.alternatives.push_back(std::move(alternative));
  }
  return IncidentEvent{report.number, report.at, report.change,
                       Incident{.id = from.id,
                                .place = std::move(place),
                                .cause = from.cause,
                                .verdict = from.verdict,
                                .state = from.state,
                                .estimate = from.estimate,
                                .confidence = from.confidence,
                                .evidence = from.evidence,
                                .first_seen = from.first_seen,
                                .last_seen = from.last_seen,
                                .opened = from.opened,
                                .closed = from.closed,
                                .flaps = from.flaps,
                                .bad = from.bad,
                                .muted_by = from.muted_by}};
}

std::string event_line(const EventReport& report) {
  const IncidentReport& incident = report.incident;
  DocumentTree tree;
  tree["schema"] = kEventSchema;
  tree["fabric"] = report.fabric;
  tree["incident"] = incident.id.value();
  tree["number"] = report.number;
  tree["at"] = instant_text(report.at);
  tree["change"] = to_string(report.change);
  tree["state"] = to_string(incident.state);
  put_place(tree, incident);
  tree["cause"] = to_string(incident.cause);
  tree["verdict"] = to_string(incident.verdict);
  if (incident.estimate) tree["estimate"] = tree_of(*incident.estimate);
  tree["confidence"] = incident.confidence;
  tree["evidence"] = incident.evidence;
  tree["first_seen"] = instant_text(incident.first_seen);
  tree["last_seen"] = instant_text(incident.last_seen);
  if (incident.opened) tree["opened"] = instant_text(*incident.opened);
  if (incident.closed) tree["closed"] = instant_text(*incident.closed);
  tree["flaps"] = incident.flaps;
  tree["bad_ns"] = incident.bad.count();
  if (incident.muted_by) tree["muted_by"] = *incident.muted_by;
  return document_line(tree);
}

Result<EventReport> parse_event(std::string_view line, std::string_view what) {
  if (const auto fits = check_json_limits(line, kEventLimits); !fits) return pass_on(fits, what);
  WEFT_TRY(const auto json, parse_json(line, what));
  const JsonView root(json, what);
  WEFT_TRY_VOID(check_schema(root, kEventSchema));
  EventReport report;
  WEFT_TRY(report.incident, as_incident(root));
  WEFT_TRY_VOID(in_turn([&] { return need_member(root, "fabric", report.fabric, as_text); },
                        [&] { return need_member(root, "number", report.number, as_count); },
                        [&] { return need_member(root, "at", report.at, as_instant); },
                        [&] { return need_member(root, "change", report.change, as_change); }));
  return report;
}

}  // namespace weft::files
