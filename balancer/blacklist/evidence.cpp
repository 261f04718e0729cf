#include "balancer/blacklist/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "balancer/blacklist/contradiction.hpp"
#include "topology/findings/observation.hpp"

namespace weft::blacklist {
namespace {

/// Shows under load alone: rates, and what only large packets meet.
bool needs_load(Cause cause) {
  return cause == Cause::rate || cause == Cause::congestion || cause == Cause::mtu ||
         cause == Cause::corruption;
}

bool shows(const Evidence& evidence, Cause cause, std::optional<double> size) {
  const auto reaches = [&](std::optional<double> shown) { return shown && (!size || *shown <= *size); };
  switch (cause) {
    case Cause::loss:
      return reaches(evidence.shows_loss);
    case Cause::delay:
      return reaches(evidence.shows_delay);
    case Cause::rate:
    case Cause::congestion:  // estimated as the share that is left; shown as the share that is missing
      return evidence.shows_rate && (!size || *evidence.shows_rate <= 1 - *size);
    case Cause::mtu:  // estimated as the largest packet that passed
      return evidence.shows_size && (!size || *evidence.shows_size > *size);
    case Cause::down:
    case Cause::corruption:
      return true;
    case Cause::counter:  // a document does not say whether the counters of a port were read
      return false;
  }
  return false;
}

/// Whether packets between two hosts cross a link and otherwise nothing that is suspected. Where none do, a
/// small fault there is taken for a part of the larger ones that all its packets met: no one can say that it
/// is clean.
class Witnesses {
 public:
  Witnesses(const Fabric& fabric, const std::vector<bool>& suspected)
      : fabric_(fabric),
        suspected_(suspected),
        below_(fabric.node_count()),
        is_live_(fabric.node_count()),
        rises_(fabric.node_count()) {
    std::vector<NodeId> nodes;
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i) nodes.emplace_back(i);
    std::ranges::stable_sort(nodes, {}, [this](NodeId node) { return height(node); });
    for (const NodeId node : nodes) {
      below_[node.value()] = live_below(node);
      is_live_[node.value()] = fabric.is_host(node) || below_[node.value()] > 0;
    }
    for (const NodeId node : nodes | std::views::reverse) rises_[node.value()] = rises(node);
  }

  bool have(LinkId link) const {
    NodeId low = fabric_.source_node(Fabric::a_to_b(link)), high = fabric_.source_node(Fabric::b_to_a(link));
    if (height(low) > height(high)) std::swap(low, high);
    if (height(low) == height(high)) return is_live_[low.value()] && is_live_[high.value()];
    return is_live_[low.value()] && goes_on(high, is_quiet(link) ? 2 : 1);
  }

 private:
  int height(NodeId node) const {
    return fabric_.is_host(node) ? -1 : static_cast<int>(fabric_.node(node).tier);
  }
  bool is_quiet(LinkId link) const {
    return !suspected_[Fabric::a_to_b(link).value()] && !suspected_[Fabric::b_to_a(link).value()];
  }
  template <class Each>
  void over_quiet(NodeId node, Each each) const {
    for (const ChannelId channel : fabric_.channels_from(node))
      if (is_quiet(Fabric::link_of(channel))) each(fabric_.target_node(channel));
  }
  /// Nodes below it from which a host is reached downward.
  std::size_t live_below(NodeId node) const {
    std::set<NodeId> live;
    over_quiet(node, [&](NodeId other) {
      if (height(other) < height(node) && is_live_[other.value()]) live.insert(other);
    });
    return live.size();
  }
  /// What came up to it reaches another host by way of a node that is not below it.
  bool rises(NodeId node) const {
    bool is_so = false;
    over_quiet(node, [&](NodeId other) {
      is_so = is_so || (height(other) > height(node) && goes_on(other, 2)) ||
              (height(other) == height(node) && is_live_[other.value()]);
    });
    return is_so;
  }
  /// Of `least` live nodes below it one is that from which packets came, or they rise.
  bool goes_on(NodeId node, std::size_t least) const {
    return below_[node.value()] >= least || rises_[node.value()];
  }

