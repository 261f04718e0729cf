#include "tests/bench/mapping/full_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "probes/engine/sim/sim_fabric.hpp"
#include "tests/bench/support/random_paths.hpp"
#include "tests/support/fabric_map.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t kPeers = 64;
constexpr double kAnswersPerSecond = 100;  // of a switch
constexpr double kProbesPerSecond = 1000;  // of a NIC
constexpr double kLost = 0.05;
constexpr double kAnswerWait = 0.2;  // seconds at the end of a round
constexpr int kSamples = 20'000;     // random pairs and labels

double peak_gb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1e6;
  return 0;
}

/// A fabric, what its switches do, and a map of it.
class World {
 public:
  World(const Fabric& fabric, routing::HashOptions hash)
      : fabric_(fabric),
        addresses_(*plan_addresses(fabric, IpFamily::v4)),
        sim_(sim::SimFabric::make(fabric, addresses_.book, {.seed = 1, .hash = hash})),
        map_(fabric, addresses_.book, peers(), plan::kHashConfidence, 5) {}

  /// All rounds; seconds that they take by the clock of the fabric, and of CPU for the map alone.
  struct Took {
    double seconds = 0;
    double cpu_s = 0;
    std::size_t rounds = 0;
  };
  Took learn() {
    Took took;
    for (;;) {
      std::vector<plan::FabricMap::Asking> askings;
      took.cpu_s += cpu_milliseconds([&] { askings = map_.next_round(); }) / 1e3;
      if (askings.empty()) return took;
      ++took.rounds;
      std::vector<std::vector<datapath::HopAnswer>> answers;
      took.seconds += answer(askings, answers);
      took.cpu_s += cpu_milliseconds([&] {
                      for (std::size_t i = 0; i < askings.size(); ++i) map_.take(askings[i], answers[i]);
                    }) /
                    1e3;
    }
  }

  /// Shares of random pairs and labels told as they go, told at all, and told otherwise.
  struct Right {
    double right = 0;
    double told = 0;
    double wrong = 0;
  };
  Right right() {
    Right share;
    const auto nics = fabric_.nics();
    for (int i = 0; i < kSamples; ++i) {
      const plan::NicPair pair{nics[random_() % nics.size()], nics[random_() % nics.size()]};
      if (pair.src == pair.dst) continue;
      const PathLabel label(plan::kFirstRoceLabel +
                            static_cast<std::uint32_t>(random_() % plan::kRoceLabels));
      const auto way = map_.hashes().walk(pair, label, true);
      if (!way.arrives) continue;
      share.told += 1.0 / kSamples;
      (way.channels == truth(pair, label) ? share.right : share.wrong) += 1.0 / kSamples;
    }
    return share;
  }
  /// Of the channels that the ways of all labels may take, those that were seen taken.
  double covered() {
    std::set<ChannelId> members;
    for (const auto& group : map_.hashes().groups())
      members.insert(group.next_hops.begin(), group.next_hops.end());
    std::size_t seen = 0;
    for (const ChannelId channel : members) seen += crossed_.contains(channel) ? 1 : 0;
    return static_cast<double>(seen) / static_cast<double>(members.size());
  }
  plan::FabricMap& map() { return map_; }
  /// A switch that hashes as no other: its chip was replaced.
  void replace(NodeId spine) { replaced_ = spine; }

