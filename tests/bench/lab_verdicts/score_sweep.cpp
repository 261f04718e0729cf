#include "tests/bench/lab_verdicts/score_sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/fault.hpp"

namespace weft::bench {
namespace {

/// A fault as documents would say it.
struct FaultTruth {
  std::string text;
  std::string link;
  Cause cause;
  std::vector<std::string> channels;  // one or both
  std::vector<std::string> sources;   // the nodes that they leave
  std::optional<Bytes> mtu = std::nullopt;
};

Cause cause_of(const FaultSpec& fault) {
  if (fault.down || (fault.loss && fault.loss->value() == 1.0)) return Cause::down;
  if (fault.loss) return Cause::loss;
  if (fault.rate) return Cause::rate;
  if (fault.delay) return Cause::delay;
  WEFT_CHECK(fault.mtu.has_value());
  return Cause::mtu;
}

FaultTruth truth_of(const Fabric& fabric, const std::string& text) {
  const auto spec = parse_fault(fabric, text);
  WEFT_CHECK(spec.has_value());
  FaultTruth truth{text, fabric.name_of(spec->link), cause_of(*spec), {}, {}, spec->mtu};
  for (const ChannelId channel : {Fabric::a_to_b(spec->link), Fabric::b_to_a(spec->link)}) {
    if (spec->channel && *spec->channel != channel) continue;
    truth.channels.push_back(fabric.name_of(channel));
    truth.sources.push_back(fabric.name_of(fabric.source_node(channel)));
  }
  return truth;
}

/// All that is lost is told as down or as loss; what was dead for a while, too.
bool goes_with(std::optional<Cause> cause, const FaultTruth& truth) {
  return !cause || *cause == truth.cause || (truth.cause == Cause::down && *cause == Cause::loss);
}

constexpr std::size_t kMaxAlternatives = 6;  // of a set that is of use

/// An MTU is told exact to the sizes that a sweep sends: it lies within the estimate.
bool fits(const std::optional<Estimate>& estimate, const FaultTruth& truth) {
  if (!truth.mtu) return true;
  const auto mtu = static_cast<double>(truth.mtu->count());
  return estimate && estimate->value <= mtu && mtu <= estimate->high;
}

bool is_from(const std::optional<std::string>& from, const FaultTruth& truth) {
  return !from || std::ranges::find(truth.sources, *from) != truth.sources.end();
}

bool holds_one(const std::vector<std::string>& channels, const FaultTruth& truth) {
  return std::ranges::any_of(
      truth.channels, [&](const auto& each) { return std::ranges::find(channels, each) != channels.end(); });
}

class Scoring {
 public:
  Scoring(const LabCase& one, const files::DiagnosisDocument& said) : said_(said) {
    const Fabric fabric = fabric_of(one);
    for (const auto& text : one.faults) truths_.push_back(truth_of(fabric, text));
  }

  LabScore take() {
    for (const FaultTruth& truth : truths_) {
      const bool right = is_right(truth);
      count(right, "not found: " + truth.text);
    }
    if (truths_.empty()) count(said_.verdict == Verdict::healthy, "a sound fabric is not called healthy");
    look_at_names();
    score_.false_healthy = !truths_.empty() && said_.verdict == Verdict::healthy;
    if (score_.false_healthy) score_.failures.push_back("FALSELY HEALTHY");
    return std::move(score_);
  }

 private:
  void count(bool right, std::string failure) {
    ++score_.faults;
    if (right)
      ++score_.right;
    else
      score_.failures.push_back(std::move(failure));
  }
  void wrong(std::string failure) {
    ++score_.wrong_names;
    score_.failures.push_back("wrong name: " + std::move(failure));
  }

  bool in_a_set(const FaultTruth& truth) const {
    for (const files::SetReport& set : said_.sets)
      if (goes_with(set.cause, truth) && set.verdict > Verdict::unknown &&
          set.alternatives.size() <= kMaxAlternatives)
        for (const auto& alternative : set.alternatives)
          if (holds_one(alternative, truth)) return true;
    return std::ranges::any_of(said_.ambiguous,
                               [&](const auto& channels) { return holds_one(channels, truth); });
  }
  bool is_named(const FaultTruth& truth, const std::string& link, const std::optional<std::string>& from,
                std::optional<Cause> cause, Verdict verdict) const {
    if (link != truth.link || verdict <= Verdict::unknown || !goes_with(cause, truth)) return false;
    if (from) return std::ranges::find(truth.sources, *from) != truth.sources.end();
    return truth.channels.size() == 2 || in_a_set(truth);
  }
  /// Nothing can be said of a slow cable that nothing was able to load.
  bool is_said_to_be_untested(const FaultTruth& truth) const {
    return truth.cause == Cause::rate && said_.verdict != Verdict::healthy &&
           (holds_one(said_.coverage.rate_untested, truth) || holds_one(said_.coverage.unloaded, truth));
  }
  bool is_right(const FaultTruth& truth) const {
    for (const files::LinkReport& each : said_.links)
      if (is_named(truth, each.link, each.from, each.cause, each.verdict) && fits(each.estimate, truth))
        return true;
    for (const files::HostReport& each : said_.hosts) {
      if (each.ends && is_named(truth, each.ends->name, each.from, each.cause, each.verdict) &&
          fits(each.estimate, truth))
        return true;
      if (!each.from && truth.link.starts_with(each.host + "--") && goes_with(each.cause, truth)) return true;
    }
    return in_a_set(truth) || is_said_to_be_untested(truth);
  }

