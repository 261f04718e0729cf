#include "tests/bench/verdicts/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "tests/bench/verdicts/claims.hpp"
#include "tests/bench/verdicts/fits.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

constexpr double kToleratedDelay = 1000;  // microseconds: --tolerate delay=1ms

/// Loss and down share their rows, so they are one kind to the fits.
enum Family { counts, rates, delays, families };
Family family_of(Cause cause) {
  return cause == Cause::rate ? rates : cause == Cause::delay ? delays : counts;
}

class Judge {
 public:
  Judge(const Fabric& fabric, const std::vector<DrawnFault>& faults, const Swept& swept, Fraction background)
      : fabric_(fabric), diagnosis_(swept.report.diagnosis), claims_(claims_of(fabric, diagnosis_)) {
    truth_.assign(families, Channels(fabric.channel_count(), false));
    cause_.assign(fabric.channel_count(), std::nullopt);
    for (const DrawnFault& fault : faults)
      for (const ChannelId channel : {Fabric::a_to_b(fault.spec.link), Fabric::b_to_a(fault.spec.link)})
        if (!fault.spec.channel || *fault.spec.channel == channel) {
          truth_[family_of(fault.cause)][channel.value()] = true;
          cause_[channel.value()] = fault.cause;
        }
    fit(swept.observations, background);
    for (const DrawnFault& fault : faults) look_at(fault);
    look_at_names();
    look_at_sets();
    look_at_switches();
    look_at_verdict(swept.observations, !faults.empty());
  }
  Judgement take() && { return std::move(judgement_); }

 private:
  void fit(const Observations& seen, Fraction background) {
    const auto losses = std::make_shared<LossFit>(fabric_, seen, background);
    fits_ = {losses, std::make_shared<RateFit>(fabric_, seen, *losses), nullptr};
    if (const auto delay = std::make_shared<RoundTripFit>(fabric_, seen); delay->has_rows())
      fits_[delays] = delay;
    for (int f = counts; f < families; ++f) {
      const bool asked = fits_[f] && std::ranges::find(truth_[f], true) != truth_[f].end();
      all_nats_.push_back(asked ? fits_[f]->nats(Channels(fabric_.channel_count(), true)) : 0);
      true_nats_.push_back(asked ? fits_[f]->nats(truth_[f]) : 0);
    }
  }

  /// By how much the fit of all is worse without a channel.
  double told_by(Family family, ChannelId channel) {
    if (!fits_[family]) return 0;
    Channels open(fabric_.channel_count(), true);
    open[channel.value()] = false;
    return all_nats_[family] - fits_[family]->nats(open);
  }
  /// By how much the truth is worse without these.
  double shown_by(Family family, const std::vector<ChannelId>& channels) {
    if (!fits_[family]) return 0;
    Channels open = truth_[family];
    for (const ChannelId channel : channels) open[channel.value()] = false;
    return true_nats_[family] - fits_[family]->nats(open);
  }

  bool is_faulty(ChannelId channel) const { return cause_[channel.value()].has_value(); }

  /// Both directions of its cable stand in one set or class: which one it is, is not said.
  bool undecided(ChannelId channel) const {
    return std::ranges::any_of(claims_.sets, [&](const OpenClaim& set) {
      return set.alternatives.size() > 1 && holds(set, channel) && holds(set, Fabric::reverse(channel));
    });
  }

  bool switch_is_named(NodeId node, Cause cause) const {
    return std::ranges::any_of(claims_.switches, [&](const auto& named) {
      return named.first == node && goes_with(named.second, cause);
    });
  }
  bool all_cables_bad(NodeId node) const {
    return std::ranges::all_of(fabric_.ports_of(node), [&](PortId port) {
      const auto out = fabric_.channel_from(port);
      return !out || is_faulty(*out) || is_faulty(Fabric::reverse(*out));
    });
  }
  bool in_a_named_switch(ChannelId channel, Cause cause) const {
    for (const NodeId node : {fabric_.source_node(channel), fabric_.target_node(channel)})
      if (switch_is_named(node, cause) && all_cables_bad(node)) return true;
    return false;
  }

