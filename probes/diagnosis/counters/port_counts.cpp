#include "probes/diagnosis/counters/port_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "probes/diagnosis/counts/count_problem.hpp"
#include "probes/diagnosis/counts/tally.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kAsked = 0.1;         // from here on further probes are asked for, as for losses
constexpr double kNatsToMove = 12.0;   // what they are to tell
constexpr double kMaxAsked = 1e6;      // packets: a second round sends no more over one channel
constexpr std::size_t kMaxNotes = 20;  // of channels without a finding
constexpr std::size_t kMaxTexts = 8;   // of one channel

using ByChannel = std::map<ChannelId, std::vector<ChannelCount>>;

/// Of the channels whose ports counted errors.
ByChannel counts_with_errors(const Fabric& fabric, const Observations& observations) {
  ByChannel all;
  for (const ChannelCount& count : observations.counts)
    if (count.errors > 0 && count.channel.value() < fabric.channel_count() && layer_of(count.kind))
      all.try_emplace(count.channel);
  for (const ChannelCount& count : observations.counts)
    if (const auto at = all.find(count.channel); at != all.end() && layer_of(count.kind))
      at->second.push_back(count);
  return all;
}

/// What probes met on each of those channels. A lossy row counts once: a burst of a host would else say much.
class Probed {
 public:
  Probed(const Observations& observations, const Report& report, const ByChannel& wanted) {
    for (const auto& [channel, counts] : wanted) at_.try_emplace(channel);
    for (const Found& found : report.found()) {
      if (found.probability < kSuspected) continue;
      blamed_.insert(found.channels.begin(), found.channels.end());
      for (const auto& alternative : found.alternatives)
        blamed_.insert(alternative.begin(), alternative.end());
    }
    for (const Observation& probe : observations.probes) add(observations.paths, probe);
  }

  ProbedChannel of(ChannelId channel) const {
    const ProbedChannel& here = at_.at(channel);
    const double beside = std::max(lossy_ - here.lossy_rows, 0.0) + 0.5;
    return {here.passed, here.lossy_rows, beside / std::max(passed_ - here.passed, 1.0)};
  }

 private:
  void add(const PathTable& table, const Observation& probe) {
    const Counts counts = counts_of(probe, Counted::loss);
    if (counts.n == 0) return;
    const auto passed = static_cast<double>(counts.n - counts.k);
    std::map<ChannelId, double> shares;
    bool is_blamed = false;
    for (const std::optional<PathSetId>& set : {std::optional(probe.path), probe.back}) {
      if (!set) continue;
      const auto paths = table.paths(*set);
      for (const PathId path : paths)
        for (const ChannelId channel : table.channels(path)) {
          is_blamed = is_blamed || blamed_.contains(channel);
          if (at_.contains(channel)) shares[channel] += 1.0 / static_cast<double>(paths.size());
        }
    }
    const double lossy = counts.k > 0 && !is_blamed ? 1.0 : 0.0;
    passed_ += passed;
    lossy_ += lossy;
    for (const auto& [channel, share] : shares) {
      at_[channel].passed += share * passed;
      at_[channel].lossy_rows += share * lossy;
    }
  }

  std::map<ChannelId, ProbedChannel> at_;
  std::set<ChannelId> blamed_;
  double passed_ = 0, lossy_ = 0;
};

const char* name_of(CounterKind kind) {
  switch (kind) {
    case CounterKind::codewords:
      return "codewords failed";
    case CounterKind::frames:
      return "frames had a bad FCS";
    case CounterKind::symbols:
      return "symbols were wrong";
    case CounterKind::packets:
      return "packets came with errors";
    case CounterKind::discards:
      return "packets were dropped";
  }
  return "";
}

std::string text_of(const ChannelCount& count) {
  auto text = fmt::format("{}: {} of {:.3g} {}", count.source, grouped(count.errors), count.exposure,
                          name_of(count.kind));
  const auto seconds = std::chrono::duration<double>(count.end - count.begin).count();
  if (seconds > 0) text += fmt::format(" in {:.0f} s", seconds);
  if (count.age > Nanoseconds(0))
    text += fmt::format(", {:.0f} s ago", std::chrono::duration<double>(count.age).count());
  if (count.link_event) text += "; its link trained in that time";
  if (const char* why = why_unusable(count)) text += fmt::format("; not used: {}", why);
  return text;
}

