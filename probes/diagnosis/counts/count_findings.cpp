#include "probes/diagnosis/counts/count_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "probes/diagnosis/counts/alternatives.hpp"
#include "probes/diagnosis/counts/count_search.hpp"
#include "probes/diagnosis/counts/hypotheses.hpp"
#include "probes/diagnosis/counts/intermittence.hpp"
#include "probes/diagnosis/counts/tally.hpp"
#include "probes/diagnosis/report.hpp"
#include "topology/base/readable.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

/// A set of rivals is named by those that make up this share of its probability.
constexpr double kCredible = 0.95;
constexpr double kWorthAsking = 0.1;            // suspicions this likely are hypotheses to settle
constexpr double kAlike = 0.02;                 // of the packets: so few tell two channels apart
const double kNamed = named_from(Cause::loss);  // as of all causes that are counted
constexpr double kInBursts = 0.5;               // of a loss: from here on it is said to come in bursts

class Findings {
 public:
  Findings(const Fabric& fabric, const Observations& observations, const Counting& counting,
           std::span<const ChannelId> dead, const Tolerance& tolerance)
      : fabric_(fabric),
        observations_(observations),
        counting_(counting),
        counted_(counting.what),
        dead_(dead),
        tolerance_(tolerance),
        problem_(count_problem(fabric, observations, counting)) {}

  CountFindings take() {
    found_.is_rough = counting_.whole_flows && problem_.has_lossy_sets;
    found_.account.all = problem_.lost;
    if (problem_.lost == 0) return std::move(found_);
    auto priors = count_priors(fabric_, problem_, observations_.channels, counting_);
    expect_other_directions(problem_, dead_, priors);
    result_ = search_counts(problem_, priors, tolerance_.loss.value(), kNamed,
                            counting_.exchanges && !found_.is_rough, counting_.is_over);
    found_.account = result_.account;
    std::vector<std::uint32_t> listed;
    for (const Suspicion& suspicion : result_.suspicions) listed.push_back(suspicion.suspect);
    tally_ = tally(fabric_, observations_, counting_, problem_, named(listed));
    for (const auto& alternatives : result_.alternatives) report_alternatives(alternatives);
    report_pairs_of_classes();
    for (const auto& rivals : result_.rivals)
      if (const auto left = not_reported(rivals); !left.empty() && !is_of_a_lossy_channel(left.front()))
        report_rivals(left);
    if (result_.even_loss > 0) found_.even_loss = even_loss();
    return std::move(found_);
  }

 private:
  /// The suspects whose traffic is not "the other paths" of any finding.
  std::vector<std::uint32_t> named(const std::vector<std::uint32_t>& listed) {
    std::vector<std::uint32_t> kept;
    place_.assign(listed.size(), listed.size());
    for (std::uint32_t i = 0; i < listed.size(); ++i)
      if (result_.suspicions[i].probability >= kWorthAsking || result_.with_rivals(i) >= kOpen ||
          result_.is_in_alternatives(listed[i])) {
        place_[i] = kept.size();
        kept.push_back(listed[i]);
      }
    return kept;
  }

  /// Of rivals one of which stands in a set, those that are sure beside it.
  std::vector<std::uint32_t> not_reported(std::vector<std::uint32_t> rivals) const {
    if (std::ranges::none_of(rivals, [this](std::uint32_t i) { return reported_.contains(i); }))
      return rivals;
    std::erase_if(rivals, [this](std::uint32_t i) {
      return reported_.contains(i) || result_.suspicions[i].probability < kNamed;
    });
    return rivals;
  }

  std::optional<std::uint32_t> suspicion_of(std::uint32_t suspect) const {
    const auto at = std::ranges::find(result_.suspicions, suspect, &Suspicion::suspect);
    if (at == result_.suspicions.end()) return std::nullopt;
    return static_cast<std::uint32_t>(at - result_.suspicions.begin());
  }

  /// One finding for what may as well be at fault elsewhere, if each of its suspects is one channel.
  void report_alternatives(const std::vector<std::vector<std::uint32_t>>& alternatives) {
    std::vector<std::uint32_t> told;
    for (const std::uint32_t s : alternatives.front())
      if (const auto i = suspicion_of(s); i && !reported_.contains(*i)) told.push_back(*i);
    if (told.size() < alternatives.front().size()) return;
    auto meant = channels_of_alternatives(fabric_, problem_, result_.suspicions, alternatives, kNamed);
    if (meant.channels.size() < 2) return;
    Found all = found(told.front());
    all.probability = 1;
    all.channels.clear();
    all.evidence.clear();
    all.nodes.clear();
    if (const auto node = switch_around(fabric_, meant.channels)) all.nodes.push_back(*node);
    all.alternatives = std::move(meant.channels), all.more = meant.more;
    for (const std::uint32_t i : told) {
      const Found one = found(i);
      const auto name =
          one.channels.empty() ? fabric_.name_of(one.nodes.front()) : fabric_.name_of(one.channels.front());
      all.evidence.push_back(fmt::format("{}: {}", name, one.evidence.front()));
      all.probability = std::min(all.probability, result_.with_rivals(i));
      reported_.insert(i);
    }
    all.evidence.emplace_back(why_open(problem_, alternatives));
    found_.told.push_back({std::move(all)});
  }

