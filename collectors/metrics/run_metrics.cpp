#include "collectors/metrics/families.hpp"
#include "collectors/metrics/metrics.hpp"

namespace weft::metrics {
namespace {

constexpr std::array kVerdicts{Verdict::healthy, Verdict::unknown, Verdict::congested, Verdict::degraded,
                               Verdict::failed};

std::string word(Verdict verdict) { return std::string(to_string(verdict)); }

void put_findings(Families& all, const files::DiagnosisDocument& document) {
  std::size_t shown = 0;
  auto links = all.gauge("weft_run_link_confidence_ratio", "Of each link that the run found not healthy.");
  for (const auto& link : document.links) {
    if (++shown > kMaxChannels) break;
    links.add(link.confidence, {{"link", link.link},
                                {"from", link.from.value_or("")},
                                {"cause", std::string(to_string(link.cause))},
                                {"verdict", word(link.verdict)}});
  }
  auto hosts = all.gauge("weft_run_host_unhealthy", "Hosts and NICs that the run found not healthy.");
  for (const auto& host : document.hosts) {
    if (++shown > kMaxChannels) break;
    hosts.add(1, {{"host", host.host},
                  {"nic", host.nic.value_or("")},
                  {"cause", host.cause ? std::string(to_string(*host.cause)) : std::string()},
                  {"verdict", word(host.verdict)}});
  }
  all.gauge("weft_run_findings", "What the run found: links, hosts, switches, sets, the fabric as a whole.")
      .add(static_cast<double>(document.links.size() + document.hosts.size() + document.groups.size() +
                               document.sets.size() + document.fabric_wide.size()));
}

}  // namespace

std::string metrics_text(const files::DiagnosisDocument& document) {
  Families all(document.fabric);
  auto verdicts = all.gauge("weft_run_verdict", "Verdict of the last run: 1 for the one that holds.");
  for (const Verdict verdict : kVerdicts)
    verdicts.add(verdict == document.verdict ? 1 : 0, {{"verdict", word(verdict)}});
  all.gauge("weft_run_timestamp_seconds", "When the last run ended.")
      .add(static_cast<double>(document.stamp.generated_at.time_since_epoch().count()));
  all.gauge("weft_run_probes", "Probes that the last run sent.").add(static_cast<double>(document.run.sent));
  all.gauge("weft_run_probes_lost", "Of these, those that were lost.")
      .add(static_cast<double>(document.run.lost));
  all.gauge("weft_run_channels", "Channels that the last run was to probe.")
      .add(static_cast<double>(document.coverage.channels));
  all.gauge("weft_run_probed_channels", "Of these, those that were crossed by probes enough.")
      .add(static_cast<double>(document.coverage.probed));
  all.gauge("weft_run_complete", "1: the run did all that was asked.")
      .add(document.coverage.complete ? 1 : 0);
  put_findings(all, document);
  return std::move(all).text();
}

}  // namespace weft::metrics
