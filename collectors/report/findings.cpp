#include "collectors/report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "collectors/report/words.hpp"
#include "topology/findings/evidence_words.hpp"
#include "topology/findings/observation.hpp"

namespace weft::report {
namespace {

std::string share_range(const Estimate& e) {
  return fmt::format("{:.3g}% ({:.3g} to {:.3g})", e.value * 100, e.low * 100, e.high * 100);
}

std::string estimate_text(Cause cause, const std::optional<Estimate>& estimate) {
  if (!estimate) return "";
  switch (cause) {
    case Cause::loss:
    case Cause::corruption:
      return share_range(*estimate);
    case Cause::rate:
    case Cause::congestion:
      return "at " + share_range(*estimate);  // of the link's rate
    case Cause::delay:
      return fmt::format("+{:.3g} ms ({:.3g} to {:.3g})", estimate->value * 1e3, estimate->low * 1e3,
                         estimate->high * 1e3);
    case Cause::mtu:
      return fmt::format("up to {:.0f} bytes", estimate->value);
    case Cause::down:
    case Cause::counter:
      break;
  }
  return "";
}

/// Of faults of one verdict and cause: what is missing of a good link.
double hurt_of(Cause cause, const std::optional<Estimate>& estimate) {
  if (!estimate) return 1;
  const bool less_is_worse = cause == Cause::rate || cause == Cause::congestion || cause == Cause::mtu;
  return less_is_worse ? -estimate->value : estimate->value;
}

std::string confidence_text(double confidence) {
  return confidence > 0.999 ? ">.999" : fmt::format("{:.3f}", confidence).substr(1);
}

std::string port_text(const files::LinkEnd& end) {
  if (!end.port_name.empty()) return fmt::format("{} {}", end.node, end.port_name);
  return fmt::format("{} port {}", end.node, end.port.value());
}

/// The cable's ports, the one that sends first where one direction is at fault.
void put_ports(Trouble& trouble, const files::LinkReference& link, const std::optional<std::string>& from) {
  const bool turned = from && *from != link.a.node;
  trouble.a = port_text(turned ? link.b : link.a);
  trouble.b = port_text(turned ? link.a : link.b);
  trouble.one_way = from.has_value();
}

std::string ports_of(const Trouble& trouble) {
  return trouble.one_way ? fmt::format("from {} to {}", trouble.a, trouble.b)
                         : fmt::format("{}, {}", trouble.a, trouble.b);
}

void put_rhythm(Entry& entry, const std::optional<Intermittence>& rhythm) {
  entry.trouble.comes_and_goes = rhythm.has_value();
  if (rhythm)
    entry.lines.push_back(fmt::format("intermittent: {:.2g} outages a second, of {:.2g} s each",
                                      rhythm->per_second, rhythm->duration));
}

/// Evidence of another cause, or of a dead port, may stand beside it: then moving the cable is not all.
Miswired miswired(std::optional<Cause> cause, const std::vector<std::string>& evidence) {
  const auto tells = [](const std::string& line) { return line.ends_with(kMiswired); };
  if (std::ranges::none_of(evidence, tells)) return Miswired::no;
  return cause == Cause::down && std::ranges::all_of(evidence, tells) ? Miswired::alone
                                                                      : Miswired::beside_a_fault;
}

/// Its flows were held back as by other traffic, which loses packets as well.
bool may_be_traffic(const std::vector<std::string>& evidence) {
  return std::ranges::any_of(evidence, [](const auto& line) { return line.ends_with(kOrOtherTraffic); });
}

/// Of lines that tell of pause frames who began, each once; the first two, where more did.
std::string paused_by(const std::vector<std::string>& evidence) {
  std::vector<std::string> all;
  for (const std::string& line : evidence) {
    const auto stopped = line.find(kStoppedItsSender);
    if (line.find(kPauseFrames) == line.npos || !line.ends_with(kOrSlowAsWell) ||
        stopped == std::string::npos)
      continue;
    const auto from = stopped + kStoppedItsSender.size();
    const auto to = line.size() - kOrSlowAsWell.size();
    if (from < to && std::ranges::find(all, line.substr(from, to - from)) == all.end())
      all.push_back(line.substr(from, to - from));
  }
  if (all.size() > 2) all.resize(2);
  return joined(all, "; ");
}

constexpr double kWorthATry = 0.05;  // what is less likely is not said

/// Where dirt may be at either end, both connectors are cleaned at once: one action.
std::vector<files::LinkReport::Repair> with_joined_connectors(std::vector<files::LinkReport::Repair> all) {
  const auto is_dirt = [](const auto& one) { return one.cause == RepairCause::dirty_connector; };
  const auto first = std::ranges::find_if(all, is_dirt);
  if (first == all.end()) return all;
  const auto second = std::find_if(first + 1, all.end(), is_dirt);
  if (second == all.end() || second->probability <= first->probability / 2) return all;
  first->probability += second->probability;
  first->port = first->port.value_or("") + " and at " + second->port.value_or("");
  all.erase(second);
  std::ranges::stable_sort(all, std::greater(), &files::LinkReport::Repair::probability);
  return all;
}

/// "clean the connector at leaf4/p6 (.83), else replace the module at leaf4/p6 (.12)".
std::string repair_words(const files::LinkReport& finding) {
  std::string words;
  const auto all = with_joined_connectors(finding.repair);
  for (std::size_t i = 0; i < all.size() && i < 2; ++i) {
    if (i == 1 && all[i].probability < kWorthATry) break;
    words +=
        fmt::format("{}{} ({})", i == 0 ? "" : ", else ", repair_text(all[i].cause, all[i].port.value_or("")),
                    all[i].probability > 0.99 ? ">.99" : fmt::format("{:.2f}", all[i].probability).substr(1));
  }
  return words;
}

Entry entry_of(const files::LinkReport& finding, FabricKind kind) {
  Entry entry{.what = finding.from ? fmt::format("{} (from {})", finding.link, *finding.from) : finding.link,
              .subject = finding.link,
              .from = finding.from.value_or(""),
              .verdict = finding.verdict,
              .trouble = {.cause = finding.cause, .kind = kind},
              .confidence = confidence_text(finding.confidence),
              .estimate = estimate_text(finding.cause, finding.estimate),
              .probability = finding.confidence,
              .figures = finding.estimate,
              .hurt = hurt_of(finding.cause, finding.estimate),
              .lines = {},
              .evidence = finding.evidence};
  entry.trouble.shuts = finding.verdict == Verdict::failed;
  entry.trouble.miswired = miswired(finding.cause, finding.evidence);
  entry.trouble.may_be_traffic = may_be_traffic(finding.evidence);
  if (finding.ends) {
    put_ports(entry.trouble, *finding.ends, finding.from);
    entry.ports = ports_of(entry.trouble);
    if (finding.ends->kind == files::LinkClass::host_leaf) entry.trouble.place = Place::host_cable;
  }
  entry.trouble.repair = repair_words(finding);
  put_rhythm(entry, finding.intermittent);
  if (!finding.repair_missing.empty())
    entry.lines.push_back("not known, and would tell what to mend: " + joined(finding.repair_missing, ", "));
  return entry;
}

Entry entry_of(const files::HostReport& finding, FabricKind kind) {
  Entry entry{.what = {},
              .verdict = finding.verdict,
              .trouble = {.place = Place::host, .cause = finding.cause, .kind = kind},
              .confidence = finding.confidence ? confidence_text(*finding.confidence) : "",
              .estimate = finding.cause ? estimate_text(*finding.cause, finding.estimate) : "",
              .probability = finding.confidence,
              .figures = finding.estimate,
              .hurt = finding.cause ? hurt_of(*finding.cause, finding.estimate) : 2,
              .lines = {},
              .evidence = finding.evidence};
  entry.trouble.shuts = finding.verdict == Verdict::failed;
  entry.trouble.miswired = miswired(finding.cause, finding.evidence);
  entry.trouble.may_be_traffic = may_be_traffic(finding.evidence);
  if (finding.ends && finding.cause) {
    entry.trouble.place = Place::host_cable;
    entry.from = finding.from.value_or("");
    put_ports(entry.trouble, *finding.ends, finding.from);
  }
  put_rhythm(entry, finding.intermittent);
  return entry;
}

Entry entry_of(const files::NotTestedReport& report, FabricKind kind) {
  return {.what = {},
          .verdict = Verdict::unknown,
          .trouble = {.place = Place::not_tested, .kind = kind},
          .confidence = {},
          .estimate = {},
          .hurt = 0,
          .lines = {},
          .evidence = {report.why}};
}

/// "host1", or "host1/p2" where it is about one of its NICs.
template <class Report>
std::string whom(const Report& report) {
  return report.nic && *report.nic != report.host ? *report.nic : report.host;
}

/// The first of them, where they are many.
std::string listed(const std::vector<std::string>& ports) {
  constexpr std::size_t kMaxNamed = 8;
  const std::vector<std::string> first(
      ports.begin(), ports.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxNamed, ports.size())));
  return joined(first, "; ") +
         (ports.size() > kMaxNamed ? fmt::format("; and of {} more", ports.size() - kMaxNamed) : "");
}

