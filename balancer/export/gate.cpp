#include "balancer/export/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weft::exports {
namespace {

using blacklist::Evidence;

/// What a fault is for a job on its hosts. A cable that leads elsewhere than the fabric file says carries
/// packets all the same: the job runs, by ways that are not the planned ones.
Verdict for_jobs(const blacklist::Fault& fault) {
  return fault.verdict == Verdict::failed && indicates_miswiring(fault) ? Verdict::degraded : fault.verdict;
}

/// The verdicts of hosts as they are gathered: of each the worst.
class Verdicts {
 public:
  explicit Verdicts(const Fabric& fabric) : fabric_(fabric), hosts_(fabric.node_count()) {}

  void worsen(NodeId host, Verdict verdict, std::string_view text) {
    auto& known = hosts_[host.value()];
    if (!has_no_verdict_of(host) && known.verdict >= verdict) return;
    known = {.host = fabric_.name_of(host), .verdict = verdict, .text = std::string(text)};
  }
  bool has_no_verdict_of(NodeId host) const { return hosts_[host.value()].host.empty(); }
  void replace(Verdict verdict, Verdict by, std::string_view why) {
    for (HostVerdict& host : hosts_)
      if (host.verdict == verdict) host = {host.host, by, fmt::format("{}: {}", why, host.text)};
  }
  std::vector<HostVerdict> take() && {
    std::erase_if(hosts_, [](const HostVerdict& host) { return host.host.empty(); });  // switches
    return std::move(hosts_);
  }

 private:
  const Fabric& fabric_;
  std::vector<HostVerdict> hosts_;  // by node
};

/// Why nothing that was not found at fault can be called healthy; empty: it can.
std::string why_none_is_clear(const files::DiagnosisDocument& document, const Evidence& evidence) {
  if (document.coverage.cut_short) return "the sweep was cut short: " + *document.coverage.cut_short;
  if (!document.coverage.fell_short.empty())
    return "the sweep fell short: " + document.coverage.fell_short.front();
  if (document.coverage.out_of_scope > 0) return "the sweep was of some hosts alone";
  if (!document.fabric_wide.empty()) return "the fabric as a whole is not healthy";
  if (evidence.clean.empty()) return "the sweep could not tell";
  if (!evidence.shows_loss || *evidence.shows_loss > kFailedLoss) return "the sweep could not tell of losses";
  return evidence.shows_delay ? "" : "the sweep could not tell of delays";
}

class DiagnosisReader {
 public:
  DiagnosisReader(const Fabric& fabric, const files::DiagnosisDocument& document, const Evidence& evidence)
      : fabric_(fabric), document_(document), evidence_(evidence), verdicts_(fabric) {}

  Result<Verdicts> read() && {
    for (const blacklist::Fault& fault : evidence_.faults) take(fault);
    for (const files::LinkReport& report : document_.links) WEFT_TRY_VOID(take(report));
    for (const files::NotTestedReport& report : document_.coverage.not_tested) {
      WEFT_TRY(const auto host, fabric_.find_node(report.host));
      verdicts_.worsen(host, Verdict::unknown, "not tested: " + report.why);
    }
    const auto why = why_none_is_clear(document_, evidence_);
    for (const NodeId host : fabric_.hosts()) {
      if (!verdicts_.has_no_verdict_of(host)) continue;
      if (!why.empty())
        verdicts_.worsen(host, Verdict::unknown, why);
      else
        clear(host);
    }
    return std::move(verdicts_);
  }

 private:
  void take(const blacklist::Fault& fault) {
    const auto effect = effect_of(fabric_, fault.subject, blacklist::NicAction::host);
    const auto text = fmt::format("{}: {}{}{}", blacklist::name_of(fabric_, fault.subject).name,
                                  weft::to_string(fault.cause), fault.evidence.empty() ? "" : ", ",
                                  fault.evidence.empty() ? "" : fault.evidence.front());
    for (const NodeId host : effect.hosts) verdicts_.worsen(host, for_jobs(fault), text);
  }

  /// A cable of a host that is congested is no fault of it.
  Result<void> take(const files::LinkReport& report) {
    if (report.verdict != Verdict::congested) return {};
    WEFT_TRY(const auto link, fabric_.find_link(report.link));
    for (const NodeId node :
         {fabric_.source_node(Fabric::a_to_b(link)), fabric_.source_node(Fabric::b_to_a(link))})
      if (fabric_.is_host(node))
        verdicts_.worsen(node, report.verdict,
                         fmt::format("{}: {}", report.link, weft::to_string(report.cause)));
    return {};
  }

