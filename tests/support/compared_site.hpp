// A small fabric whose runs are compared, with one cause put in: what `weft compare run` would have measured
// and named.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/compare/built_fabric.hpp"
#include "collectors/compare/layers.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft {

/// Six hosts under three leaves, two spines, in rounds of a rotation; one cause may be put in.
class ComparedSite {
 public:
  std::string slow;  // this channel carries `left` of its rate, or loses the rest
  Cause cause = Cause::rate;
  double left = 1;
  std::string held;            // the flows of this host are held back to `left`
  std::uint32_t collides = 0;  // in so many rounds all flows of a leaf go by its first spine
  double noise = 0.01;         // of each flow and round trip
  double of_run = 0;           // of all flows, and of all round trips, of a run together
  double delay = 0;            // seconds that a further hop takes more
  double of_hosts = 0;         // seconds that hosts take more
  double of_channel = 0;       // seconds that `slow` takes more
  std::string queued;          // packets wait on this channel under load, `queue` seconds more
  double queue = 0;
  std::string paused;  // the cable of this host stands `stands` of the load
  double stands = 0;
  bool stops_its_switch = false;  // then the switch stands that sends to it; else the host
  double rate = 50e6;             // of all cables
  std::uint32_t spines = 2;       // one: half of the uplinks
  double uplink = 1;              // the rate of a cable between switches, as a share of `rate`
  bool is_known = true;           // by its fabric file
  const char* load = "full";      // or light

  compare::MeasuredRun run(SplitMix64& random) const {
    compare::MeasuredRun made{.name = "run",
                              .pattern = "all-pairs",
                              .load = load,
                              .channels = {},
                              .flows = {},
                              .trips = {},
                              .culprits = {},
                              .line_rate = rate,
                              .built = is_known ? built() : nullptr};
    std::normal_distribution<double> standard(0, 1);
    const double flows = of_run * standard(random), trips = of_run * standard(random);
    for (std::uint32_t round = 1; round < 6; ++round)
      for (std::uint32_t src = 0; src < 6; ++src) add_flow(made, round, src, (src + round) % 6);
    ask(made);
    limit(made);
    stop(made);
    for (compare::MeasuredFlow& flow : made.flows)
      flow.delivered *= std::exp(flows + noise * standard(random));
    for (std::uint32_t src = 0; src < 6; ++src)
      for (std::uint32_t dst = 0; dst < 6; ++dst)
        if (src != dst) add_trip(made, src, dst, std::exp(trips + noise * standard(random)));
    add_all_loaded(made, random);
    name_causes(made, std::exp(noise * standard(random)));
    return made;
  }

  /// As the fabric file has it.
  std::shared_ptr<const compare::BuiltFabric> built() const {
    FabricBuilder builder("site", FabricKind::roce);
    const auto add = [&](std::string name, NodeKind kind, Tier tier) {
      return *builder.add_node({.name = std::move(name), .kind = kind, .tier = tier});
    };
    std::vector<NodeId> above;
    for (std::uint32_t i = 0; i < spines; ++i)
      above.push_back(add(fmt::format("spine{}", i), NodeKind::switch_, Tier::spine));
    for (std::uint32_t leaf = 0; leaf < 3; ++leaf) {
      const NodeId node = add(fmt::format("leaf{}", leaf), NodeKind::switch_, Tier::leaf);
      for (const NodeId spine : above) builder.connect(node, spine, Bandwidth::bit(rate * uplink));
      for (std::uint32_t host = 2 * leaf; host < 2 * leaf + 2; ++host)
        builder.connect(add(fmt::format("host{}", host), NodeKind::host, Tier::host), node,
                        Bandwidth::bit(rate));
    }
    return std::make_shared<compare::BuiltFabric>(compare::built_fabric(std::move(builder).build()));
  }

