#include "collectors/report/doctor_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "collectors/report/words.hpp"
#include "topology/base/text.hpp"
#include "topology/files/host_facts_json.hpp"
#include "topology/files/json_text.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kIndent = 4;
constexpr std::size_t kFindingsListed = 20;
constexpr std::size_t kHostsNamed = 8;
constexpr std::size_t kHostsShown = 8;  // with what they have
constexpr std::size_t kWhatWidth = 36;
constexpr std::size_t kNarrow = 64;

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// The hosts that have a finding of this verdict, and none that is worse.
std::set<std::string> hosts_with(const DoctorReport& report, Verdict verdict) {
  std::set<std::string> with;
  std::set<std::string> worse;
  for (const DoctorFinding& finding : report.findings)
    for (const std::string& host : finding.hosts) {
      if (finding.verdict == verdict) with.insert(host);
      if (finding.verdict > verdict) worse.insert(host);
    }
  std::erase_if(with, [&](const std::string& host) { return worse.contains(host); });
  return with;
}

/// Those of which nothing is known: no report, or one of another protocol.
std::size_t silent_hosts(const DoctorReport& report) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.hosts, [](const AskedHost& host) { return !host.report || host.report->identity.empty(); }));
}

std::string slowest(const DoctorReport& report) {
  Nanoseconds most{};
  for (const AskedHost& host : report.hosts)
    if (host.report) most = std::max(most, host.answered - host.asked);
  return fmt::format("{:.1f}{}s", seconds(most), kNoBreak);
}

std::string extent(const DoctorReport& report) {
  const std::string hosts = counted(report.hosts.size(), "host");
  if (report.findings.empty())
    return fmt::format("{} ready, nothing found; the slowest answered in {}", hosts, slowest(report));
  std::string text = fmt::format("{}, {}", hosts, counted(report.findings.size(), "finding"));
  const std::size_t unknown = hosts_with(report, Verdict::unknown).size();
  const std::size_t not_asked = silent_hosts(report);
  for (const auto& [count, word] : {std::pair{hosts_with(report, Verdict::failed).size(), "cannot take part"},
                                    {hosts_with(report, Verdict::degraded).size(), "degraded"},
                                    {not_asked, "not asked"},
                                    {unknown - std::min(unknown, not_asked), "not judged"}})
    if (count > 0) text += fmt::format("; {} {}", count, word);
  return text;
}

std::string headline(const DoctorReport& report, const TableStyle& style) {
  const Verdict verdict = report.verdict();
  const std::string lines = wrapped(
      fmt::format("{}doctor: {}; {}", style.sign ? sign_of(verdict) : "", to_string(verdict), extent(report)),
      0, style.columns);
  const std::size_t first = std::min(lines.find(';'), lines.size());
  return coloured(lines.substr(0, first), verdict, style) + lines.substr(first);
}

std::string hosts_text(const std::vector<std::string>& hosts, bool all) {
  const std::size_t named = all ? hosts.size() : std::min(hosts.size(), kHostsNamed);
  const std::span<const std::string> first(hosts.data(), named);
  return fmt::format("host{} {}{}", hosts.size() > 1 ? "s" : "", fmt::join(first, ", "),
                     hosts.size() > named ? fmt::format(" and {} more", hosts.size() - named) : "");
}

std::string row(const DoctorFinding& finding, const TableStyle& style) {
  const std::string name =
      fmt::format("{}{}", style.sign ? sign_of(finding.verdict) : "", hosts_text(finding.hosts, style.all));
  const std::string cells =
      coloured(fmt::format("{:<8}", to_string(finding.verdict)), finding.verdict, style) + "  " +
      std::string(to_string(finding.trouble));
  if (style.columns < kNarrow)
    return wrapped(fmt::format("{}: {}, {}", name, to_string(finding.verdict), to_string(finding.trouble)), 0,
                   style.columns);
  if (name.size() <= kWhatWidth) return fmt::format("{:<{}}  {}\n", name, kWhatWidth, cells);
  return wrapped(name, 0, style.columns) + std::string(kWhatWidth + 2, ' ') + cells + "\n";
}

std::string findings_part(const DoctorReport& report, const TableStyle& style) {
  if (report.findings.empty()) return "";
  const std::size_t shown =
      style.all ? report.findings.size() : std::min(report.findings.size(), kFindingsListed);
  std::string text = "\n";
  if (style.columns >= kNarrow)
    text += fmt::format("{:<{}}  {:<8}  TROUBLE\n", style.sign ? "   WHERE" : "WHERE", kWhatWidth, "VERDICT");
  for (const DoctorFinding& finding : std::span(report.findings).first(shown)) {
    text += row(finding, style) + wrapped(finding.what, kIndent, style.columns);
    for (const std::string& line : finding.evidence)
      text += wrapped(finding.hosts.size() > 1 ? finding.hosts.front() + ": " + line : line, kIndent,
                      style.columns);
    text += wrapped("do: " + finding.remedy, kIndent, style.columns);
  }
  if (shown < report.findings.size())
    text += fmt::format("\n{} more: --all lists them\n", report.findings.size() - shown);
  return text;
}