  bool is_named(ChannelId channel, Cause cause) const {
    const auto names = [&](const Name& name) {
      if (!goes_with(name.cause, cause) || !holds(name.channels, channel)) return false;
      if (name.channels.size() == 1) return true;
      return cause_[Fabric::reverse(channel).value()] == cause && !undecided(channel);
    };
    return std::ranges::any_of(claims_.names, names) || in_a_named_switch(channel, cause);
  }
  bool cable_is_named(ChannelId channel, Cause cause) const {
    const auto names = [&](const Name& name) {
      return goes_with(name.cause, cause) &&
             (holds(name.channels, channel) || holds(name.channels, Fabric::reverse(channel)));
    };
    return std::ranges::any_of(claims_.names, names) || in_a_named_switch(channel, cause);
  }

  /// A set with one of these channels' cable, short enough, each of whose alternatives fits in the truth's
  /// place.
  bool in_a_fair_set(const std::vector<ChannelId>& channels, Cause cause) {
    return std::ranges::any_of(claims_.sets, [&](const OpenClaim& set) {
      if (!goes_with(set.cause, cause) || set.alternatives.size() > kMaxAlternatives) return false;
      return std::ranges::any_of(set.alternatives, [&](const auto& alternative) {
        const bool meant = std::ranges::any_of(channels, [&](ChannelId c) {
          return holds(alternative, c) || holds(alternative, Fabric::reverse(c));
        });
        return meant && is_fair(set, alternative, channels, family_of(cause));
      });
    });
  }
  bool is_fair(const OpenClaim& set, const std::vector<ChannelId>& meant,
               const std::vector<ChannelId>& channels, Family family) {
    return std::ranges::all_of(set.alternatives, [&](const auto& alternative) {
      return worse_by(alternative, meant, channels, family) <= kAsGood;
    });
  }
  /// By how much the rows go worse with the truth when `alternative` is put in the place of what is `meant`.
  double worse_by(const std::vector<ChannelId>& alternative, const std::vector<ChannelId>& meant,
                  const std::vector<ChannelId>& channels, Family family) {
    // What is replaced: the faults in the alternative that is meant; where it has the wrong direction, the
    // cable.
    Channels others = truth_[family];
    bool any = false;
    for (const ChannelId channel : meant) {
      any = any || others[channel.value()];
      others[channel.value()] = false;
    }
    for (const ChannelId channel : channels)
      if (!any) others[channel.value()] = false;
    for (const ChannelId channel : alternative) others[channel.value()] = true;
    return fits_[family] ? true_nats_[family] - fits_[family]->nats(others) : kTold;
  }

  void look_at(const DrawnFault& fault) {
    const Family family = family_of(fault.cause);
    const std::size_t kind = index_of(fault.cause);
    DrawnScore& score = judgement_.score;
    std::vector<ChannelId> rest;
    for (const ChannelId channel : {Fabric::a_to_b(fault.spec.link), Fabric::b_to_a(fault.spec.link)}) {
      if (fault.spec.channel && *fault.spec.channel != channel) continue;
      const double nats = told_by(family, channel);
      score.told[kind].add(nats >= kTold);
      if (nats < kTold) {
        rest.push_back(channel);
        continue;
      }
      any_shown_ = true;
      const bool named = is_named(channel, fault.cause);
      score.named[kind].add(named);
      if (!named) fail("not named: {} {}, told by {:.1f} nats", to_string(fault.cause), name(channel), nats);
    }
    if (rest.empty()) return;
    const double nats = shown_by(family, rest);
    if (nats < kTold) {
      ++score.hidden[kind];
      if (fault.cause == Cause::rate)
        score.untested.add(std::ranges::any_of(
            rest, [&](ChannelId c) { return holds(diagnosis_.coverage.rate_untested, c); }));
      return;
    }
    any_shown_ = true;
    const bool found = cable_is_named(rest.front(), fault.cause) || in_a_fair_set(rest, fault.cause);
    score.named_or_set[kind].add(found);
    if (!found)
      fail("neither named nor in a fair set: {} {}, shown by {:.1f} nats; {}", to_string(fault.cause),
           name(rest.front()), nats, why_not(rest, fault.cause));
  }

