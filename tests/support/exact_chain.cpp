#include "tests/support/exact_chain.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include "balancer/reliability/draw.hpp"
#include "topology/base/check.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

using reliability::Index;
using reliability::Plant;

/// Bits of a state: hosts, then switches, each set where it is down.
class Chain {
 public:
  explicit Chain(const TinyCluster& cluster)
      : plant_(cluster.plant), bits_(plant_.hosts + plant_.switches.size()) {
    for (std::size_t bit = 0; bit < bits_; ++bit) {
      const auto part =
          bit < plant_.hosts ? files::PartClass::host : plant_.switches[bit - plant_.hosts].part;
      const auto* rates = cluster.rates.find(part);
      WEFT_CHECK(rates != nullptr);
      fails_.push_back(files::rate_of(*rates));
      mends_.push_back(1 / files::mean_repair(rates->repair).count());
    }
    // A member that a domain hit is repaired at the domain's rate: told apart from its own failure, it would
    // need a state of its own, so clusters are drawn with the same mean for both.
    double most = 0;
    for (std::size_t bit = 0; bit < bits_; ++bit) most += std::max(fails_[bit], mends_[bit]);
    for (const auto& domain : plant_.domains) most += rate(domain);
    step_ = 1 / most;
  }

  double shortage(Index hosts) const {
    const auto share = stationary();
    double sum = 0;
    for (std::size_t state = 0; state < share.size(); ++state)
      if (usable(state) < hosts) sum += share[state];
    return sum;
  }

 private:
  static double rate(const reliability::Domain& domain) { return domain.events / domain.exposure.count(); }
  bool down(std::size_t state, std::size_t bit) const { return (state >> bit & 1) != 0; }

  Index usable(std::size_t state) const {
    Index count = 0;
    for (Index host = 0; host < plant_.hosts; ++host) {
      if (down(state, host)) continue;
      bool reaches = false;
      for (std::size_t s = 0; s < plant_.switches.size(); ++s) {
        const auto& leaf = plant_.switches[s];
        if (std::ranges::find(leaf.hosts, host) == leaf.hosts.end() || down(state, plant_.hosts + s))
          continue;
        if (plant_.of_tier[0].size() == 1) reaches = true;  // all others are at that leaf
        for (const Index cable : leaf.cables)
          reaches = reaches || !down(state, plant_.hosts + plant_.cables[cable].upper);
      }
      count += reaches ? 1 : 0;
    }
    return count;
  }

  std::vector<double> stationary() const {
    std::vector<double> share(std::size_t{1} << bits_, 0);
    share[0] = 1;
    for (int i = 0; i < 200'000; ++i) {
      const auto next = stepped(share);
      double change = 0;
      for (std::size_t s = 0; s < share.size(); ++s) change += std::abs(next[s] - share[s]);
      share = next;
      if (change < 1e-11) break;
    }
    return share;
  }

  std::vector<double> stepped(const std::vector<double>& share) const {
    std::vector<double> next(share.size(), 0);
    for (std::size_t state = 0; state < share.size(); ++state) {
      double stays = 1;
      const auto go = [&](std::size_t to, double rate) {
        next[to] += share[state] * rate * step_;
        stays -= rate * step_;
      };
      for (std::size_t bit = 0; bit < bits_; ++bit)
        go(state ^ std::size_t{1} << bit, down(state, bit) ? mends_[bit] : fails_[bit]);
      for (const auto& domain : plant_.domains) go_by(state, domain, go);
      next[state] += share[state] * stays;
    }
    return next;
  }

  /// To every set of members that may be hit.
  template <class Go>
  void go_by(std::size_t state, const reliability::Domain& domain, Go go) const {
    std::vector<std::size_t> members;
    for (const Index host : domain.hosts) members.push_back(host);
    for (const Index each : domain.switches) members.push_back(plant_.hosts + each);
    for (std::size_t set = 0; set < std::size_t{1} << members.size(); ++set) {
      const int hit = std::popcount(set);
      const double chance =
          std::pow(domain.share, hit) * std::pow(1 - domain.share, static_cast<double>(members.size()) - hit);
      std::size_t to = state;
      for (std::size_t m = 0; m < members.size(); ++m)
        if ((set >> m & 1) != 0) to |= std::size_t{1} << members[m];
      go(to, rate(domain) * chance);
    }
  }

  const Plant& plant_;
  std::size_t bits_;
  std::vector<double> fails_, mends_;  // an hour
  double step_ = 0;
};

files::ClassRates class_of(files::PartClass part, std::uint64_t parts, double rate, Hours repair) {
  return {.part = part,
          .events = 1e6 * rate * static_cast<double>(parts),
          .parts = parts,
          .time = Hours(1e6),
          .repair = {{files::RepairLaw::exponential, repair, 0, 1}}};
}

}  // namespace

TinyCluster draw_tiny_cluster(std::uint64_t seed) {
  reliability::Stream stream({seed, 77});
  const auto from = [&](std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(stream.below(most - least + 1));
  };
  const std::uint32_t leaves = from(1, 2);
  const auto fabric = make_clos(
      {.name = "tiny", .leaves = leaves, .spines = from(1, 2), .hosts_per_leaf = from(1, 6 / leaves)});
  const Hours repair(1 + 9 * stream.uniform());
  const auto rate = [&] { return 0.002 * std::pow(20, stream.uniform()); };
  TinyCluster cluster{.plant = {}, .rates = {.origin = "drawn", .is_own = true, .classes = {}}};
  std::vector<FailureDomain> domains;
  if (seed % 2 == 0) {
    FailureDomain domain{
        .name = "pdu", .kind = "power", .members = {}, .events = 1e6 * rate(), .exposure = Hours(1e6)};
    domain.share = Fraction(stream.uniform() < 0.5 ? 1 : 0.6);
    domain.repair = repair;
    for (const NodeId host : fabric->hosts())
      if (stream.uniform() < 0.6) domain.members.push_back(host);
    domain.members.push_back(*fabric->find_node("leaf1"));
    domains.push_back(domain);
  }
  cluster.plant = reliability::make_plant(*fabric, domains, 1);
  for (const auto part : {files::PartClass::host, files::PartClass::leaf, files::PartClass::spine})
    cluster.rates.classes.push_back(class_of(part, cluster.plant.count(part), rate(), repair));
  return cluster;
}

double exact_shortage(const TinyCluster& cluster, reliability::Index hosts) {
  return Chain(cluster).shortage(hosts);
}

}  // namespace weft