 private:
  static constexpr std::uint32_t kAllRounds = 1000;
  static std::uint32_t number(compare::MeasuredRun& run, const std::string& channel) {
    const auto at = std::ranges::find(run.channels, channel);
    if (at != run.channels.end()) return static_cast<std::uint32_t>(at - run.channels.begin());
    run.channels.push_back(channel);
    return static_cast<std::uint32_t>(run.channels.size() - 1);
  }
  compare::ChannelPath path(compare::MeasuredRun& run, std::uint32_t src, std::uint32_t dst,
                            std::uint32_t round = kAllRounds) const {
    const std::uint32_t from = src / 2, to = dst / 2;
    compare::ChannelPath found{number(run, fmt::format("host{}->leaf{}", src, from))};
    if (from != to) {
      const std::uint32_t spine = round <= collides ? 0 : src % spines;
      found.push_back(number(run, fmt::format("leaf{}->spine{}", from, spine)));
      found.push_back(number(run, fmt::format("spine{}->leaf{}", spine, to)));
    }
    found.push_back(number(run, fmt::format("leaf{}->host{}", to, dst)));
    return found;
  }
  void add_flow(compare::MeasuredRun& run, std::uint32_t round, std::uint32_t src, std::uint32_t dst) const {
    compare::MeasuredFlow flow{.round = round,
                               .src = fmt::format("host{}", src),
                               .dst = fmt::format("host{}", dst),
                               .path = path(run, src, dst, round),
                               .wanted = 0,
                               .delivered = 0};
    run.flows.push_back(std::move(flow));
  }
  std::size_t crossing(const compare::MeasuredRun& run, std::uint32_t round, std::uint32_t channel) const {
    return static_cast<std::size_t>(std::ranges::count_if(run.flows, [&](const compare::MeasuredFlow& flow) {
      return flow.round == round && std::ranges::count(flow.path, channel) > 0;
    }));
  }
  double carries(const compare::MeasuredRun& run, std::uint32_t channel) const {
    return rate * (run.channels[channel].find("host") == std::string::npos ? uplink : 1);
  }
  /// As a sweep plans it: a share of the flow's right, the least that a channel of its path has for each.
  void ask(compare::MeasuredRun& run) const {
    const double share = load == std::string_view("light") ? 0.25 : 0.95;
    for (compare::MeasuredFlow& flow : run.flows) {
      double right = rate;
      for (const std::uint32_t channel : flow.path)
        right =
            std::min(right, carries(run, channel) / static_cast<double>(crossing(run, flow.round, channel)));
      flow.wanted = flow.delivered = share * right;
      flow.offered = flow.wanted;  // who is planned little puts little on the wire
      if (flow.src == held) flow.delivered *= left, flow.offered = flow.delivered, flow.sender_stalled = true;
    }
  }
  /// Who shares a channel gets a part of what it carries.
  void limit(compare::MeasuredRun& run) const {
    const auto offered = compare::delivered_of(run);
    for (std::size_t i = 0; i < run.flows.size(); ++i)
      for (const std::uint32_t channel : run.flows[i].path) {
        double sum = 0;
        for (std::size_t k = 0; k < run.flows.size(); ++k)
          if (run.flows[k].round == run.flows[i].round && std::ranges::count(run.flows[k].path, channel) > 0)
            sum += offered[k];
        const bool is_slow = run.channels[channel] == slow && of_channel == 0;
        const double most = carries(run, channel) * (is_slow && cause != Cause::loss ? left : 1);
        run.flows[i].delivered = std::min(run.flows[i].delivered, offered[i] * most / sum);
        if (is_slow && cause == Cause::loss) run.flows[i].delivered *= left;
      }
  }
  /// Flows get what the cable carries while it does not stand; a sender that is stopped puts no more on it.
  void stop(compare::MeasuredRun& run) const {
    run.timed_nics = 6;
    if (paused.empty()) return;
    (stops_its_switch ? run.paused[paused].receiving : run.paused[paused].sending) = stands;
    for (compare::MeasuredFlow& flow : run.flows) {
      if ((stops_its_switch ? flow.dst : flow.src) != paused) continue;
      flow.delivered = std::min(flow.delivered, (1 - stands) * rate);
      if (!stops_its_switch) flow.offered = flow.delivered, flow.sender_stalled = true;
    }
  }
  void add_trip(compare::MeasuredRun& run, std::uint32_t src, std::uint32_t dst, double factor) const {
    compare::RoundTrip trip{.path = path(run, src, dst), .size = Bytes(128), .packets = 1000};
    trip.hops = trip.path.size();
    trip.p50 = (10e-6 + of_hosts + (static_cast<double>(trip.hops) - 2) * (1e-6 + delay)) * factor;
    for (const std::uint32_t channel : trip.path) trip.p50 += run.channels[channel] == slow ? of_channel : 0;
    trip.p99 = 2 * trip.p50;
    run.trips.push_back(std::move(trip));
  }
  /// With random numbers of their own: the rest is as it is without them.
  void add_all_loaded(compare::MeasuredRun& run, SplitMix64 random) const {
    SplitMix64 own(mix_bits(random()));
    std::normal_distribution<double> standard(0, 1);
    const double of_all = of_run * standard(own);
    for (std::uint32_t src = 0; src < 6; ++src)
      for (std::uint32_t dst = 0; dst < 6; ++dst)
        if (src != dst) add_loaded(run, src, dst, of_all + noise * standard(own));
  }
  /// Half a microsecond of queues a channel, beyond what the idle trip of that pair takes.
  void add_loaded(compare::MeasuredRun& run, std::uint32_t src, std::uint32_t dst, double noise_of) const {
    const auto way = path(run, src, dst);
    const auto idle = std::ranges::find(run.trips, way, &compare::RoundTrip::path);
    compare::LoadedRoundTrip trip{.idle = *idle, .p50 = idle->p50};
    for (const std::uint32_t channel : way)
      trip.p50 += 0.5e-6 + (run.channels[channel] == queued ? queue : 0);
    trip.p50 *= std::exp(noise_of);
    run.loaded.push_back(std::move(trip));
  }
  void name_causes(compare::MeasuredRun& run, double scatter) const {
    if (!queued.empty()) run.queues.push_back({queued, queue});
    if (slow.empty()) return;
    compare::Culprit culprit{.place = slow, .cause = cause, .channels = {number(run, slow)}};
    if (of_channel > 0) culprit.cause = Cause::delay;
    culprit.value = scatter * (of_channel > 0 ? of_channel : cause == Cause::loss ? 1 - left : left);
    run.culprits.push_back(std::move(culprit));
  }
};