/// Evidence without its figures. Hosts that failed in the same way differ in these alone.
std::vector<std::string> shape_of(const Entry& entry) {
  std::vector<std::string> shape = entry.evidence;
  shape.insert(shape.end(), entry.lines.begin(), entry.lines.end());
  if (entry.verdict == Verdict::failed)
    for (std::string& line : shape)
      std::erase_if(line, [](char c) { return (c >= '0' && c <= '9') || c == ','; });
  return shape;
}

/// Hosts of which the same is said become one entry: a cluster without weft is one, not a thousand.
class Hosts {
 public:
  explicit Hosts(AlikeHosts alike) : alike_(alike) {}

  void add(const Entry& entry, std::string name) {
    const auto key = std::tuple(entry.trouble.place, entry.verdict, entry.trouble.cause, entry.confidence,
                                entry.estimate, shape_of(entry), alike_ == AlikeHosts::apart ? name : "");
    const auto [at, is_new] = places_.try_emplace(key, groups_.size());
    if (is_new) groups_.push_back({entry, name, true, {}, {}});
    Group& group = groups_[at->second];
    group.same = group.same && entry.evidence == group.entry.evidence && entry.lines == group.entry.lines;
    group.names.push_back(std::move(name));
    if (!entry.trouble.a.empty()) group.ports.push_back(ports_of(entry.trouble));
  }

