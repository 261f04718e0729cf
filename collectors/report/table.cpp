#include "collectors/report/table.hpp"

#include <fmt/format.h>
#include <string>

#include <algorithm>
#include <map>

#include "topology/base/text.hpp"
#include "topology/files/flows_report.hpp"

namespace weft::report {
namespace {

// What a run's load moved, as lines for people: how long messages took, what each receiver got, who was
// slow.

int decimals(double value) { return value >= 100 ? 0 : value >= 10 ? 1 : 2; }

/// To three digits or more, without an exponent: `1.86 us`, `1.02 ms`, `1072 s`.
std::string duration(Nanoseconds time) {
  const auto said = [&](double size, const char* unit) {
    const double value = static_cast<double>(time.count()) / size;
    return fmt::format("{:.{}f}{}{}", value, decimals(value), kNoBreak, unit);
  };
  if (time >= std::chrono::seconds(1)) return said(1e9, "s");
  if (time >= std::chrono::milliseconds(1)) return said(1e6, "ms");
  return said(1e3, "us");
}

double percent(Bandwidth part, Bandwidth whole) { return whole > Bandwidth() ? part / whole * 100 : 100; }

std::string rate(Bandwidth rate) {
  for (const auto& [unit, size] : {std::pair{'G', 1e9}, {'M', 1e6}, {'K', 1e3}})
    if (rate.bits_per_second() >= size) return fmt::format("{:.3g}{}", rate.bits_per_second() / size, unit);
  return fmt::format("{:.3g}", rate.bits_per_second());
}

std::string latency_lines(const files::FlowsReport& report, std::size_t columns) {
  std::size_t qps = 0;
  for (const files::FlowReport& flow : report.flows) qps += flow.qps.size();
  if (report.latency.count() == 0) return "";
  return wrapped(
      fmt::format("{} {}s over {} queue pairs took {} (p50), {} (p99), {} (p99.9)", report.latency.count(),
                  to_string(report.operation), qps, duration(*report.latency.quantile(0.5)),
                  duration(*report.latency.quantile(0.99)), duration(*report.latency.quantile(0.999))),
      0, columns);
}

std::string receiver_lines(const files::FlowsReport& report) {
  if (report.receivers.empty()) return "";
  std::size_t width = 8;
  for (const files::ReceiverReport& receiver : report.receivers) width = std::max(width, receiver.nic.size());
  const bool incast = report.pattern == LoadPattern::incast;
  std::string lines = fmt::format("{:<{}}  SENDERS  {:<9}  OF ITS RIGHT  SLOWEST SENDER\n", "RECEIVER", width,
                                  incast ? "IN ALL" : "FROM EACH");
  for (const files::ReceiverReport& receiver : report.receivers)
    lines += fmt::format("{:<{}}  {:<7}  {:<9}  {:<12}  {}, {:.0f}%\n", receiver.nic, width, receiver.senders,
                         rate(receiver.delivered),
                         fmt::format("{:.0f}%", percent(receiver.delivered, receiver.wanted)),
                         receiver.slowest, receiver.slowest_share * 100);
  return lines;
}

/// At most `columns` wide, but for the table of receivers.
std::string flow_table(const files::FlowsReport& report, std::size_t columns) {
  std::string lines = receiver_lines(report) + latency_lines(report, columns);
  for (const files::SlowNicReport& slow : report.slow)
    lines +=
        wrapped(fmt::format("slow in {}: {}, {} of its {} flows got less than {:.0f}{}% of what is usual",
                            slow.receives ? "receiving" : "sending", slow.nic, slow.slow, slow.flows,
                            kSlowFlow * 100, kNoBreak),
                0, columns);
  return lines.empty() ? "" : "\n" + lines;
}

constexpr std::size_t kIndent = 4;

std::string share_range(const Estimate& e) {
  return fmt::format("{:.3g}% ({:.3g} to {:.3g})", e.value * 100, e.low * 100, e.high * 100);
}

std::string milliseconds_range(const Estimate& e) {
  return fmt::format("+{:.3g} ms ({:.3g} to {:.3g})", e.value * 1e3, e.low * 1e3, e.high * 1e3);
}

std::string estimate_text(Cause cause, const std::optional<Estimate>& estimate) {
  if (!estimate) return "";
  switch (cause) {
    case Cause::loss:
    case Cause::corruption:
      return share_range(*estimate);
    case Cause::rate:
    case Cause::congestion:
      return "at " + share_range(*estimate) + " of its rate";
    case Cause::delay:
      return milliseconds_range(*estimate);
    case Cause::mtu:
      return fmt::format("passes up to {:.0f} bytes", estimate->value);
    case Cause::down:
    case Cause::counter:
      break;
  }
  return "";
}

std::string link_name(const files::LinkReport& finding) {
  return finding.from ? fmt::format("{} (from {})", finding.link, *finding.from) : finding.link;
}

std::string confidence_text(double confidence) {
  return confidence > 0.999 ? ">.999" : fmt::format("{:.3f}", confidence).substr(1);
}

std::string evidence_lines(const std::vector<std::string>& evidence, std::size_t columns,
                           std::size_t indent = kIndent) {
  std::string lines;
  for (const std::string& line : evidence) lines += wrapped(line, indent, columns);
  return lines;
}

/// A fault that comes and goes says so below its row.
std::string intermittence_line(const files::LinkReport& finding, std::size_t columns) {
  if (!finding.intermittent) return "";
  return wrapped(fmt::format("intermittent: {:.2g} outages a second, of {:.2g} s each",
                             finding.intermittent->per_second, finding.intermittent->duration),
                 kIndent, columns);
}

std::string links_part(const files::DiagnosisDocument& document, std::size_t columns) {
  if (document.links.empty()) return "";
  std::size_t width = 4;
  for (const files::LinkReport& finding : document.links) width = std::max(width, link_name(finding).size());
  std::string part = fmt::format("\n{:<{}}  {:<9}  {:<10}  {:<5}  {}\n", "LINK", width, "VERDICT", "CAUSE",
                                 "CONF", "ESTIMATE");
  for (const files::LinkReport& finding : document.links) {
    auto line =
        fmt::format("{:<{}}  {:<9}  {:<10}  {:<5}  {}", link_name(finding), width, to_string(finding.verdict),
                    to_string(finding.cause), confidence_text(finding.confidence),
                    estimate_text(finding.cause, finding.estimate));
    line.erase(line.find_last_not_of(' ') + 1);
    part += line + "\n" + intermittence_line(finding, columns) + evidence_lines(finding.evidence, columns);
  }
  return part;
}

std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  return fmt::format("{}", fmt::join(names, separator));
}

/// What a host finding says, without whom it says it of.
std::string host_heading(const files::HostReport& finding) {
  return fmt::format("{}{}", to_string(finding.verdict),
                     finding.cause ? fmt::format(", {}", to_string(*finding.cause)) : "");
}

/// Who has the same said of them stands together: a cluster without weft is one entry, not a thousand.
class Entries {
 public:
  void add(const std::string& heading, const std::vector<std::string>& lines, const std::string& name) {
    const auto [at, is_new] = places_.try_emplace({heading, lines}, entries_.size());
    if (is_new) entries_.push_back({heading, lines, {}});
    entries_[at->second].names.push_back(name);
  }
  std::string text(std::size_t columns) {
    std::string part;
    for (auto& [heading, lines, names] : entries_) {
      std::ranges::sort(names, {}, [](const std::string& name) { return std::pair(name.size(), name); });
      part += "\n" +
              wrapped(fmt::format("host{} {}: {}", names.size() > 1 ? "s" : "", joined(names, ", "), heading),
                      0, columns);
      part += evidence_lines(lines, columns);
    }
    return part;
  }