  /// Of two classes, each the other's reverse (a switch of two cables): one cable both ways, or two one way.
  /// Where the pairs of one cable each are too many to list, as of the cables between a pod and the cores,
  /// each class stands by itself.
  void report_pairs_of_classes() {
    for (std::uint32_t i = 0; i < result_.suspicions.size(); ++i)
      for (std::uint32_t j = i + 1; j < result_.suspicions.size(); ++j) {
        if (reported_.contains(i) || reported_.contains(j)) continue;
        const Suspect& a = problem_.suspects[result_.suspicions[i].suspect];
        const Suspect& b = problem_.suspects[result_.suspicions[j].suspect];
        const bool named =
            std::min(result_.suspicions[i].probability, result_.suspicions[j].probability) >= kNamed;
        if (!named || a.channels.size() < 2 || !a.is_channel() || !b.is_channel() ||
            a.channels.size() != b.channels.size() || a.channels.size() > kMaxListed ||
            cause_of(result_.suspicions[i]) != cause_of(result_.suspicions[j]))
          continue;
        const auto turned = [&](ChannelId c) {
          return std::ranges::find(b.channels, Fabric::reverse(c)) != b.channels.end();
        };
        if (!std::ranges::all_of(a.channels, turned)) continue;
        Found both = found(i);
        const Found other = found(j);
        for (const ChannelId c : both.channels) both.alternatives.push_back({c, Fabric::reverse(c)});
        for (const ChannelId c : both.channels)
          for (const ChannelId d : b.channels)
            if (d != Fabric::reverse(c)) both.alternatives.push_back({c, d});
        both.channels.clear();
        both.nodes.clear();
        both.probability = std::min(both.probability, other.probability);
        both.evidence.insert(both.evidence.end(), other.evidence.begin(), other.evidence.end());
        reported_.insert(i);
        reported_.insert(j);
        found_.told.push_back({std::move(both)});
      }
  }

  FabricFinding even_loss() const {
    const double loss = result_.even_loss;
    const bool of_loss = counted_ == Counted::loss;
    const bool all_lost = of_loss && problem_.lost == problem_.sent;
    const Cause cause = all_lost ? Cause::down : of_loss ? Cause::loss : Cause::corruption;
    FabricFinding all{.cause = cause, .verdict = verdict_of(cause, loss), .confidence = kNamed};
    if (!all_lost) all.estimate = Estimate{loss, loss, loss};
    const auto why = all_lost ? ": nothing passed, and nothing tells why"
                              : fmt::format(", by every channel alike: about {:.3g} % each", 100 * loss);
    all.evidence = {share_text(problem_.lost, problem_.sent) + (of_loss ? " lost" : " corrupt") + why};
    return all;
  }

  void report_rivals(const std::vector<std::uint32_t>& rivals) {
    double total = 0;
    for (const std::uint32_t i : rivals) total += result_.suspicions[i].probability;
    const std::uint32_t first = std::ranges::min(rivals);  // likeliest first
    const Suspicion& likeliest = result_.suspicions[first];
    CountFindings::Reported told;
    if (total >= kOpen) told.found = worded(rivals, total, first);
    if (total >= kNamed && told.found->probability < kNamed)
      for (const std::uint32_t i : rivals) {
        const auto& channels = problem_.suspects[result_.suspicions[i].suspect].channels;
        told.one_of.insert(told.one_of.end(), channels.begin(), channels.end());
      }
    const bool settled = likeliest.probability >= kSure && is_settled(likeliest);
    const bool doubted = std::ranges::find(result_.doubted, rivals) != result_.doubted.end();
    if ((total >= kWorthAsking || doubted) && !settled)
      told.hypothesis = hypothesis_of(fabric_, problem_, result_, rivals, counted_);
    if (told.found || told.hypothesis) found_.told.push_back(std::move(told));
  }

  /// The likeliest, but where it does not stand out; or where it and its rivals are all one host's: which
  /// part of a host is at fault matters less than that it is this host.
  Found worded(const std::vector<std::uint32_t>& rivals, double total, std::uint32_t first) const {
    const Suspicion& likeliest = result_.suspicions[first];
    if (rivals.size() == 1 || likeliest.probability >= named_from(cause_of(likeliest))) return found(first);
    Found all = found_among(rivals, total);
    const bool of_cables = total >= named_from(cause_of(likeliest)) && are_alike(rivals);
    return of_cables || likeliest.probability < kSuspected || host_of(fabric_, all) ? std::move(all)
                                                                                    : found(first);
  }

