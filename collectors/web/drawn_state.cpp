#include "collectors/web/drawn_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "collectors/report/comparison_reasons.hpp"
#include "collectors/web/state_json.hpp"
#include "topology/files/json_text.hpp"

namespace weft::web {
namespace {

using files::JsonText;
using files::put;

constexpr std::size_t kMaxTold = 500;  // loads in words: of an undersized fabric thousands are drawn alone

/// As the page ranks them (ui/signs.js).
char worse(char a, char b) {
  constexpr std::string_view kRanked = "hnucdf";
  return kRanked.find(a) >= kRanked.find(b) ? a : b;
}

/// What a document holds against channels, as the drawing takes it: a letter a channel, and findings. What a
/// document does not vouch for is not healthy in it: no run covered it, or nobody knows.
class State {
 public:
  explicit State(const Fabric& fabric) : fabric_(&fabric), letters_(fabric.channel_count(), 'n') {}

  void take(const files::DiagnosisDocument& document) {
    take(document.coverage);
    for (const files::LinkReport& link : document.links)
      add(link.link, to_string(link.cause), link.verdict, of_link(link.link, link.from), link.evidence);
    for (const files::HostReport& host : document.hosts)
      add(host.nic.value_or(host.host), host.cause ? to_string(*host.cause) : "", host.verdict,
          host.ends ? of_link(host.ends->name, host.from) : std::vector<ChannelId>(), host.evidence);
    for (const files::SetReport& set : document.sets)
      add("one of several", to_string(set.cause), set.verdict, named(files::channels_of(set)), {}, true);
    for (const files::GroupReport& group : document.groups)
      add(fmt::format("{}", fmt::join(group.nodes, ", ")), to_string(group.cause), group.verdict,
          named(group.channels), group.evidence);
  }

  void take(const report::CarriedLoads& loads) {
    constexpr double kRounding = 1.001;
    for (const auto& [channel, load] : loads.by_channel) {
      const auto at = fabric_->find_channel(channel);
      if (!at) continue;
      letters_[at->value()] = 'h';
      if (load > kRounding)
        add(channel, "load", Verdict::congested, {*at},
            {fmt::format("{:.3f} times {}", load, loads.yardstick)});
    }
    words_ = {{'h', "carries no more than " + loads.yardstick},
              {'c', "carries more than " + loads.yardstick},
              {'n', "carries nothing"}};
  }

  /// Of one side of a comparison: what its packets crossed, and what slows it.
  void take(const compare::MeasuredFabric& measured, const std::vector<compare::NamedPlace>& places,
            std::size_t runs) {
    for (const ChannelId channel : named(measured.crossed)) letters_[channel.value()] = 'h';
    mark(named(measured.unknown), Verdict::unknown);
    for (const compare::NamedPlace& place : places)
      add(place.place, to_string(place.cause), verdict_of(place.cause, place.value.value_or(0)),
          placed(place.place, place.channels), {report::place_text(place, runs)}, place.is_one_of);
    for (const compare::QueuedPlace& queue : measured.queues)
      add(queue.place, "queueing", Verdict::congested, placed(queue.place, queue.channels),
          {report::cell_value(compare::Metric::time, queue.wait) + " in queues, the median over the runs"},
          queue.channels.size() > 1);
    std::size_t told = 0;
    for (const auto& [channel, load] : measured.loads) {
      const auto channels = placed(channel, {channel});
      if (told++ < kMaxTold)
        add(channel, "load", Verdict::congested, channels,
            {fmt::format("{:.2f} times what it carries, the mean over the rounds", load)});
      else
        mark(channels, Verdict::congested);
    }
  }

  std::size_t elsewhere() const { return elsewhere_; }

  std::string json() && {
    JsonText out;
    put(out, "{{\"channels\":\"{}\",\"incidents\":", letters_);
    files::put_array(out, findings_, [&](const Finding& finding) {
      out.append(std::string_view("{\"place\":"));
      files::put_string(out, finding.place);
      put(out, ",\"cause\":\"{}\",\"verdict\":\"{}\",\"state\":\"{}\",\"channels\":", finding.cause,
          to_string(finding.verdict), finding.is_open ? "suspected" : "open");
      files::put_array(out, finding.channels, [&](ChannelId channel) { put(out, "{}", channel.value()); });
      out.append(std::string_view(",\"evidence\":"));
      files::put_array(out, finding.evidence, [&](const std::string& line) { files::put_string(out, line); });
      out.push_back('}');
    });
    if (!words_.empty()) {
      put(out, ",\"words\":{{");
      for (const auto& [letter, words] : words_)
        put(out, "{}\"{}\":\"{}\"", letter == words_.front().first ? "" : ",", letter, words);
      out.push_back('}');
    }
    out.push_back('}');
    return fmt::to_string(out);
  }