  const Fabric& fabric_;
  const std::vector<bool>& suspected_;
  std::vector<std::size_t> below_;  // by node
  std::vector<bool> is_live_, rises_;
};

/// Of a host without a cause a part of the run failed there, which may be the agent: another run has to say
/// so.
constexpr double kFailedOnce = 0.9;
constexpr Nanoseconds kMaxRun = std::chrono::hours(24 * 30);  // whatever a document says

/// The channels that are not clean, whatever else is said of them.
class Suspects {
 public:
  explicit Suspects(const Fabric& fabric) : fabric_(fabric), channels_(fabric.channel_count(), false) {}

  const std::vector<bool>& channels() const { return channels_; }

  Result<std::vector<ChannelId>> add(const std::vector<std::string>& names) {
    std::vector<ChannelId> channels;
    for (const std::string& name : names) {
      WEFT_TRY(const auto channel, fabric_.find_channel(name));
      channels.push_back(channel);
      channels_[channel.value()] = true;
    }
    return channels;
  }
  void add(const Subject& subject) {
    for (const ChannelId channel : channels_of(fabric_, subject)) channels_[channel.value()] = true;
  }
  /// What no chosen host sent over nobody can vouch for, and no packet came that way.
  Result<void> leave_out_of_scope(const files::CoverageReport& coverage) {
    if (coverage.out_of_scope == 0) return {};
    std::vector<bool> in_scope(fabric_.channel_count(), false);
    for (const std::string& name : coverage.in_scope) {
      WEFT_TRY(const auto channel, fabric_.find_channel(name));
      in_scope[channel.value()] = true;
    }
    for (std::uint32_t i = 0; i < fabric_.channel_count(); ++i)
      if (!in_scope[i]) channels_[i] = true;
    return {};
  }

 private:
  const Fabric& fabric_;
  std::vector<bool> channels_;
};

bool have_same_ends(const files::LinkReference& one, const files::LinkReference& other) {
  const auto is_same = [](const files::LinkEnd& a, const files::LinkEnd& b) {
    return a.node == b.node && a.port == b.port;
  };
  return (is_same(one.a, other.a) && is_same(one.b, other.b)) ||
         (is_same(one.a, other.b) && is_same(one.b, other.a));
}

/// The least of what was estimated, as Fault has it.
std::optional<double> size_of(Cause cause, const std::optional<Estimate>& estimate) {
  if (!estimate) return std::nullopt;
  return cause == Cause::rate || cause == Cause::congestion ? estimate->high : estimate->low;
}

/// Which run it is of, and what that would have shown.
Evidence begun_evidence(const files::DiagnosisDocument& document) {
  Nanoseconds took{};
  for (const auto& [stage, time] : document.run.timings)
    took = std::clamp(took + std::clamp(time, Nanoseconds(0), kMaxRun), Nanoseconds(0), kMaxRun);
  Evidence evidence;
  evidence.until = document.stamp.generated_at;
  evidence.from = evidence.until - std::chrono::ceil<std::chrono::seconds>(took);
  evidence.run = fmt::format("the run of {}", weft::to_string(evidence.until));
  evidence.shows_loss = document.sensitivity.loss;
  evidence.shows_rate = document.sensitivity.rate;
  if (document.sensitivity.delay)
    evidence.shows_delay = std::chrono::duration<double>(*document.sensitivity.delay).count();
  if (document.sensitivity.size)
    evidence.shows_size = static_cast<double>(document.sensitivity.size->count());
  return evidence;
}

/// A set of that cause tells of it: as its sum, whatever node the group names beside it, or as one
/// alternative of several.
bool is_open(const files::DiagnosisDocument& document, const files::GroupReport& report) {
  auto its = report.channels;
  std::ranges::sort(its);
  files::GroupReport sum = report;
  sum.nodes.clear();
  return !its.empty() && std::ranges::any_of(document.sets, [&](const files::SetReport& set) {
    return set.cause == report.cause &&
           (files::is_part_of(set, sum) ||
            std::ranges::any_of(set.alternatives, [&](std::vector<std::string> names) {
              std::ranges::sort(names);
              return names == its;
            }));
  });
}

/// Of a run that sent nothing, or does not account for what it lost, nothing is known to be well.
bool tells_of_all(const files::DiagnosisDocument& document, const Fabric& fabric) {
  const files::CoverageReport& coverage = document.coverage;
  return coverage.channels + coverage.out_of_scope == fabric.channel_count() &&
         coverage.in_scope.size() == (coverage.out_of_scope == 0 ? 0 : coverage.channels) &&
         coverage.probed + coverage.missing.size() + coverage.thin.size() == coverage.channels &&
         !document.account.unexplained() && document.fabric_wide.empty() && document.run.sent > 0 &&
         (document.run.lost == 0 || document.account.lost.all > 0);
}

class Reader {
 public:
  Reader(const Fabric& fabric, const files::DiagnosisDocument& document)
      : fabric_(fabric), document_(document), suspects_(fabric), out_{.evidence = begun_evidence(document)} {}