  void move_to(std::vector<Entry>& all) {
    for (auto& [entry, first, same, names, ports] : groups_) {
      std::ranges::sort(names, {}, [](const std::string& name) { return std::pair(name.size(), name); });
      entry.what = fmt::format("host{} {}", names.size() > 1 ? "s" : "", joined(names, ", "));
      entry.is_host = true;
      entry.subject = joined(names, ", ");
      entry.ports = ports.empty() ? "" : listed(ports);
      if (names.size() > 1) entry.trouble.a = entry.trouble.b = "";
      if (!same)
        entry.evidence.insert(entry.evidence.begin(), fmt::format("here {}; the others alike:", first));
      entry.hurt += static_cast<double>(names.size());
      all.push_back(std::move(entry));
    }
  }

 private:
  struct Group {
    Entry entry;  // of the first
    std::string first;
    bool same;  // the evidence of all, to the figure
    std::vector<std::string> names;
    std::vector<std::string> ports;
  };
  AlikeHosts alike_;
  std::map<std::tuple<Place, Verdict, std::optional<Cause>, std::string, std::string,
                      std::vector<std::string>, std::string>,
           std::size_t>
      places_;
  std::vector<Group> groups_;  // in the order of the findings
};

Entry entry_of(const files::GroupReport& finding, FabricKind kind) {
  const bool is_class = finding.nodes.empty();
  Entry entry{.what = is_class ? fmt::format("one of {}", joined(finding.channels, ", "))
                               : joined(finding.nodes, ", "),
              .verdict = finding.verdict,
              .trouble = {.place = is_class ? Place::set : Place::node, .cause = finding.cause, .kind = kind},
              .confidence = confidence_text(finding.confidence),
              .estimate = {},
              .probability = finding.confidence,
              .hurt = is_class ? 1.0 : static_cast<double>(finding.channels.size()),
              .lines = {},
              .evidence = finding.evidence};
  if (!is_class) entry.lines.push_back(fmt::format("{} channels at once", finding.channels.size()));
  return entry;
}