  void clear(NodeId host) {
    for (const ChannelId from : fabric_.channels_from(host))
      for (const ChannelId channel : {from, Fabric::reverse(from)})
        if (!evidence_.loaded.empty() && evidence_.clean[channel.value()] &&
            !evidence_.loaded[channel.value()])
          return verdicts_.worsen(host, Verdict::unknown,
                                  fmt::format("{}: its rate could not be tested", fabric_.name_of(channel)));
        else if (!evidence_.clean[channel.value()])
          return verdicts_.worsen(
              host, Verdict::unknown,
              fmt::format("{}: crossed by too few probes that met no other fault, or maybe at fault",
                          fabric_.name_of(channel)));
    verdicts_.worsen(host, Verdict::healthy, "nothing found");
  }

  const Fabric& fabric_;
  const files::DiagnosisDocument& document_;
  const Evidence& evidence_;
  Verdicts verdicts_;
};

/// How many hosts and leaves are failed: a leaf counts once for the hosts that hang on it alone.
std::size_t failed_faults(const Fabric& fabric, const Evidence& evidence) {
  std::set<NodeId> nodes;
  for (const blacklist::Fault& fault : evidence.faults) {
    if (for_jobs(fault) != Verdict::failed) continue;
    const auto* node = std::get_if<NodeId>(&fault.subject);
    const bool is_leaf = node && !fabric.is_host(*node);
    for (const NodeId host : effect_of(fabric, fault.subject, blacklist::NicAction::host).hosts)
      nodes.insert(is_leaf && fabric.ports_of(host).size() == 1 ? *node : host);
  }
  return nodes.size();
}

std::string why(const blacklist::Entry& entry) {
  const std::string& more =
      !entry.reason.empty() || entry.evidence.empty() ? entry.reason : entry.evidence.front();
  return fmt::format("blacklist entry {}{}, {}: {}{}{}", entry.id.value(),
                     entry.state == blacklist::EntryState::proposed ? " (proposed)" : "", entry.subject.name,
                     entry.by_hand ? "planned" : weft::to_string(entry.cause), more.empty() ? "" : ", ",
                     more);
}

/// What the entries of a ledger say of hosts, and nothing of others.
Verdicts listed_hosts(const Fabric& fabric, const blacklist::Ledger& ledger,
                      blacklist::NicAction nic_action) {
  using blacklist::EntryState;
  Verdicts verdicts(fabric);
  for (const blacklist::Entry& entry : ledger.entries) {
    const auto subject = find_subject(fabric, entry.subject);
    if (!subject || entry.state == EntryState::released || entry.state == EntryState::probation) continue;
    const bool is_active = entry.state == EntryState::active;
    const auto effect = effect_of(fabric, *subject, nic_action);
    for (const NodeId host : effect.hosts)
      verdicts.worsen(host, is_active ? Verdict::failed : Verdict::unknown, why(entry));
    for (const PortId nic : effect.nics)
      verdicts.worsen(fabric.port(nic).node, is_active ? Verdict::degraded : Verdict::unknown, why(entry));
  }
  return verdicts;
}

}  // namespace

Result<Gate> gate_of(const Fabric& fabric, const files::DiagnosisDocument& document,
                     const blacklist::Caps& caps) {
  WEFT_TRY(const auto read, blacklist::evidence_of(fabric, document));
  WEFT_TRY(auto verdicts, DiagnosisReader(fabric, document, read.evidence).read());
  const auto failed = failed_faults(fabric, read.evidence);
  const auto allowed = hosts_allowed(caps, fabric.hosts().size());
  if (failed > allowed)
    verdicts.replace(
        Verdict::failed, Verdict::unknown,
        fmt::format("{} faults of hosts at once, likelier an error ({} are believed)", failed, allowed));
  return Gate{fabric.name(), document.stamp.generated_at, std::move(verdicts).take()};
}

Gate gate_of(const Fabric& fabric, const blacklist::Ledger& ledger, blacklist::NicAction nic_action,
             UtcTime now) {
  auto verdicts = listed_hosts(fabric, ledger, nic_action);
  for (const NodeId host : fabric.hosts())
    if (verdicts.has_no_verdict_of(host)) verdicts.worsen(host, Verdict::unknown, "not on the blacklist");
  return {fabric.name(), now, std::move(verdicts).take()};
}

Gate decided_by(const Fabric& fabric, const blacklist::Ledger& ledger, blacklist::NicAction nic_action,
                Gate run) {
  auto verdicts = listed_hosts(fabric, ledger, nic_action);
  for (const HostVerdict& host : run.hosts)
    if (const auto node = fabric.find_node(host.host))
      verdicts.worsen(*node, std::min(host.verdict, Verdict::degraded), host.text);
  run.hosts = std::move(verdicts).take();
  return run;
}

}  // namespace weft::exports