  Result<ReadEvidence> read() && {
    for (const auto& report : document_.links) WEFT_TRY_VOID(take(report));
    for (const auto& report : document_.hosts) WEFT_TRY_VOID(take(report));
    for (const auto& report : document_.groups) WEFT_TRY_VOID(take(report));
    for (const auto& report : document_.sets) WEFT_TRY_VOID(take(report));
    for (const auto& channels : document_.ambiguous)
      WEFT_TRY_VOID(suspects_.add(channels).map([](auto&&) {}));
    for (const FabricFinding& finding : document_.fabric_wide)
      advise(finding.verdict, "the fabric as a whole: {}", to_string(finding.cause));
    WEFT_TRY_VOID(find_clean());
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void advise(Verdict verdict, fmt::format_string<Parts...> form, Parts&&... parts) {
    if (verdict >= Verdict::degraded) out_.advice.push_back(fmt::format(form, std::forward<Parts>(parts)...));
  }

  /// The run saw it between other ports than the fabric file has: which cable is meant nobody knows.
  bool has_moved(const std::optional<files::LinkReference>& ends, LinkId link, Verdict verdict) {
    const auto its = files::refer_to(fabric_, link);
    if (!ends || have_same_ends(*ends, its)) return false;
    suspects_.add(Subject(link));
    advise(verdict, "{}: the run saw it between {} port {} and {} port {}, the fabric file has other ends",
           its.name, ends->a.node, ends->a.port.value(), ends->b.node, ends->b.port.value());
    return true;
  }

  void add(Fault fault) {
    suspects_.add(fault.subject);
    if (fault.verdict < Verdict::degraded) return;
    // A run that sent nothing has seen nothing of it: another one has to say so too.
    if (document_.run.sent == 0 && fault.cause != Cause::counter)
      fault.confidence = std::min(fault.confidence, kFailedOnce);
    if (indicates_miswiring(fault))
      advise(fault.verdict, "{}: {}", name_of(fabric_, fault.subject).name, fault.evidence.front());
    out_.evidence.faults.push_back(std::move(fault));
  }

  Result<void> take(const files::LinkReport& report) {
    WEFT_TRY(const auto link, fabric_.find_link(report.link));
    IncidentPlace place{.channels = {Fabric::a_to_b(link), Fabric::b_to_a(link)}, .nodes = {}};
    if (report.from)
      std::erase_if(place.channels, [&](ChannelId channel) {
        return fabric_.name_of(fabric_.source_node(channel)) != *report.from;
      });
    if (place.channels.empty())
      return fail(ErrorKind::invalid_input, "{} does not leave {}", report.link, *report.from);
    if (has_moved(report.ends, link, report.verdict)) return {};
    add({*covering(fabric_, place), report.cause, report.verdict, report.confidence, report.evidence,
         size_of(report.cause, report.estimate)});
    return {};
  }

  Result<void> take(const files::HostReport& report) {
    constexpr double kMeasured = 1.0;  // what a host measured of itself has no probability
    WEFT_TRY(const auto node, fabric_.find_node(report.host));
    WEFT_TRY_VOID(check_host(fabric_, report, node));
    const Cause cause = report.cause.value_or(Cause::down);
    Fault fault{node,
                cause,
                report.verdict,
                report.confidence.value_or(report.cause ? kMeasured : kFailedOnce),
                report.evidence,
                size_of(cause, report.estimate)};
    // A switch stands here for its cables that lead elsewhere, which is for people; of what else is wrong
    // with it the run names its links or a group.
    if (!fabric_.is_host(node) && !indicates_miswiring(fault)) {
      suspects_.add(Subject(node));
      advise(report.verdict, "{} is told of as a host, and is none: nothing is done", report.host);
      return {};
    }
    if (report.nic) {
      WEFT_TRY(const auto nic, fabric_.find_nic(*report.nic));
      if (const auto link = fabric_.port(nic).link; link && has_moved(report.ends, *link, report.verdict))
        return {};
      fault.subject = nic;
    }
    add(std::move(fault));
    return {};
  }

  Result<void> take(const files::GroupReport& report) {
    WEFT_TRY(const auto channels, suspects_.add(report.channels));
    if (is_open(document_, report)) return {};
    WEFT_TRY_VOID(check_group(fabric_, report, channels));
    if (report.nodes.size() == 1) {
      WEFT_TRY(const auto node, fabric_.find_node(report.nodes.front()));
      add({node, report.cause, report.verdict, report.confidence, report.evidence, std::nullopt});
      return {};
    }
    if (const auto subject = covering(fabric_, {.channels = channels, .nodes = {}}))
      add({*subject, report.cause, report.verdict, report.confidence, report.evidence, std::nullopt});
    else
      advise(report.verdict, "{}: {}", fmt::join(report.nodes.empty() ? report.channels : report.nodes, ", "),
             weft::to_string(report.cause));
    return {};
  }

  Result<void> take(const files::SetReport& report) {
    IncidentPlace place;
    std::vector<std::string> words;
    for (const auto& names : report.alternatives) {
      WEFT_TRY(auto channels, suspects_.add(names));
      place.alternatives.push_back(std::move(channels));
      words.push_back(fmt::format("{}", fmt::join(names, " and ")));
    }
    // Of the alternatives that were left out nobody knows the channels.
    all_named_ = all_named_ && !report.more;
    const auto subject = report.more ? std::nullopt : covering(fabric_, place);
    if (subject)
      add({*subject, report.cause, report.verdict, report.confidence, {}, std::nullopt});
    else
      advise(report.verdict, "one of {}{}: {}; which, is not known", fmt::join(words, ", or "),
             report.more ? ", or others" : "", weft::to_string(report.cause));
    return {};
  }

  Result<void> find_clean() {
    const files::CoverageReport& coverage = document_.coverage;
    for (const auto* names : {&coverage.missing, &coverage.thin, &coverage.masked})
      WEFT_TRY_VOID(suspects_.add(*names).map([](auto&&) {}));
    if (!all_named_ || !tells_of_all(document_, fabric_)) return {};
    WEFT_TRY_VOID(suspects_.leave_out_of_scope(coverage));
    Evidence& evidence = out_.evidence;
    const Witnesses witnesses(fabric_, suspects_.channels());
    evidence.clean.resize(fabric_.channel_count());
    for (std::uint32_t i = 0; i < fabric_.channel_count(); ++i)
      evidence.clean[i] = !suspects_.channels()[i] && witnesses.have(Fabric::link_of(ChannelId(i)));
    if (!evidence.shows_rate) return {};
    evidence.loaded = evidence.clean;
    for (const auto* names : {&coverage.unloaded, &coverage.rate_untested}) {
      WEFT_TRY(const auto channels, suspects_.add(*names));
      for (const ChannelId channel : channels) evidence.loaded[channel.value()] = false;
    }
    return {};
  }

  const Fabric& fabric_;
  const files::DiagnosisDocument& document_;
  Suspects suspects_;
  bool all_named_ = true;  // what may be at fault
  ReadEvidence out_;
};

}  // namespace

bool indicates_miswiring(const Fault& fault) {
  return fault.cause == Cause::down && !fault.evidence.empty() &&
         std::ranges::all_of(fault.evidence,
                             [](const std::string& line) { return line.ends_with(kMiswired); });
}

bool is_clean_over(const Evidence& evidence, const std::vector<ChannelId>& channels, Cause cause,
                   std::optional<double> size) {
  if (evidence.of_incident && evidence.of_incident != cause) return false;
  const auto& clean = needs_load(cause) ? evidence.loaded : evidence.clean;
  return shows(evidence, cause, size) && std::ranges::all_of(channels, [&](ChannelId channel) {
           return channel.value() < clean.size() && clean[channel.value()];
         });
}

Result<ReadEvidence> evidence_of(const Fabric& fabric, const files::DiagnosisDocument& document) {
  if (document.fabric != fabric.name())
    return fail(ErrorKind::invalid_input, "the diagnosis is of fabric {}, not of {}", document.fabric,
                fabric.name());
  if (const auto words = contradiction_in(document))
    return fail(ErrorKind::invalid_input, "the diagnosis contradicts itself: {}: nothing of it is taken",
                *words);
  return Reader(fabric, document).read();
}

}  // namespace weft::blacklist