  /// Channels that all but a few packets crossed alike: as good as one class.
  bool are_alike(const std::vector<std::uint32_t>& rivals) const {
    const Suspect& first = problem_.suspects[result_.suspicions[rivals.front()].suspect];
    const auto close = [](std::uint64_t a, std::uint64_t b) {
      return static_cast<double>(std::max(a, b) - std::min(a, b)) <=
             kAlike * static_cast<double>(std::max(a, b));
    };
    return std::ranges::all_of(rivals, [&](std::uint32_t i) {
      const Suspect& other = problem_.suspects[result_.suspicions[i].suspect];
      return other.is_channel() && close(first.sent, other.sent) && close(first.lost, other.lost);
    });
  }

  bool is_settled(const Suspicion& suspicion) const {
    return problem_.suspects[suspicion.suspect].channels.size() <= 1;
  }

  Cause cause_of(const Suspicion& suspicion) const {
    if (counted_ == Counted::corruption) return Cause::corruption;
    const Suspect& suspect = problem_.suspects[suspicion.suspect];
    // What passed over a path known only as one of several may have gone another way.
    const bool nothing_passed = suspect.lost > 0 && problem_.survivors(suspicion.suspect, 0) <= 0;
    if (!nothing_passed) return Cause::loss;
    if (!suspect.from_size) return Cause::down;
    return is_of_another_loss(suspect) ? Cause::loss : Cause::mtu;
  }

  /// Whether the large packets vanished as a part of what is lost there of any size.
  bool is_of_another_loss(const Suspect& large) const {
    return std::ranges::any_of(result_.suspicions,
                               [&](const Suspicion& other) { return explains(other, large); });
  }

  bool explains(const Suspicion& loss, const Suspect& large) const {
    const Suspect& its = problem_.suspects[loss.suspect];
    return !its.from_size && loss.probability >= kSuspected && its.channels == large.channels &&
           its.nodes == large.nodes &&
           (loss.loss > 0.5 || met_outages(observations_, its.channels, *large.from_size, blamed_but(its)));
  }

  Found found(std::uint32_t i) const {
    const Suspicion& suspicion = result_.suspicions[i];
    const Suspect& suspect = problem_.suspects[suspicion.suspect];
    Found found{.channels = suspect.channels, .nodes = suspect.nodes, .cause = cause_of(suspicion)};
    found.probability = std::min(suspicion.probability, 1.0);
    if (found.cause == Cause::mtu) {
      const double passed = static_cast<double>(suspect.below_size->count());
      found.estimate = Estimate{passed, passed, static_cast<double>(suspect.from_size->count() - 1)};
    } else if (found.cause != Cause::down) {
      found.estimate = Estimate{suspicion.loss, suspicion.low, suspicion.high};
    }
    found.evidence = evidence_of(i, suspect);
    if (suspicion.in_bursts > kInBursts && found.cause != Cause::down)
      found.evidence.push_back("packets are lost in bursts, and pass between them");
    if (found.cause == Cause::down) narrow_dead(fabric_, observations_.channels, found);
    if (found.channels.size() == 1 && found.alternatives.empty())
      drop_switches_at(found.channels.front(), found.nodes);
    for (const ChannelEvidence& sign : observations_.channels)
      if (sign.log_ratio > 0 && std::ranges::binary_search(found.channels, sign.channel))
        found.evidence.push_back(sign.text);
    note_lone_host(found);
    if (found.cause == Cause::loss) note_large_packets(found, suspicion);
    if (const auto over = one_channel_of(fabric_, found); over && found.cause == Cause::loss)
      found.intermittent = intermittence_of(observations_, *over, blamed_but(suspect));
    return found;
  }

  /// Of a host alone under its switch, nothing but the number of faults tells its cable from all of the
  /// switch's channels the other side.
  void note_lone_host(Found& found) const {
    if (found.channels.size() != 1) return;
    if (const auto edge = edge_of_lone_host(fabric_, problem_, found.channels.front()))
      found.evidence.push_back(
          fmt::format("no other host under {} took part: all of its channels to other "
                      "switches at once would look alike",
                      fabric_.name_of(*edge)));
  }

  /// Large packets that this loss is taken to explain, and none of which passed: what hides a limit of sizes.
  void note_large_packets(Found& found, const Suspicion& loss) const {
    for (const Suspicion& other : result_.suspicions) {
      const Suspect& large = problem_.suspects[other.suspect];
      if (!large.from_size || other.probability < kSuspected || problem_.survivors(other.suspect, 0) > 0 ||
          !explains(loss, large))
        continue;
      found.evidence.push_back(fmt::format(
          "no packet of {} and more passed: that a limit of packet sizes (MTU) is at fault as well "
          "is not ruled out",
          readable(*large.from_size)));
    }
  }