/// A line for each source and counter, all its windows together; those with errors first, and by themselves
/// those that are not used.
std::vector<std::string> texts_of(const std::vector<ChannelCount>& counted) {
  struct Counter {
    ChannelCount sum;
    std::size_t windows = 0, with_errors = 0;
  };
  std::map<std::tuple<std::string, CounterKind, const char*>, Counter> by_counter;
  for (const ChannelCount& count : counted) {
    auto& [sum, windows, with_errors] = by_counter[{count.source, count.kind, why_unusable(count)}];
    if (windows++ == 0)
      sum = count;
    else
      sum.errors += count.errors, sum.exposure += count.exposure, sum.age = std::min(sum.age, count.age);
    sum.begin = std::min(sum.begin, count.begin);
    sum.end = std::max(sum.end, count.end);
    sum.link_event = sum.link_event || count.link_event;
    with_errors += count.errors > 0;
  }
  std::vector<const Counter*> order;
  for (const auto& [key, told] : by_counter) order.push_back(&told);
  std::ranges::stable_sort(order, std::greater(), [](const Counter* told) { return told->with_errors > 0; });
  std::vector<std::string> texts;
  for (const Counter* told : order) {
    if (texts.size() == kMaxTexts) break;
    texts.push_back(text_of(told->sum));
    if (told->windows > 1 && told->with_errors > 0)
      texts.back() += fmt::format(", in {} of {} windows", told->with_errors, told->windows);
  }
  return texts;
}

std::vector<std::string> texts_of(const std::vector<ChannelCount>& counted, const ChannelJudged& judged,
                                  const ProbedChannel& probed) {
  auto texts = texts_of(counted);
  texts.push_back(fmt::format("the counters say a loss of {:.1e}", judged.counted_loss));
  if (judged.excluded)
    texts.push_back(fmt::format("of {} probes over it {}: it counts what is no loss",
                                grouped(static_cast<std::uint64_t>(probed.passed + probed.lossy_rows)),
                                probed.lossy_rows > 0 ? "far fewer were lost" : "none was lost"));
  if (judged.excluded_by_zero) texts.push_back("its other counter counted none");
  if (judged.contradicted) texts.push_back("its sources contradict each other: one of them is wrong");
  if (judged.one_exporter)
    texts.push_back(
        "both counters are told by one exporter: if it is false, both are; it alone names nothing");
  else if (judged.alone && !judged.excluded && !judged.excluded_by_zero)
    texts.push_back("no other counter and no probe says the same: one counter alone names nothing");
  return texts;
}

}  // namespace

std::vector<double> counted_nats(const Fabric& fabric, const Observations& observations) {
  const ByChannel counted = counts_with_errors(fabric, observations);
  if (counted.empty()) return {};
  std::vector<double> nats(fabric.channel_count(), 0.0);
  for (const auto& [channel, its] : counted) nats[channel.value()] = nats_for_loss(its);
  return nats;
}

std::vector<JudgedCounts> report_port_counts(const Fabric& fabric, const Observations& observations,
                                             Report& report) {
  const ByChannel counted = counts_with_errors(fabric, observations);
  std::vector<JudgedCounts> all;
  if (counted.empty()) return all;
  const Probed probed(observations, report, counted);
  for (const auto& [channel, its] : counted) {
    const ProbedChannel over = probed.of(channel);
    const auto judged = judge_channel(its, over);
    all.push_back({channel, judged.value_or(ChannelJudged{}), {}});
    JudgedCounts& one = all.back();
    one.texts = judged ? texts_of(its, *judged, over) : texts_of(its);
    if (!judged || report.explains(channel)) continue;
    // One counter that nothing else supports is a remark, however evenly it counts.
    if (judged->probability >= kSuspected && !judged->alone) {
      Found found{
          .channels = {channel}, .cause = Cause::counter, .probability = judged->probability, .evidence = {}};
      found.evidence.push_back(fmt::format("it loses {:.1e} of its frames ({:.1e} to {:.1e})", judged->loss,
                                           judged->low, judged->high));
      report.add(std::move(found));
    }
    const double packets = kNatsToMove / std::max(judged->counted_loss, 1e-12);
    if (judged->probability >= kAsked && judged->probability < kSure && packets <= kMaxAsked)
      report.add(Hypothesis{.channels = {channel},
                            .cause = Cause::loss,
                            .probability = judged->probability,
                            .packets = static_cast<std::uint64_t>(packets) + 1});
  }
  return all;
}

void note_port_counts(const std::vector<JudgedCounts>& judged, Diagnosis& diagnosis) {
  for (const JudgedCounts& counts : judged) {
    bool is_told = false;
    const auto add = [&](std::vector<std::string>& evidence) {
      is_told = true;
      for (const std::string& text : counts.texts)
        if (std::ranges::find(evidence, text) == evidence.end()) evidence.push_back(text);
    };
    const auto is_of = [&](const auto& link, const auto& channel) {
      return link == Fabric::link_of(counts.channel) && channel.value_or(counts.channel) == counts.channel;
    };
    for (LinkFinding& finding : diagnosis.links)
      if (is_of(finding.link, finding.channel)) add(finding.evidence);
    for (HostFinding& finding : diagnosis.hosts)
      if (finding.link && is_of(*finding.link, finding.channel)) add(finding.evidence);
    if (!is_told) diagnosis.counters.push_back({counts.channel, counts.judged.probability, counts.texts});
  }
  std::ranges::stable_sort(diagnosis.counters, std::greater(), &CounterNote::probability);
  if (diagnosis.counters.size() > kMaxNotes) diagnosis.counters.resize(kMaxNotes);
}

}  // namespace weft::diagnosis
