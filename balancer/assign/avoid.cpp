#include "balancer/assign/avoid.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

constexpr double kShareOfDegraded = 0.5;

double share_left(const LinkFinding& finding) {
  if (finding.verdict == Verdict::failed) return 0.0;
  const bool measured = finding.cause == Cause::rate || finding.cause == Cause::congestion;
  if (measured && finding.estimate) return std::clamp(finding.estimate->value, 0.0, 1.0);
  return kShareOfDegraded;
}

}  // namespace

std::vector<Avoided> avoided_by(const Diagnosis& diagnosis) {
  std::vector<Avoided> avoided;
  const auto avoid = [&avoided](ChannelId channel, double share) {
    if (share < 1.0) avoided.push_back({channel, share});
  };
  for (const LinkFinding& finding : diagnosis.links) {
    if (finding.verdict == Verdict::healthy || finding.verdict == Verdict::unknown) continue;
    const double share = share_left(finding);
    if (finding.channel && finding.cause != Cause::down) {
      avoid(*finding.channel, share);
    } else {
      avoid(Fabric::a_to_b(finding.link), share);
      avoid(Fabric::b_to_a(finding.link), share);
    }
  }
  for (const GroupFinding& group : diagnosis.groups)
    if (group.verdict == Verdict::failed)
      for (const ChannelId channel : group.channels) avoid(channel, 0.0);
  return avoided;
}

DocumentAvoided avoided_by(const Fabric& fabric, std::span<const blacklist::LedgerEntry> entries) {
  DocumentAvoided avoided;
  for (const auto& [of, entry] : entries) {
    if (of != fabric.name() || entry.state != blacklist::EntryState::active) continue;
    const auto subject = find_subject(fabric, entry.subject);
    if (!subject) {
      avoided.unknown.push_back(fmt::format("entry {}: {}", entry.id.value(), subject.error().message));
      continue;
    }
    for (const ChannelId channel : blacklist::channels_of(fabric, *subject)) {
      avoided.channels.push_back({channel});
      avoided.channels.push_back({Fabric::reverse(channel)});
    }
  }
  return avoided;
}

DocumentAvoided avoided_by(const Fabric& fabric, std::span<const blacklist::BlacklistEntry> entries,
                           UtcTime now) {
  DocumentAvoided avoided;
  for (const blacklist::BlacklistEntry& entry : entries) {
    if (entry.fabric != fabric.name() || !is_active(entry, now)) continue;
    const auto link = fabric.find_link(entry.link.name);
    if (!link) {
      avoided.unknown.push_back(fmt::format("{}: {}", entry.id, link.error().message));
      continue;
    }
    avoided.channels.push_back({Fabric::a_to_b(*link)});
    avoided.channels.push_back({Fabric::b_to_a(*link)});
  }
  return avoided;
}

namespace {

/// The findings of a document by this fabric's ids; what it does not have goes to `unknown`.
class Resolver {
 public:
  Resolver(const Fabric& fabric, std::vector<std::string>& unknown) : fabric_(fabric), unknown_(unknown) {}

  std::optional<LinkFinding> link(const files::LinkReport& report) {
    const auto id = fabric_.find_link(report.link);
    if (!id) return miss<LinkFinding>(id.error());
    LinkFinding finding{
        .link = *id, .verdict = report.verdict, .cause = report.cause, .estimate = report.estimate};
    if (!report.from) return finding;
    const auto from = fabric_.find_node(*report.from);
    if (!from) return miss<LinkFinding>(from.error());
    for (const ChannelId channel : {Fabric::a_to_b(*id), Fabric::b_to_a(*id)})
      if (fabric_.source_node(channel) == *from) finding.channel = channel;
    return finding;
  }

  std::optional<GroupFinding> group(const files::GroupReport& report) {
    GroupFinding finding{.cause = report.cause, .verdict = report.verdict};
    for (const std::string& name : report.channels) {
      const auto channel = fabric_.find_channel(name);
      if (!channel) return miss<GroupFinding>(channel.error());
      finding.channels.push_back(*channel);
    }
    return finding;
  }

 private:
  template <class T>
  std::optional<T> miss(const Error& error) {
    unknown_.push_back(error.message);
    return std::nullopt;
  }

  const Fabric& fabric_;
  std::vector<std::string>& unknown_;
};

}  // namespace

DocumentAvoided avoided_by(const Fabric& fabric, const files::DiagnosisDocument& document) {
  DocumentAvoided avoided;
  Resolver resolver(fabric, avoided.unknown);
  Diagnosis diagnosis;
  for (const files::LinkReport& report : document.links)
    if (auto finding = resolver.link(report)) diagnosis.links.push_back(std::move(*finding));
  for (const files::GroupReport& report : document.groups)
    if (auto finding = resolver.group(report)) diagnosis.groups.push_back(std::move(*finding));
  avoided.channels = avoided_by(diagnosis);
  return avoided;
}

}  // namespace weft::assign