 private:
  struct Entry {
    std::string heading;
    std::vector<std::string> lines;
    std::vector<std::string> names;
  };
  std::map<std::pair<std::string, std::vector<std::string>>, std::size_t> places_;
  std::vector<Entry> entries_;  // in the order of the findings
};

/// "host1", or "host1/p2" where it is about one of its NICs.
template <class Report>
std::string whom(const Report& report) {
  return report.nic && *report.nic != report.host ? *report.nic : report.host;
}

std::string hosts_part(const files::DiagnosisDocument& document, std::size_t columns) {
  Entries entries;
  for (const files::HostReport& finding : document.hosts)
    entries.add(host_heading(finding), finding.evidence, whom(finding));
  for (const files::NotTestedReport& report : document.coverage.not_tested)
    entries.add("not tested", {report.why}, whom(report));
  return entries.text(columns);
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// These channels are the alternatives of the set, put together.
bool is_sum_of(const files::SetReport& set, const std::vector<std::string>& channels) {
  std::vector<std::string> sum;
  for (const auto& each : set.alternatives) sum.insert(sum.end(), each.begin(), each.end());
  return sorted(sum) == sorted(channels);
}

/// The set that says what the finding is about: that is printed once, as the set.
bool shows_as(const files::GroupReport& finding, const files::SetReport& set) {
  return finding.nodes.empty() && finding.cause == set.cause && is_sum_of(set, finding.channels);
}

std::string groups_part(const files::DiagnosisDocument& document, std::size_t columns) {
  std::string part;
  for (const files::GroupReport& finding : document.groups) {
    if (std::ranges::any_of(document.sets,
                            [&](const files::SetReport& set) { return shows_as(finding, set); }))
      continue;
    const auto what = fmt::format("{}, {}", to_string(finding.verdict), to_string(finding.cause));
    part += "\n";
    if (finding.nodes.empty())
      part += wrapped(fmt::format("one of {}: {}", joined(finding.channels, ", "), what), 0, columns);
    else
      part += wrapped(fmt::format("{}: {} on {} channels at once", joined(finding.nodes, ", "), what,
                                  finding.channels.size()),
                      0, columns);
    part += evidence_lines(finding.evidence, columns);
  }
  return part;
}

std::string fabric_part(const files::DiagnosisDocument& document, std::size_t columns) {
  std::string part;
  for (const FabricFinding& finding : document.fabric_wide) {
    const std::string estimate = estimate_text(finding.cause, finding.estimate);
    part += "\n" + wrapped(fmt::format("the whole fabric: {}, {}{}{}", to_string(finding.verdict),
                                       to_string(finding.cause), estimate.empty() ? "" : ", ", estimate),
                           0, columns);
    part += evidence_lines(finding.evidence, columns);
  }
  return part;
}

std::string sets_part(const files::DiagnosisDocument& document, std::size_t columns) {
  std::string part;
  for (const files::SetReport& set : document.sets) {
    part += "\n" + wrapped(fmt::format("{}, {}: one of these, which the probes cannot tell apart",
                                       to_string(set.verdict), to_string(set.cause)),
                           0, columns);
    for (const auto& channels : set.alternatives)
      part += wrapped(joined(channels, " and "), kIndent, columns);
    if (set.more) part += wrapped("or others that fit as well, too many to list", kIndent, columns);
    for (const files::GroupReport& finding : document.groups)
      if (shows_as(finding, set)) part += evidence_lines(finding.evidence, columns, 2 * kIndent);
  }
  return part;
}

std::string ambiguous_part(const files::DiagnosisDocument& document, std::size_t columns) {
  std::string part;
  // What a set or a group has said is not said again.
  const auto is_told = [&](const std::vector<std::string>& channels) {
    return std::ranges::any_of(document.sets,
                               [&](const files::SetReport& set) { return is_sum_of(set, channels); }) ||
           std::ranges::any_of(document.groups, [&](const files::GroupReport& finding) {
             return finding.nodes.empty() && sorted(finding.channels) == sorted(channels);
           });
  };
  for (const auto& channels : document.ambiguous)
    if (!is_told(channels))
      part += wrapped("cannot be told apart by these probes: " + joined(channels, ", "), 0, columns);
  return part.empty() ? "" : "\n" + part;
}

/// "WHAT: a, b and 3 more", or nothing.
std::string first_of(std::string_view what, const std::vector<std::string>& channels, std::size_t columns) {
  constexpr std::size_t kMaxNamed = 8;
  if (channels.empty()) return "";
  const auto shown = std::min(kMaxNamed, channels.size());
  const std::vector<std::string> named(channels.begin(),
                                       channels.begin() + static_cast<std::ptrdiff_t>(shown));
  const auto more = channels.size() - shown;
  return wrapped(
      fmt::format("{}: {}{}", what, joined(named, ", "), more > 0 ? fmt::format(" and {} more", more) : ""),
      0, columns);
}

std::string coverage_part(const files::DiagnosisDocument& document, std::size_t columns) {
  const files::CoverageReport& covered = document.coverage;
  const auto told_by = covered.out_of_scope_told_by
                           ? fmt::format(": of those only {} tell", *covered.out_of_scope_told_by)
                           : "";
  const auto beyond =
      covered.out_of_scope > 0
          ? fmt::format(" ({} more are on no path between these hosts{})", covered.out_of_scope, told_by)
          : "";
  return "\n" + (covered.cut_short ? wrapped("cut short: " + *covered.cut_short, 0, columns) : "") +
         wrapped(fmt::format("coverage: {} of {} channels{} over {} paths; probes: {} sent, {} lost",
                             covered.probed, covered.channels, beyond, covered.paths, document.run.sent,
                             document.run.lost),
                 0, columns) +
         first_of("not crossed", covered.missing, columns) +
         first_of("crossed by too few probes", covered.thin, columns) +
         first_of("not loaded (senders held back, or nobody said what arrived)", covered.unloaded, columns) +
         first_of("rate not tested (behind slower channels)", covered.rate_untested, columns);
}

/// Losses and delays that nothing found explains.
std::string account_part(const files::DiagnosisDocument& document, std::size_t columns) {
  std::string part;
  const auto line = [&](const AccountLine& account, std::string_view what) {
    if (account.unexplained > 0)
      part += wrapped(fmt::format("unexplained: {} of {} {}", account.unexplained, account.all, what), 0,
                      columns);
    if (account.excused > 0)
      part += wrapped(fmt::format("dropped by hosts themselves, as they counted: {} of {} {}",
                                  account.excused, account.all, what),
                      0, columns);
  };
  line(document.account.lost, "lost packets");
  line(document.account.corrupt, "corrupt packets");
  line(document.account.late, "late round trips");
  line(document.account.slow, "flows held back");
  return part;
}

constexpr Bytes kFullPacket(4096);  // the largest RoCE and InfiniBand MTU

std::string sensitivity_part(const files::DiagnosisDocument& document, std::size_t columns) {
  const Sensitivity& shown = document.sensitivity;
  std::vector<std::string> parts;
  if (shown.loss) parts.push_back(fmt::format("loss of {:.3g}%", *shown.loss * 100));
  if (shown.delay)
    parts.push_back(
        fmt::format("delay of {:.3g} us", std::chrono::duration<double>(*shown.delay).count() * 1e6));
  parts.push_back(shown.rate ? fmt::format("rate {:.3g}% too low", *shown.rate * 100) : "rates not tested");
  if (shown.size && *shown.size < kFullPacket)
    parts.push_back(fmt::format("packets above {} not tested", to_string(*shown.size)));
  return wrapped("one fault would have shown on any link crossed: " + joined(parts, ", "), 0, columns);
}

std::string timings_part(const files::DiagnosisDocument& document, std::size_t columns) {
  if (document.run.timings.empty()) return "";
  std::string part = "time:";
  Nanoseconds total{};
  for (const auto& [stage, time] : document.run.timings) {
    part += fmt::format(" {} {:.1f}{}s,", stage, std::chrono::duration<double>(time).count(), kNoBreak);
    total += time;
  }
  part += fmt::format(" {:.1f}{}s in all", std::chrono::duration<double>(total).count(), kNoBreak);
  return wrapped(part, 0, columns);
}

}  // namespace

std::string diagnosis_table(const files::DiagnosisDocument& document, std::size_t columns) {
  return fmt::format("fabric {}: {}\n", document.fabric, to_string(document.verdict)) +
         links_part(document, columns) + groups_part(document, columns) + hosts_part(document, columns) +
         fabric_part(document, columns) + sets_part(document, columns) + ambiguous_part(document, columns) +
         (document.flows ? flow_table(*document.flows, columns) : "") + coverage_part(document, columns) +
         account_part(document, columns) + sensitivity_part(document, columns) +
         timings_part(document, columns);
}

}  // namespace weft::report