  /// A loss of large packets that all cross what is found to lose packets of every size: no other fault.
  bool is_of_a_lossy_channel(std::uint32_t i) const {
    const std::uint32_t large = result_.suspicions[i].suspect;
    if (!problem_.suspects[large].from_size || cause_of(result_.suspicions[i]) == Cause::mtu) return false;
    const auto row = &CountProblem::Cell::index;
    return std::ranges::any_of(result_.suspicions, [&](const Suspicion& other) {
      return other.probability >= kNamed && !problem_.suspects[other.suspect].from_size &&
             std::ranges::includes(problem_.rows_of(other.suspect), problem_.rows_of(large), {}, row, row);
    });
  }

  /// The channels of all that is dead and of other suspicions that are likelier than not, ascending.
  std::vector<ChannelId> blamed_but(const Suspect& own) const {
    std::vector<ChannelId> channels(dead_.begin(), dead_.end());
    for (const Suspicion& other : result_.suspicions)
      if (other.probability >= kSuspected)
        for (const ChannelId channel : problem_.suspects[other.suspect].channels)
          if (!std::ranges::binary_search(own.channels, channel)) channels.push_back(channel);
    std::ranges::sort(channels);
    return channels;
  }

  std::vector<std::string> evidence_of(std::uint32_t i, const Suspect& suspect) const {
    const Traffic& own = tally_.of[place_[i]];
    const char* what = counted_ == Counted::corruption ? "corrupt" : "lost";
    std::string text = fmt::format("{} {} over {} path{}", share_text(own.lost, own.sent), what,
                                   grouped(own.paths), own.paths == 1 ? "" : "s");
    if (suspect.from_size) text += fmt::format(", of packets of {} and more", readable(*suspect.from_size));
    if (tally_.rest.sent > 0)
      text += fmt::format("; the other paths {}", share_text(tally_.rest.lost, tally_.rest.sent));
    std::vector<std::string> evidence{std::move(text)};
    if (suspect.from_size && suspect.below_size->count() > 0)
      evidence.push_back(fmt::format("packets of {} and less pass", readable(*suspect.below_size)));
    return evidence;
  }

  /// A switch that harms all harms this channel too: of the two the channel is surely at fault.
  void drop_switches_at(ChannelId channel, std::vector<NodeId>& nodes) const {
    std::erase_if(nodes, [&](NodeId node) {
      return !fabric_.is_host(node) &&
             (fabric_.source_node(channel) == node || fabric_.target_node(channel) == node);
    });
  }

  /// None of the rivals stands out: all that matter together, as one class, with what is not known said.
  Found found_among(std::vector<std::uint32_t> rivals, double total) const {
    std::ranges::stable_sort(rivals, std::ranges::greater{},
                             [this](std::uint32_t i) { return result_.suspicions[i].probability; });
    Found all = found(rivals.front());
    all.nodes.clear();
    all.channels.clear();
    double sum = 0;
    for (const std::uint32_t i : rivals) {
      const Suspect& suspect = problem_.suspects[result_.suspicions[i].suspect];
      all.channels.insert(all.channels.end(), suspect.channels.begin(), suspect.channels.end());
      if (suspect.channels.empty())
        all.nodes.insert(all.nodes.end(), suspect.nodes.begin(), suspect.nodes.end());
      sum += result_.suspicions[i].probability;
      if (sum >= kCredible * total) break;
    }
    std::ranges::sort(all.channels);
    all.channels.erase(std::unique(all.channels.begin(), all.channels.end()), all.channels.end());
    all.probability = std::min(total, 1.0);
    if (all.channels.size() == 1) drop_switches_at(all.channels.front(), all.nodes);
    if (all.channels.size() + all.nodes.size() > 1)
      all.evidence.push_back("not enough evidence to tell which");
    return all;
  }

  const Fabric& fabric_;
  const Observations& observations_;
  const Counting& counting_;
  const Counted counted_;
  std::span<const ChannelId> dead_;
  const Tolerance& tolerance_;
  CountProblem problem_;
  CountResult result_;
  Tally tally_;
  std::vector<std::size_t> place_;  // of a suspicion in the tally
  std::set<std::uint32_t> reported_;
  CountFindings found_;
};

}  // namespace

CountFindings count_findings(const Fabric& fabric, const Observations& observations, const Counting& counting,
                             std::span<const ChannelId> dead, const Tolerance& tolerance) {
  return Findings(fabric, observations, counting, dead, tolerance).take();
}

}  // namespace weft::diagnosis