  /// What is wrong with the sets that these channels' cable stands in.
  std::string why_not(const std::vector<ChannelId>& channels, Cause cause) {
    std::string why;
    for (const OpenClaim& set : claims_.sets)
      for (const auto& alternative : set.alternatives) {
        const bool meant = std::ranges::any_of(channels, [&](ChannelId c) {
          return holds(alternative, c) || holds(alternative, Fabric::reverse(c));
        });
        if (!meant) continue;
        why += fmt::format("{}in a set of {}", why.empty() ? "" : ", ", set.alternatives.size());
        if (!goes_with(set.cause, cause)) {
          why += fmt::format(" for {}", to_string(*set.cause));
          continue;
        }
        for (const auto& other : set.alternatives)
          if (const double worse = worse_by(other, alternative, channels, family_of(cause)); worse > kAsGood)
            why += fmt::format(" ({} is worse by {:.1f})", names(other), worse);
      }
    return why.empty() ? "in no set" : why;
  }

  /// Some channel of these has a fault that goes with the cause.
  bool is_true(const std::vector<ChannelId>& channels, std::optional<Cause> cause) const {
    return std::ranges::any_of(
        channels, [&](ChannelId c) { return is_faulty(c) && goes_with(cause, *cause_[c.value()]); });
  }
  bool is_true(const OpenClaim& set) const {
    return std::ranges::any_of(set.alternatives, [&](const auto& each) { return is_true(each, set.cause); });
  }

  void look_at_names() {
    for (const Name& claimed : claims_.names) {
      const bool of_a_set = std::ranges::any_of(claims_.sets, [&](const OpenClaim& set) {
        return set.alternatives.size() > 1 && is_true(set) &&
               std::ranges::all_of(claimed.channels, [&](ChannelId c) { return holds(set, c); });
      });
      const bool wrong = !is_true(claimed.channels, claimed.cause) && !of_a_set;
      judgement_.score.wrong_names.add(wrong);
      if (!wrong) continue;
      const bool other = is_true(claimed.channels, std::nullopt);
      judgement_.score.wrong_causes += other ? 1 : 0;
      fail("wrong name: {} {}{}", claimed.cause ? to_string(*claimed.cause) : "host", names(claimed.channels),
           other ? ", which has another fault" : "");
    }
  }

  void look_at_sets() {
    for (const OpenClaim& set : claims_.sets) {
      if (!is_true(set)) {
        ++judgement_.score.false_sets;
        fail("a set without a truth, of {} alternatives", set.alternatives.size());
        continue;
      }
      ++judgement_.score.sets;
      judgement_.score.alternatives += set.alternatives.size();
    }
  }

  void look_at_switches() {
    for (const auto& [node, cause] : claims_.switches) {
      if (all_cables_bad(node)) continue;
      ++judgement_.score.cable_called_switch;
      fail("called a switch: {}", fabric_.name_of(node));
    }
  }

  /// All that is wrong is a delay that every round trip has, and none is longer than what is tolerated.
  bool is_shared_delay(const Observations& seen) {
    for (const Family other : {counts, rates})
      if (std::ranges::find(truth_[other], true) != truth_[other].end()) return false;
    if (!fits_[delays]) return false;
    if (all_nats_[delays] - fits_[delays]->nats(Channels(fabric_.channel_count(), false)) >= kTold)
      return false;
    return std::ranges::all_of(seen.probes, [](const Observation& row) {
      return !row.rtt || std::chrono::duration<double, std::micro>(row.rtt->p50).count() <= kToleratedDelay;
    });
  }

  void look_at_verdict(const Observations& seen, bool is_sick) {
    judgement_.score.trials = 1;
    if (!is_sick || diagnosis_.verdict != Verdict::healthy || is_shared_delay(seen)) return;
    ++judgement_.score.false_healthy;
    if (!any_shown_) ++judgement_.score.false_healthy_hidden;
    fail("healthy{}", any_shown_ ? "" : ", and no row knows better");
  }