std::string nic_text(const NicInventory& nic, const HostFacts& report) {
  std::string text = name_of(nic);
  if (nic.interface)
    if (const auto own = report.addresses.find(*nic.interface);
        own != report.addresses.end() && !own->second.empty())
      text += " " + own->second.front();
  if (nic.rate) text += " " + to_string(*nic.rate);
  if (nic.mtu) text += fmt::format(" MTU{}{}", kNoBreak, nic.mtu->count());
  if (nic.gids) text += fmt::format(" {}{}RoCE{}v2{}GIDs", nic.gids->roce_v2, kNoBreak, kNoBreak, kNoBreak);
  return text;
}

/// What a host has, of which the findings said nothing.
std::string host_text(const AskedHost& host) {
  const HostFacts& report = *host.report;
  std::string text =
      fmt::format("{}: answered in {:.2f}{}s; weft {}; kernel {}", host.name,
                  seconds(host.answered - host.asked), kNoBreak, report.version, report.kernel);
  for (const NicInventory& nic : report.inventory.nics) text += "; " + nic_text(nic, report);
  if (!report.inventory.gpus.empty())
    text += fmt::format("; {}", counted(report.inventory.gpus.size(), "GPU"));
  for (const GpuInventory& gpu : report.inventory.gpus)
    if (!gpu.nearest_nics.empty())
      text += fmt::format(", {} near {}", gpu.pci, fmt::join(gpu.nearest_nics, " and "));
  if (report.gpu_driver) text += fmt::format("; GPU driver {}", *report.gpu_driver);
  return text;
}

std::string hosts_part(const DoctorReport& report, const TableStyle& style) {
  const auto told = [](const AskedHost& host) { return host.report && !host.report->identity.empty(); };
  if (!style.all && report.hosts.size() > kHostsShown) return "";
  std::string text;
  for (const AskedHost& host : report.hosts)
    if (told(host)) text += wrapped(host_text(host), 0, style.columns);
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string doctor_table(const DoctorReport& report, const TableStyle& style) {
  std::string text = headline(report, style) + findings_part(report, style) + hosts_part(report, style);
  if (!report.notes.empty()) text += "\n";
  for (const std::string& note : report.notes) text += wrapped("note: " + note, 0, style.columns);
  return text;
}

std::string doctor_line(const DoctorReport& report) {
  const Verdict verdict = report.verdict();
  std::string said = fmt::format("doctor: {}; {}", to_string(verdict), extent(report));
  if (!report.findings.empty()) said += "; first: " + report.findings.front().what;
  std::ranges::replace(said, '|', '/');
  std::ranges::replace(said, kNoBreak, ' ');
  return fmt::format("WEFT {} - {} | hosts={} failed={} degraded={} not_asked={} findings={}\n",
                     monitoring_word(verdict), said, report.hosts.size(),
                     hosts_with(report, Verdict::failed).size(), hosts_with(report, Verdict::degraded).size(),
                     silent_hosts(report), report.findings.size());
}

std::string doctor_json(const DoctorReport& report, const files::DocumentStamp& stamp) {
  auto tree = files::stamped_tree("weft.doctor/1", stamp);
  tree["verdict"] = to_string(report.verdict());
  tree["findings"] = files::DocumentTree::array();
  for (const DoctorFinding& finding : report.findings)
    tree["findings"].push_back({{"trouble", to_string(finding.trouble)},
                                {"verdict", to_string(finding.verdict)},
                                {"what", finding.what},
                                {"count", finding.hosts.size()},
                                {"hosts", finding.hosts},
                                {"evidence", finding.evidence},
                                {"do", finding.remedy}});
  tree["hosts"] = files::DocumentTree::array();
  for (const AskedHost& host : report.hosts) {
    files::DocumentTree one{{"host", host.name}, {"seconds", seconds(host.answered - host.asked)}};
    // Of another protocol's report only the version is known.
    if (host.report && !host.report->identity.empty())
      one["report"] = files::DocumentTree(files::host_facts_value(*host.report));
    else if (host.report)
      one["version"] = host.report->version;
    tree["hosts"].push_back(std::move(one));
  }
  tree["notes"] = report.notes;
  return files::document_text(tree) + "\n";
}

files::RowSet doctor_rows(const DoctorReport& report) {
  files::RowSet set{.columns = {"host", "verdict", "trouble", "what", "example", "evidence", "do"},
                    .rows = {}};
  for (const DoctorFinding& finding : report.findings)
    for (const std::string& host : finding.hosts)
      set.rows.push_back({host, std::string(to_string(finding.verdict)),
                          std::string(to_string(finding.trouble)), finding.what, finding.hosts.front(),
                          finding.evidence, finding.remedy});
  return set;
}

}  // namespace weft::report
