#include "balancer/blacklist/contradiction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace weft::blacklist {
namespace {

using Words = std::optional<std::string>;

Words milder_than_found(const files::DiagnosisDocument& document) {
  Verdict worst = Verdict::healthy;
  const auto look = [&](const auto& findings) {
    for (const auto& finding : findings) worst = std::max(worst, finding.verdict);
  };
  look(document.links), look(document.hosts), look(document.groups), look(document.sets);
  look(document.fabric_wide);
  if (worst < Verdict::degraded || document.verdict >= worst) return std::nullopt;
  return fmt::format("it calls the run {} and something in it {}", to_string(document.verdict),
                     to_string(worst));
}

/// Counts of a foreign document may be of any size: no sum overflows.
bool is_more(std::initializer_list<std::uint64_t> parts, std::uint64_t all) {
  for (const std::uint64_t part : parts) {
    if (part > all) return true;
    all -= part;
  }
  return false;
}

Words more_than_there_was(const files::DiagnosisDocument& document) {
  if (document.run.lost > document.run.sent)
    return fmt::format("{} probes of {} are lost", document.run.lost, document.run.sent);
  const Account& account = document.account;
  for (const auto& [name, line] : {std::pair("lost", account.lost), std::pair("corrupt", account.corrupt),
                                   std::pair("late", account.late), std::pair("slow", account.slow)})
    if (is_more({line.found, line.open, line.excused, line.tolerated, line.unexplained}, line.all))
      return fmt::format("its account explains more than the {} that were {}", line.all, name);
  const files::CoverageReport& coverage = document.coverage;
  if (is_more({coverage.probed, coverage.missing.size(), coverage.thin.size()}, coverage.channels))
    return fmt::format("{} channels were probed, {} not, and {} too little, of {}", coverage.probed,
                       coverage.missing.size(), coverage.thin.size(), coverage.channels);
  return std::nullopt;
}

std::string named(const files::GroupReport& report) {
  return fmt::format("{}", fmt::join(report.nodes.empty() ? report.channels : report.nodes, ", "));
}

Words two_verdicts(const files::DiagnosisDocument& document) {
  // What, of what end or NIC of it, and by what.
  std::map<std::tuple<std::string, std::optional<std::string>, std::optional<Cause>>, Verdict> known;
  const auto differs = [&](const std::string& what, const std::optional<std::string>& part,
                           const std::optional<Cause>& cause, Verdict verdict) -> Words {
    if (verdict == Verdict::unknown) return std::nullopt;  // a suspicion may stand beside what was found
    const auto [at, is_new] = known.try_emplace({what, part, cause}, verdict);
    if (is_new || at->second == verdict) return std::nullopt;
    return fmt::format("{} is {} and {} by the same cause", what, to_string(at->second), to_string(verdict));
  };
  for (const files::LinkReport& report : document.links)
    if (auto words = differs(report.link, report.from, report.cause, report.verdict)) return words;
  for (const files::HostReport& report : document.hosts)
    if (auto words = differs(report.host, report.nic, report.cause, report.verdict)) return words;
  for (const files::GroupReport& report : document.groups)
    if (auto words = differs(named(report), fmt::format("{}", fmt::join(report.channels, ", ")), report.cause,
                             report.verdict))
      return words;
  return std::nullopt;
}

/// What only packets show, of a run that sent none.
Words found_without_a_probe(const files::DiagnosisDocument& document) {
  if (document.run.sent > 0) return std::nullopt;
  const auto look = [](const std::string& what, Cause cause, Verdict verdict) -> Words {
    if (verdict < Verdict::degraded || cause == Cause::down || cause == Cause::counter) return std::nullopt;
    return fmt::format("{} is {} by {}, and no probe was sent", what, to_string(verdict), to_string(cause));
  };
  for (const files::LinkReport& report : document.links)
    if (auto words = look(report.link, report.cause, report.verdict)) return words;
  for (const files::GroupReport& report : document.groups)
    if (auto words = look(named(report), report.cause, report.verdict)) return words;
  for (const files::SetReport& report : document.sets)
    if (auto words = look("a set", report.cause, report.verdict)) return words;
  return std::nullopt;
}

/// All of a link that nothing passes may be lost before it is probed, and counters tell without probes.
Words lost_of_nothing(const files::DiagnosisDocument& document) {
  const std::set<std::string_view> missing(document.coverage.missing.begin(),
                                           document.coverage.missing.end());
  if (missing.empty()) return std::nullopt;
  for (const files::LinkReport& report : document.links) {
    if (!report.from || report.verdict != Verdict::degraded || report.cause == Cause::counter) continue;
    // The channel of the link that leaves that node, as the fabric names both.
    const auto at = report.link.find("--");
    if (at == std::string::npos) continue;
    const auto one = report.link.substr(0, at), other = report.link.substr(at + 2);
    const auto leaves = [&](const std::string& end) {
      return end == *report.from || end.starts_with(*report.from + "/");
    };
    const auto channel = leaves(one) ? one + "->" + other : other + "->" + one;
    if (missing.contains(channel))
      return fmt::format("{} is {} by {}, and no probe crossed it", channel, to_string(report.verdict),
                         to_string(report.cause));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> contradiction_in(const files::DiagnosisDocument& document) {
  for (const auto look :
       {&milder_than_found, &more_than_there_was, &two_verdicts, &lost_of_nothing, &found_without_a_probe})
    if (auto words = look(document)) return words;
  return std::nullopt;
}

Result<void> check_host(const Fabric& fabric, const files::HostReport& report, NodeId node) {
  if (report.nic) {
    WEFT_TRY(const auto nic, fabric.find_nic(*report.nic));
    if (fabric.port(nic).node != node)
      return fail(ErrorKind::invalid_input, "{} is told of as a NIC of {}, and is none", *report.nic,
                  report.host);
  }
  if (!report.ends || report.ends->a.node == report.host || report.ends->b.node == report.host) return {};
  return fail(ErrorKind::invalid_input, "a cable from {} to {} is told of as one of {}, and is none",
              report.ends->a.node, report.ends->b.node, report.host);
}

Result<void> check_group(const Fabric& fabric, const files::GroupReport& report,
                         const std::vector<ChannelId>& channels) {
  for (const ChannelId channel : channels) {
    const auto is_end = [&](const std::string& node) {
      return node == fabric.name_of(fabric.source_node(channel)) ||
             node == fabric.name_of(fabric.target_node(channel));
    };
    if (!report.nodes.empty() && std::ranges::none_of(report.nodes, is_end))
      return fail(ErrorKind::invalid_input, "{} is told of as one of {}, and is none",
                  fabric.name_of(channel), fmt::join(report.nodes, ", "));
  }
  return {};
}

}  // namespace weft::blacklist