  template <class... Arguments>
  void fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    judgement_.failures.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }
  std::string name(ChannelId channel) const { return fabric_.name_of(channel); }
  std::string names(const std::vector<ChannelId>& channels) const {
    std::vector<std::string> all;
    for (const ChannelId channel : channels) all.push_back(name(channel));
    return fmt::format("{}", fmt::join(all, " "));
  }

  const Fabric& fabric_;
  const Diagnosis& diagnosis_;
  const Claims claims_;
  std::vector<Channels> truth_;               // by family
  std::vector<std::optional<Cause>> cause_;   // by channel
  std::vector<std::shared_ptr<Fit>> fits_;    // by family; null: no rows
  std::vector<double> all_nats_, true_nats_;  // by family
  bool any_shown_ = false;
  Judgement judgement_;
};

}  // namespace

std::size_t index_of(Cause cause) {
  return static_cast<std::size_t>(std::ranges::find(kCausesDrawn, cause) - kCausesDrawn.begin());
}

DrawnScore& DrawnScore::operator+=(const DrawnScore& other) {
  trials += other.trials;
  false_healthy += other.false_healthy;
  false_healthy_hidden += other.false_healthy_hidden;
  for (std::size_t i = 0; i < kCausesDrawn.size(); ++i) {
    told[i] += other.told[i];
    named[i] += other.named[i];
    named_or_set[i] += other.named_or_set[i];
    hidden[i] += other.hidden[i];
  }
  untested += other.untested;
  wrong_names += other.wrong_names;
  wrong_causes += other.wrong_causes;
  false_sets += other.false_sets;
  cable_called_switch += other.cable_called_switch;
  sets += other.sets;
  alternatives += other.alternatives;
  return *this;
}

Judgement judge(const Fabric& fabric, const std::vector<DrawnFault>& faults, const Swept& swept,
                Fraction background) {
  return Judge(fabric, faults, swept, background).take();
}

std::vector<std::string> words_of(const Fabric& fabric, const Diagnosis& diagnosis) {
  std::vector<std::string> words;
  const auto joined = [&](const std::vector<ChannelId>& channels) {
    std::vector<std::string> all;
    for (const ChannelId channel : channels) all.push_back(fabric.name_of(channel));
    return fmt::format("{}", fmt::join(all, " + "));
  };
  for (const LinkFinding& f : diagnosis.links)
    words.push_back(fmt::format("{} {} {}, confidence {:.3f}{}", to_string(f.verdict), to_string(f.cause),
                                f.channel ? fabric.name_of(*f.channel) : fabric.name_of(f.link), f.confidence,
                                f.estimate ? fmt::format(", {:.4g}", f.estimate->value) : ""));
  for (const HostFinding& f : diagnosis.hosts)
    words.push_back(fmt::format("{} {} host {} {}", to_string(f.verdict), f.cause ? to_string(*f.cause) : "-",
                                fabric.name_of(f.host),
                                f.channel ? fabric.name_of(*f.channel)
                                : f.link  ? fabric.name_of(*f.link)
                                          : ""));
  for (const GroupFinding& f : diagnosis.groups) {
    std::vector<std::string> nodes;
    for (const NodeId node : f.nodes) nodes.push_back(fabric.name_of(node));
    words.push_back(fmt::format("{} {} group {} of {}", to_string(f.verdict), to_string(f.cause),
                                fmt::join(nodes, " "), joined(f.channels)));
  }
  for (const OpenSet& set : diagnosis.sets) {
    std::vector<std::string> all;
    for (const auto& alternative : set.alternatives) all.push_back(joined(alternative));
    words.push_back(
        fmt::format("{} {} one of: {}", to_string(set.verdict), to_string(set.cause), fmt::join(all, " | ")));
  }
  for (const auto& members : diagnosis.ambiguous) words.push_back("not told apart: " + joined(members));
  for (const FabricFinding& f : diagnosis.fabric)
    words.push_back(fmt::format("{} {} of the whole fabric", to_string(f.verdict), to_string(f.cause)));
  return words;
}

}  // namespace weft::bench
