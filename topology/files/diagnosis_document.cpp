#include "topology/files/diagnosis_document.hpp"

#include <algorithm>
#include <set>

namespace weft::files {
namespace {

template <class Ids>
std::vector<std::string> names_of(const Fabric& fabric, const Ids& ids) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const auto id : ids) names.push_back(fabric.name_of(id));
  return names;
}

LinkReport report_of(const Fabric& fabric, const LinkFinding& finding) {
  LinkReport report{.link = fabric.name_of(finding.link),
                    .ends = refer_to(fabric, finding.link),
                    .verdict = finding.verdict,
                    .cause = finding.cause,
                    .estimate = finding.estimate,
                    .confidence = finding.confidence,
                    .evidence = finding.evidence,
                    .intermittent = finding.intermittent};
  if (finding.channel) report.from = fabric.name_of(fabric.source_node(*finding.channel));
  for (const LabelledLoss& each : finding.labels)
    report.labels.push_back({fabric.name_of_nic(each.pair.src), fabric.name_of_nic(each.pair.dst),
                             each.pair.label, each.sent, each.lost});
  return report;
}

/// The cable a host finding is about: its NIC's, or the only one of a host whose packets suffer (a cause is
/// named). A host that is at fault itself (its agent died) has no cause and blames no cable.
std::optional<LinkId> cable_of(const Fabric& fabric, const HostFinding& finding) {
  if (finding.link) return finding.link;
  if (finding.nic) return fabric.port(*finding.nic).link;
  const auto ports = fabric.ports_of(finding.host);
  return finding.cause && ports.size() == 1 ? fabric.port(ports.front()).link : std::nullopt;
}

HostReport report_of(const Fabric& fabric, const HostFinding& finding) {
  HostReport report{.host = fabric.name_of(finding.host),
                    .verdict = finding.verdict,
                    .cause = finding.cause,
                    .evidence = finding.evidence,
                    .estimate = finding.estimate,
                    .confidence = finding.confidence,
                    .intermittent = finding.intermittent};
  if (finding.channel) report.from = fabric.name_of(fabric.source_node(*finding.channel));
  if (finding.nic) report.nic = fabric.name_of_nic(*finding.nic);
  if (const auto cable = cable_of(fabric, finding)) report.ends = refer_to(fabric, *cable);
  return report;
}

NotTestedReport report_of(const Fabric& fabric, const NotTested& each) {
  NotTestedReport report{.host = fabric.name_of(each.host), .nic = {}, .why = each.why};
  if (each.nic) report.nic = fabric.name_of_nic(*each.nic);
  return report;
}

GroupReport report_of(const Fabric& fabric, const GroupFinding& finding) {
  return {.nodes = names_of(fabric, finding.nodes),
          .channels = names_of(fabric, finding.channels),
          .cause = finding.cause,
          .verdict = finding.verdict,
          .confidence = finding.confidence,
          .evidence = finding.evidence};
}

/// How many hosts the question is about: those that a channel in scope ends at.
std::size_t hosts_of(const Fabric& fabric, const Coverage& covered) {
  std::set<NodeId> hosts;
  const auto add = [&](ChannelId channel) {
    for (const NodeId node : {fabric.source_node(channel), fabric.target_node(channel)})
      if (fabric.is_host(node)) hosts.insert(node);
  };
  for (const ChannelId channel : covered.in_scope) add(channel);
  if (covered.out_of_scope == 0)
    for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) add(ChannelId(c));
  return hosts.size();
}

std::vector<std::string> each_once(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::vector<std::string> channels_of(const SetReport& set) {
  std::vector<std::string> channels;
  for (const auto& each : set.alternatives) channels.insert(channels.end(), each.begin(), each.end());
  return each_once(std::move(channels));
}

bool is_part_of(const SetReport& set, const GroupReport& group) {
  if (!group.nodes.empty() || group.cause != set.cause) return false;
  const auto its = each_once(group.channels), listed = channels_of(set);
  if (!set.more) return its == listed;
  // Of one finding both say the same; it is told by nothing else.
  return group.verdict == set.verdict && group.confidence == set.confidence &&
         std::ranges::includes(its, listed);
}

std::vector<std::vector<std::string>> untold_classes(const DiagnosisDocument& document) {
  std::vector<std::vector<std::string>> untold;
  for (const auto& channels : document.ambiguous) {
    const auto its = each_once(channels);
    if (std::ranges::none_of(document.sets, [&](const auto& set) { return channels_of(set) == its; }) &&
        std::ranges::none_of(document.groups, [&](const auto& g) { return each_once(g.channels) == its; }))
      untold.push_back(channels);
  }
  return untold;
}

DiagnosisDocument diagnosis_document(const Fabric& fabric, const Diagnosis& diagnosis, const RunReport& run,
                                     const DocumentStamp& stamp) {
  DiagnosisDocument document{.stamp = stamp,
                             .fabric = fabric.name(),
                             .kind = fabric.kind(),
                             .verdict = diagnosis.verdict,
                             .run = run};
  for (const auto& finding : diagnosis.links) document.links.push_back(report_of(fabric, finding));
  for (const auto& finding : diagnosis.hosts) document.hosts.push_back(report_of(fabric, finding));
  for (const auto& finding : diagnosis.groups) document.groups.push_back(report_of(fabric, finding));
  for (const auto& channels : diagnosis.ambiguous) document.ambiguous.push_back(names_of(fabric, channels));
  for (const OpenSet& set : diagnosis.sets) {
    SetReport& report = document.sets.emplace_back(SetReport{
        .cause = set.cause, .verdict = set.verdict, .confidence = set.confidence, .more = set.more});
    for (const auto& channels : set.alternatives) report.alternatives.push_back(names_of(fabric, channels));
  }
  document.fabric_wide = diagnosis.fabric;
  for (const CounterNote& note : diagnosis.counters)
    document.counters.push_back({fabric.name_of(note.channel), note.probability, note.texts});
  document.account = diagnosis.account;
  document.sensitivity = diagnosis.sensitivity;
  document.coverage = {.channels = diagnosis.coverage.channels,
                       .hosts = hosts_of(fabric, diagnosis.coverage),
                       .probed = diagnosis.coverage.probed,
                       .paths = diagnosis.coverage.paths,
                       .missing = names_of(fabric, diagnosis.coverage.missing),
                       .thin = names_of(fabric, diagnosis.coverage.thin),
                       .unloaded = names_of(fabric, diagnosis.coverage.unloaded),
                       .rate_untested = names_of(fabric, diagnosis.coverage.rate_untested),
                       .masked = names_of(fabric, diagnosis.coverage.masked),
                       .out_of_scope = diagnosis.coverage.out_of_scope,
                       .out_of_scope_told_by = diagnosis.coverage.out_of_scope_told_by,
                       .in_scope = names_of(fabric, diagnosis.coverage.in_scope),
                       .not_tested = {},
                       .cut_short = diagnosis.coverage.cut_short,
                       .fell_short = diagnosis.coverage.fell_short,
                       .complete = diagnosis.coverage.complete};
  for (const NotTested& each : diagnosis.coverage.not_tested)
    document.coverage.not_tested.push_back(report_of(fabric, each));
  return document;
}

}  // namespace weft::files