 private:
  std::vector<std::vector<PortId>> peers() {
    const auto nics = fabric_.nics();
    std::vector<std::vector<PortId>> peers(nics.size());
    for (std::size_t i = 0; i < nics.size(); ++i)
      while (peers[i].size() < kPeers)
        if (const PortId peer = nics[random_() % nics.size()]; peer != nics[i]) peers[i].push_back(peer);
    return peers;
  }
  std::vector<ChannelId> truth(const plan::NicPair& pair, PathLabel label) {
    std::vector<ChannelId> path;
    sim_->world().path_of(pair.src, pair.dst, label, path);
    if (!replaced_) return path;
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
      if (fabric_.target_node(path[i]) == *replaced_) return rerouted(pair, label, std::move(path), i);
    return path;
  }
  std::vector<ChannelId> rerouted(const plan::NicPair& pair, PathLabel label, std::vector<ChannelId> path,
                                  std::size_t at) {
    static const routing::SwitchHash kNew({routing::HashFamily::crc32}, 977, false);
    const NodeId goal = routing::edge_switch(fabric_, pair.dst);
    const auto flow = routing::FlowBits::of(*addresses_.book.address_of(pair.src),
                                            *addresses_.book.address_of(pair.dst), label);
    path.resize(at + 1);
    while (fabric_.target_node(path.back()) != goal) {
      const auto next = ways_.to(goal).next(fabric_.target_node(path.back()));
      const auto count = static_cast<std::uint32_t>(next.size());
      path.push_back(next[count > 1 ? kNew.choose(flow, count) : 0]);
    }
    path.push_back(*fabric_.channel_into(pair.dst));
    return path;
  }
  double answer(const std::vector<plan::FabricMap::Asking>& askings,
                std::vector<std::vector<datapath::HopAnswer>>& answers) {
    std::map<NodeId, double> of_switch;
    std::map<PortId, double> of_nic;
    std::uniform_real_distribution<double> chance(0, 1);
    for (const auto& asking : askings) {
      const auto path = truth(asking.pair, asking.label);
      auto& told = answers.emplace_back();
      for (std::size_t hop = asking.hops.first; hop <= std::min<std::size_t>(asking.hops.last, path.size());
           ++hop) {
        const PortId port = fabric_.target(path[hop - 1]);
        of_switch[fabric_.port(port).node] += 1;
        of_nic[asking.pair.src] += 1;
        if (chance(random_) < kLost) continue;
        told.push_back({.hop = static_cast<std::uint8_t>(hop),
                        .is_peer = hop == path.size(),
                        .from = *addresses_.book.address_of(port)});
      }
      if (!told.empty()) crossed_.insert(path.begin(), path.end());
    }
    double longest = 0;
    for (const auto& [node, count] : of_switch)
      if (!fabric_.is_host(node)) longest = std::max(longest, count / kAnswersPerSecond);
    for (const auto& [nic, count] : of_nic) longest = std::max(longest, count / kProbesPerSecond);
    return longest + kAnswerWait;
  }

  const Fabric& fabric_;
  std::mt19937_64 random_{11};
  AddressPlan addresses_;
  std::shared_ptr<sim::SimFabric> sim_;
  plan::FabricMap map_;
  routing::ShortestPathCache ways_{fabric_};
  std::set<ChannelId> crossed_;
  std::optional<NodeId> replaced_;
};

}  // namespace

void measure_full_map(Figures& figures) {
  const Fabric fabric = rails_24576();
  const auto nics = static_cast<double>(fabric.nics().size());
  {
    World world(fabric, {routing::HashFamily::crc32});
    const auto took = world.learn();
    const double probes = static_cast<double>(world.map().asked());
    const auto right = world.right();
    fmt::print("  {} NICs, {} groups: {} rounds, told {:.5f}, wrong {:.5f}\n", nics,
               world.map().hashes().size(), took.rounds, right.told, right.wrong);
    figures.add("full_map_s", took.seconds, "at most 30");
    figures.add("full_map_right", right.right, "0.999");
    figures.add("full_map_probes_per_nic", probes / nics, "at most 15");
    figures.add("full_map_cpu_s", took.cpu_s, "at most 60");
    figures.add("full_map_gb", peak_gb(), "at most 4");
    const auto spine =
        std::ranges::find_if(fabric.nodes(), [](const Node& n) { return n.tier == Tier::spine; });
    world.replace(NodeId(static_cast<std::uint32_t>(spine - fabric.nodes().begin())));
    const auto stale = world.right();
    world.map().refresh();
    const auto again = world.learn();
    const auto renewed = world.right();
    fmt::print(
        "  one spine replaced: wrong {:.5f} before the refresh, {:.5f} after it; {} probes in {:.1f} s, "
        "{} groups learned anew\n",
        stale.wrong, renewed.wrong, world.map().asked(), again.seconds, world.map().hashes().changed());
    figures.add("refresh_share", static_cast<double>(world.map().asked()) / probes, "at most .05");
    figures.add("refresh_right", renewed.right, "0.999");
  }
  {
    World ingress(fabric, {.family = routing::HashFamily::crc32, .ingress_port = true});
    const auto took = ingress.learn();
    const auto right = ingress.right();
    fmt::print("  the port of ingress hashed: told {:.5f}, wrong {:.5f}, in {:.1f} s\n", right.told,
               right.wrong, took.seconds);
    figures.add("full_map_ingress_right", right.right);
    figures.add("full_map_ingress_wrong", right.wrong);
    figures.add("full_map_ingress_probes_per_nic", static_cast<double>(ingress.map().asked()) / nics);
  }
  World plain(fabric, {});
  const auto took = plain.learn();
  figures.add("full_map_structureless_covered", plain.covered(), "1");
  figures.add("full_map_structureless_known", plain.right().told);
  figures.add("full_map_structureless_s", took.seconds);
  figures.add("full_map_structureless_probes_per_nic", static_cast<double>(plain.map().asked()) / nics);
}

}  // namespace weft::bench