struct ComparedSites {
  std::vector<compare::MeasuredRun> a, b;
  std::vector<compare::Reasons> reasons;

  /// Of the cell whose work ends with this word, or is these words; the first of them.
  const compare::Reasons* find(std::string_view word) const {
    for (const compare::Reasons& reason : reasons)
      if (reason.cell.work.back() == word || fmt::format("{}", fmt::join(reason.cell.work, ", ")) == word)
        return &reason;
    return nullptr;
  }
};

/// Two runs a side and block. `of_run`: the noise that all of one run shares.
inline ComparedSites compare_sites(ComparedSite site_a, ComparedSite site_b, SplitMix64& random,
                                   double of_run = 0, int blocks = 6) {
  site_a.of_run = site_b.of_run = of_run;
  ComparedSites made;
  std::vector<compare::Run> a, b;
  for (int i = 0; i < 2 * blocks; ++i) {
    made.a.push_back(site_a.run(random)), made.b.push_back(site_b.run(random));
    a.push_back(run_of(made.a.back())), b.push_back(run_of(made.b.back()));
  }
  const auto comparison = compare::compare(a, b, {.design = compare::Design::blocks});
  made.reasons = compare::reasons_of(made.a, made.b, *comparison);
  return made;
}

struct OneCause {
  ComparedSite site;
  const char* cell;  // that it is looked for in, where it is worth about 10 %
  compare::Layer layer;
};

/// A tenth: of 24 flows over a spine a channel between leaf and spine carries four, and so many are of one
/// host; a round trip over a spine takes 12 us, and 14 us under load.
inline std::vector<OneCause> one_cause_each() {
  using compare::Layer;
  return {{{.slow = "leaf0->spine1", .left = 0.4}, "flow over 4 hops", Layer::cables},
          {{.slow = "leaf0->spine1", .cause = Cause::congestion, .left = 0.4},
           "flow over 4 hops",
           Layer::traffic},
          {{.slow = "leaf0->spine1", .cause = Cause::loss, .left = 0.4}, "flow over 4 hops", Layer::losses},
          {{.left = 0.4, .held = "host3"}, "flow over 4 hops", Layer::hosts},
          {{.collides = 2}, "flow over 4 hops", Layer::collisions},
          {{.uplink = 0.9}, "flow over 4 hops", Layer::oversubscription},
          {{.paused = "host3", .stands = 0.6}, "flow over 4 hops", Layer::pauses},
          {{.of_hosts = 1.2e-6}, "4 hops", Layer::hosts},
          {{.delay = 0.6e-6}, "4 hops", Layer::hops},
          {{.queued = "leaf0->spine1", .queue = 8.4e-6}, "round trip under load, 4 hops", Layer::queueing}};
}

}  // namespace weft
