#include "balancer/blacklist/from_diagnosis.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::blacklist {
namespace {

/// What both kinds of findings say of a link.
struct Sign {
  const std::optional<files::LinkReference>& ends;
  Verdict verdict;
  double confidence;
  std::string summary;
  const std::vector<std::string>& evidence;
};

bool is_fault(Verdict verdict) { return verdict == Verdict::degraded || verdict == Verdict::failed; }

class BlacklistMaker {
 public:
  BlacklistMaker(const files::DiagnosisDocument& document, const BlacklistOptions& options)
      : document_(document), options_(options) {}

  void add(const Sign& sign) {
    auto& entry = entry_of(*sign.ends);
    entry.verdict = std::max(entry.verdict, sign.verdict);
    entry.confidence = std::max(entry.confidence, sign.confidence);
    entry.evidence.push_back(sign.summary);
    entry.evidence.insert(entry.evidence.end(), sign.evidence.begin(), sign.evidence.end());
  }
  std::vector<BlacklistEntry> take() && { return std::move(entries_); }

 private:
  BlacklistEntry& entry_of(const files::LinkReference& link) {
    const auto known = std::ranges::find(entries_, link, &BlacklistEntry::link);
    if (known != entries_.end()) return *known;
    const auto seen = document_.stamp.generated_at;
    entries_.push_back({.id = fmt::format("{}:{}", document_.fabric, link.name),
                        .fabric = document_.fabric,
                        .layer = document_.kind,
                        .link = link,
                        .first_seen = seen,
                        .last_seen = seen,
                        .expires = seen + options_.lifetime,
                        .owner = std::string(kOwner)});
    return entries_.back();
  }

  const files::DiagnosisDocument& document_;
  const BlacklistOptions& options_;
  std::vector<BlacklistEntry> entries_;
};

std::string summary_of(const files::LinkReport& report) {
  return report.from ? fmt::format("{} leaving {}", to_string(report.cause), *report.from)
                     : fmt::format("{}", to_string(report.cause));
}

std::string summary_of(const files::HostReport& report) {
  return fmt::format("{} at {}, the cable or its NIC", report.cause ? to_string(*report.cause) : "fault",
                     report.nic.value_or(report.host));
}

std::string told(Verdict verdict, std::optional<Cause> cause) {
  return cause ? fmt::format("{}, {}", to_string(verdict), to_string(*cause))
               : std::string(to_string(verdict));
}

std::string alternatives_of(const files::SetReport& set) {
  std::string text;
  for (const auto& alternative : set.alternatives)
    text += fmt::format("{}{}", text.empty() ? "" : ", or ", fmt::join(alternative, " and "));
  return text + (set.more ? ", or others" : "");
}

/// Every channel is of a link that has an entry: the set says no more than the entries do.
bool is_listed(const files::DiagnosisDocument& document, const std::vector<std::string>& channels) {
  const auto has_entry = [&](const std::string& channel) {
    const auto arrow = channel.find("->");
    if (arrow == std::string::npos) return false;
    const auto a = channel.substr(0, arrow);
    const auto b = channel.substr(arrow + 2);
    const auto is_it = [&](const std::optional<files::LinkReference>& link, Verdict verdict) {
      return link && is_fault(verdict) && (link->name == a + "--" + b || link->name == b + "--" + a);
    };
    return std::ranges::any_of(document.links, [&](const auto& r) { return is_it(r.ends, r.verdict); }) ||
           std::ranges::any_of(document.hosts, [&](const auto& r) { return is_it(r.ends, r.verdict); });
  };
  return std::ranges::all_of(channels, has_entry);
}

}  // namespace

Result<std::vector<BlacklistEntry>> blacklist_of(const files::DiagnosisDocument& document,
                                                 const BlacklistOptions& options) {
  constexpr double kMeasured = 1.0;  // what a host measured of itself has no probability
  BlacklistMaker maker(document, options);
  for (const auto& report : document.links) {
    if (!is_fault(report.verdict)) continue;
    if (!report.ends)
      return fail(ErrorKind::invalid_input,
                  "the diagnosis does not say what link {} joins: it lacks a, b and class, and the fabric "
                  "file is needed",
                  report.link);
    maker.add({report.ends, report.verdict, report.confidence, summary_of(report), report.evidence});
  }
  for (const auto& report : document.hosts)
    if (is_fault(report.verdict) && report.ends)
      maker.add({report.ends, report.verdict, report.confidence.value_or(kMeasured), summary_of(report),
                 report.evidence});
  return std::move(maker).take();
}

std::vector<std::string> left_out_of_blacklist(const files::DiagnosisDocument& document) {
  std::vector<std::string> out;
  for (const FabricFinding& finding : document.fabric_wide)
    if (is_fault(finding.verdict))
      out.push_back(fmt::format("the fabric as a whole: {}", told(finding.verdict, finding.cause)));
  for (const files::GroupReport& group : document.groups) {
    const auto tells = [&](const auto& set) { return files::is_part_of(set, group); };
    if (!is_fault(group.verdict) || std::ranges::any_of(document.sets, tells)) continue;
    const auto what = told(group.verdict, group.cause);
    if (group.nodes.empty())
      out.push_back(fmt::format("one of {}: {}; which, is not known", fmt::join(group.channels, ", "), what));
    else
      out.push_back(fmt::format("{} as a whole: {}", fmt::join(group.nodes, ", "), what));
  }
  for (const files::SetReport& set : document.sets)
    if (is_fault(set.verdict))
      out.push_back(fmt::format("one of {}: {}; which, is not known", alternatives_of(set),
                                told(set.verdict, set.cause)));
  auto shown = document;  // a group that is a mere suspicion was left out above
  std::erase_if(shown.groups, [](const auto& group) { return !is_fault(group.verdict); });
  for (const auto& channels : files::untold_classes(shown))
    if (!is_listed(document, channels))
      out.push_back(fmt::format("one of {}: they cannot be told apart", fmt::join(channels, ", ")));
  for (const files::HostReport& host : document.hosts)
    if (is_fault(host.verdict) && !host.ends)
      out.push_back(fmt::format("host {}: {}; no link of it is known to be at fault",
                                host.nic.value_or(host.host), told(host.verdict, host.cause)));
  return out;
}

Result<void> complete_ends(files::DiagnosisDocument& document, const Fabric& fabric) {
  for (auto& report : document.links) {
    if (report.ends) continue;
    WEFT_TRY(const auto link, fabric.find_link(report.link));
    report.ends = files::refer_to(fabric, link);
  }
  for (auto& report : document.hosts) {
    if (report.ends || (!report.nic && !report.cause)) continue;
    WEFT_TRY(const auto nic, fabric.find_nic(report.nic.value_or(report.host)));
    if (!report.nic && fabric.ports_of(fabric.port(nic).node).size() > 1)
      continue;  // which of them, nobody knows
    report.ends = files::refer_to(fabric, *fabric.port(nic).link);
  }
  return {};
}

}  // namespace weft::blacklist