Entry entry_of(const files::SetReport& set, const files::DiagnosisDocument& document) {
  Entry entry{.what = "one of these, which the probes cannot tell apart",
              .verdict = set.verdict,
              .trouble = {.place = Place::set, .cause = set.cause, .kind = document.kind},
              .confidence = confidence_text(set.confidence),
              .estimate = {},
              .probability = set.confidence,
              .hurt = 1,
              .lines = {},
              .evidence = {}};
  for (const auto& channels : set.alternatives) entry.lines.push_back(joined(channels, " and "));
  if (set.more) entry.lines.emplace_back("or others that fit as well, too many to list");
  for (const files::GroupReport& finding : document.groups)
    if (files::is_part_of(set, finding))
      entry.evidence.insert(entry.evidence.end(), finding.evidence.begin(), finding.evidence.end());
  return entry;
}

Entry entry_of(const FabricFinding& finding, FabricKind kind) {
  return {.what = "the whole fabric",
          .verdict = finding.verdict,
          .trouble = {.place = Place::fabric, .cause = finding.cause, .kind = kind},
          .confidence = confidence_text(finding.confidence),
          .estimate = estimate_text(finding.cause, finding.estimate),
          .probability = finding.confidence,
          .figures = finding.estimate,
          .hurt = hurt_of(finding.cause, finding.estimate),
          .lines = {},
          .evidence = finding.evidence};
}

/// Of one verdict, causes that stop a job stand before those that slow it.
int rank_of(const std::optional<Cause>& cause) {
  if (!cause) return 0;
  switch (*cause) {
    case Cause::down:
      return 1;
    case Cause::mtu:
      return 2;
    case Cause::loss:
      return 3;
    case Cause::corruption:
      return 4;
    case Cause::rate:
      return 5;
    case Cause::delay:
      return 6;
    case Cause::congestion:
      return 7;
    case Cause::counter:
      return 8;
  }
  return 9;
}

}  // namespace

std::vector<Entry> entries_of(const files::DiagnosisDocument& document, AlikeHosts alike) {
  std::vector<Entry> all;
  for (const auto& finding : document.links) all.push_back(entry_of(finding, document.kind));
  for (const auto& finding : document.groups)
    if (std::ranges::none_of(document.sets, [&](const auto& set) { return files::is_part_of(set, finding); }))
      all.push_back(entry_of(finding, document.kind));
  for (const auto& set : document.sets) all.push_back(entry_of(set, document));
  for (const auto& finding : document.fabric_wide) all.push_back(entry_of(finding, document.kind));
  Hosts hosts(alike);
  for (const auto& finding : document.hosts) hosts.add(entry_of(finding, document.kind), whom(finding));
  for (const auto& report : document.coverage.not_tested)
    hosts.add(entry_of(report, document.kind), whom(report));
  hosts.move_to(all);
  for (Entry& entry : all) entry.trouble.paused_by = paused_by(entry.evidence);
  std::ranges::stable_sort(all, {}, [](const Entry& entry) {
    return std::tuple(-static_cast<int>(entry.verdict), rank_of(entry.trouble.cause), -entry.hurt);
  });
  return all;
}

}  // namespace weft::report
