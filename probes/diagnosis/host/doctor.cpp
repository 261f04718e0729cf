#include "probes/diagnosis/host/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "probes/diagnosis/host/doctor_findings.hpp"

namespace weft::diagnosis {
namespace {

/// A fleet without this much in common is named with the first of what could not be looked at.
constexpr std::size_t kNotes = 8;

bool by_length_and_name(const std::string& a, const std::string& b) {
  return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
}

void replace_all(std::string& text, std::string_view mark, const std::string& with) {
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + with.size()))
    text.replace(at, mark.size(), with);
}

/// The remedy with its marks filled: commands name the first host.
std::string filled(std::string remedy, const std::vector<std::string>& hosts, const std::string& login) {
  std::string reach = login;
  replace_all(reach, "{host}", hosts.front());
  replace_all(remedy, "@on", hosts.size() == 1 ? "on " + hosts.front() : "on each of them");
  replace_all(remedy, "@first", "on " + hosts.front());
  replace_all(remedy, "@host", hosts.front());
  replace_all(remedy, "@login", reach);
  return remedy;
}

/// Hosts of which the same holds become one finding.
std::vector<DoctorFinding> together(FoundTroubles all, const std::string& login) {
  std::ranges::stable_sort(all, by_length_and_name, &FoundTrouble::host);
  std::map<std::tuple<HostTrouble, Verdict, std::string>, std::size_t> places;
  std::vector<DoctorFinding> findings;
  for (const FoundTrouble& one : all) {
    const auto [at, is_new] = places.try_emplace({one.trouble, one.verdict, one.what}, findings.size());
    if (is_new) findings.push_back({one.trouble, one.verdict, one.what, {}, {}, one.remedy});
    DoctorFinding& finding = findings[at->second];
    if (finding.hosts.empty() || finding.hosts.back() != one.host) finding.hosts.push_back(one.host);
    if (finding.hosts.size() == 1 && !one.evidence.empty()) finding.evidence.push_back(one.evidence);
  }
  for (DoctorFinding& finding : findings) finding.remedy = filled(finding.remedy, finding.hosts, login);
  std::ranges::stable_sort(findings, {}, [](const DoctorFinding& finding) {
    return std::tuple(-static_cast<int>(finding.verdict), -static_cast<std::ptrdiff_t>(finding.hosts.size()),
                      finding.trouble);
  });
  return findings;
}

bool has_no_rdma(const NicInventory* nic) { return !nic->rdma_device; }

/// Gaps of the hosts, each once, with how many have it.
std::vector<std::string> notes_of(const std::vector<const AskedHost*>& fleet,
                                  const DoctorExpectations& expectations) {
  std::map<std::string, std::size_t> gaps;
  std::size_t clocks = 0, plain = 0, unreached = 0;
  const PathToNic* silent = nullptr;
  for (const AskedHost* host : fleet) {
    for (const std::string& gap : host->report->inventory.gaps) ++gaps[gap];
    if (host->report->clock_follows == false) ++clocks;
    for (const PathToNic& path : host->report->paths)
      if (expectations.paired_by_name && !path.small_answered) ++unreached, silent = &path;
    const auto judged = judged_nics(*host->report, expectations);
    if (!judged.empty() && expectations.nics.empty() && std::ranges::all_of(judged, has_no_rdma)) ++plain;
  }
  std::vector<std::string> notes;
  if (plain > 0)
    notes.push_back(
        fmt::format("{} of {} hosts have no RDMA device: their interfaces with an address were looked at, "
                    "for carrier and MTU; a fabric file (--fabric) says which are meant",
                    plain, fleet.size()));
  if (silent != nullptr)
    notes.push_back(fmt::format(
        "no echo between {} pairs of NICs of one name, as from {} to {}: they are of different networks, or "
        "ICMP is filtered; a fabric file (--fabric) says which belong together",
        unreached, silent->from, silent->to));
  for (const auto& [gap, count] : gaps)
    notes.push_back(fmt::format("not looked at on {} of {} hosts: {}", count, fleet.size(), gap));
  if (!fleet.empty() && clocks == fleet.size())
    notes.emplace_back("the kernel of no host says that something sets its clock");
  if (notes.size() > kNotes) notes.resize(kNotes);
  return notes;
}

}  // namespace

DoctorReport examine(std::vector<AskedHost> hosts, const DoctorExpectations& expectations) {
  DoctorReport report{.hosts = std::move(hosts), .findings = {}, .notes = {}};
  FoundTroubles found;
  std::vector<const AskedHost*> fleet;
  for (const AskedHost& host : report.hosts) {
    if (host.report && host.report->protocol == expectations.protocol)
      fleet.push_back(&host);
    else
      found.push_back(silence_finding(host, expectations));
  }
  for (const AskedHost* host : fleet) check_by_itself(*host, expectations, found);
  check_fleet(fleet, expectations, found);
  report.findings = together(std::move(found), expectations.login);
  report.notes = notes_of(fleet, expectations);
  return report;
}

}  // namespace weft::diagnosis