 private:
  /// By the coverage alone; what is found comes after it.
  void take(const files::CoverageReport& coverage) {
    const auto put = [&](const std::vector<std::string>& channels, char letter) {
      for (const std::string& channel : channels)
        if (const auto at = fabric_->find_channel(channel)) letters_[at->value()] = letter;
    };
    if (!coverage.in_scope.empty())
      put(coverage.in_scope, 'h');
    else  // a document that does not tell which of the fabric's channels it is of vouches for none
      std::ranges::fill(
          letters_, coverage.out_of_scope > 0 || coverage.channels < fabric_->channel_count() ? 'u' : 'h');
    put(coverage.thin, 'u');
    put(coverage.masked, 'u');
    put(coverage.missing, 'n');
  }

  struct Finding {
    std::string place;
    std::string_view cause;
    Verdict verdict = Verdict::unknown;
    std::vector<ChannelId> channels;
    std::vector<std::string> evidence;
    bool is_open = false;  // one of several is at fault
  };

  std::vector<ChannelId> of_link(std::string_view name, const std::optional<std::string>& from) const {
    const auto link = fabric_->find_link(name);
    if (!link) return {};
    std::vector<ChannelId> channels;
    for (const ChannelId channel : {ChannelId(2 * link->value()), ChannelId(2 * link->value() + 1)})
      if (!from || fabric_->node(fabric_->source_node(channel)).name == *from) channels.push_back(channel);
    return channels;
  }
  std::vector<ChannelId> named(const std::vector<std::string>& names) const {
    std::vector<ChannelId> channels;
    for (const std::string& name : names)
      if (const auto at = fabric_->find_channel(name)) channels.push_back(*at);
    return channels;
  }
  /// In a fabric of other cabling, or of a place without channels: both directions of the cable of that name,
  /// of the cable of that NIC, or of all cables of that host.
  std::vector<ChannelId> placed(std::string_view place, const std::vector<std::string>& names) {
    auto channels = named(names);
    if (channels.empty()) channels = of_link(place, std::nullopt);
    if (channels.empty()) channels = at_host(place);
    elsewhere_ += channels.empty() || channels.size() < names.size();
    return channels;
  }
  std::vector<ChannelId> at_host(std::string_view name) const {
    if (const auto node = fabric_->find_node(name)) return fabric_->channels_at(*node);
    const auto nic = fabric_->find_nic(name);
    if (!nic || !fabric_->port(*nic).link) return {};
    const LinkId link = *fabric_->port(*nic).link;
    return {Fabric::a_to_b(link), Fabric::b_to_a(link)};
  }
  void add(std::string place, std::string_view cause, Verdict verdict, std::vector<ChannelId> channels,
           std::vector<std::string> evidence, bool is_open = false) {
    if (!is_open) mark(channels, verdict);
    findings_.push_back(
        {std::move(place), cause, verdict, std::move(channels), std::move(evidence), is_open});
  }

  void mark(const std::vector<ChannelId>& channels, Verdict verdict) {
    for (const ChannelId channel : channels) {
      char& letter = letters_[channel.value()];
      letter = worse(letter, letter_of(verdict));
    }
  }

  const Fabric* fabric_;
  std::string letters_;
  std::vector<Finding> findings_;
  std::vector<std::pair<char, std::string>> words_;  // of letters, where they do not tell of health
  std::size_t elsewhere_ = 0;
};

}  // namespace

std::string diagnosis_state(const Fabric& fabric, const files::DiagnosisDocument& document) {
  State state(fabric);
  state.take(document);
  return std::move(state).json();
}

std::string carried_state(const Fabric& fabric, const report::CarriedLoads& loads) {
  State state(fabric);
  state.take(loads);
  return std::move(state).json();
}

ComparedState compared_state(const Fabric& fabric, const compare::MeasuredFabric& measured,
                             const std::vector<compare::NamedPlace>& named, std::size_t runs) {
  State state(fabric);
  state.take(measured, named, runs);
  const std::size_t elsewhere = state.elsewhere();
  return {std::move(state).json(), elsewhere};
}

}  // namespace weft::web