  template <class Holds>
  bool any_truth(Holds holds) const {
    return std::ranges::any_of(truths_, holds);
  }
  void look_at_names() {
    for (const files::LinkReport& each : said_.links)
      if (each.verdict > Verdict::unknown && !any_truth([&](const FaultTruth& truth) {
            return each.link == truth.link && goes_with(each.cause, truth) && is_from(each.from, truth);
          }))
        wrong(fmt::format("{} {}", each.link, to_string(each.cause)));
    for (const files::HostReport& each : said_.hosts)
      if (each.verdict > Verdict::unknown && !any_truth([&](const FaultTruth& truth) {
            return truth.link.starts_with(each.host + "--") && goes_with(each.cause, truth) &&
                   is_from(each.from, truth);
          }))
        wrong(fmt::format("{} {}", each.host, each.cause ? to_string(*each.cause) : "-"));
    for (const files::SetReport& set : said_.sets)
      if (set.verdict > Verdict::unknown && !any_truth([&](const FaultTruth& truth) {
            return goes_with(set.cause, truth) &&
                   std::ranges::any_of(set.alternatives,
                                       [&](const auto& each) { return holds_one(each, truth); });
          }))
        wrong(fmt::format("a set of {} with {} alternatives", to_string(set.cause), set.alternatives.size()));
    for (const files::GroupReport& each : said_.groups)
      if (each.verdict > Verdict::unknown &&
          !any_truth([&](const FaultTruth& truth) { return holds_one(each.channels, truth); }))
        wrong(fmt::format("{} {}", fmt::join(each.nodes, "+"), to_string(each.cause)));
    for (const FabricFinding& each : said_.fabric_wide)
      if (each.verdict > Verdict::unknown)
        wrong(fmt::format("{} of the whole fabric", to_string(each.cause)));
  }

  const files::DiagnosisDocument& said_;
  std::vector<FaultTruth> truths_;
  LabScore score_;
};

}  // namespace

LabScore score_sweep(const LabCase& one, const files::DiagnosisDocument& said) {
  return Scoring(one, said).take();
}

std::vector<std::string> words_of(const files::DiagnosisDocument& said) {
  std::vector<std::string> words{fmt::format("verdict {}", to_string(said.verdict))};
  const auto estimate = [](const std::optional<Estimate>& value) {
    return value ? fmt::format(" {:.4g}", value->value) : "";
  };
  for (const files::LinkReport& each : said.links)
    words.push_back(fmt::format("{}{} {} {}{} ({:.3f})", each.link, each.from ? " from " + *each.from : "",
                                to_string(each.verdict), to_string(each.cause), estimate(each.estimate),
                                each.confidence));
  for (const files::HostReport& each : said.hosts)
    words.push_back(fmt::format("{}{} {} {}{}: {}", each.host, each.from ? " from " + *each.from : "",
                                to_string(each.verdict), each.cause ? to_string(*each.cause) : "-",
                                estimate(each.estimate), fmt::join(each.evidence, "; ")));
  for (const files::GroupReport& each : said.groups)
    words.push_back(fmt::format("group {} {} {} of {}", fmt::join(each.nodes, "+"), to_string(each.verdict),
                                to_string(each.cause), fmt::join(each.channels, " ")));
  for (const files::SetReport& set : said.sets) {
    std::vector<std::string> all;
    for (const auto& each : set.alternatives) all.push_back(fmt::format("{}", fmt::join(each, " + ")));
    words.push_back(fmt::format("one of: {} ({} {}, {:.3f})", fmt::join(all, " | "), to_string(set.verdict),
                                to_string(set.cause), set.confidence));
  }
  for (const auto& channels : said.ambiguous)
    words.push_back(fmt::format("not told apart: {}", fmt::join(channels, " ")));
  for (const FabricFinding& each : said.fabric_wide)
    words.push_back(fmt::format("{} of the whole fabric", to_string(each.cause)));
  const auto list = [&](const char* what, const std::vector<std::string>& channels) {
    if (!channels.empty()) words.push_back(fmt::format("{}: {}", what, fmt::join(channels, " ")));
  };
  list("not crossed", said.coverage.missing);
  list("thin", said.coverage.thin);
  list("not loaded", said.coverage.unloaded);
  list("rate untested", said.coverage.rate_untested);
  if (said.coverage.cut_short) words.push_back("cut short: " + *said.coverage.cut_short);
  return words;
}

}  // namespace weft::bench
