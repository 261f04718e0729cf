// Path maps that are learned: how many labels a pair of NICs with 64 paths takes until all of its 16,384 are
// predicted, how often a prediction is right, and what a switch without structure costs. Simulated: every
// switch has its own seed, bit offset and order of members; 5 % of the answers are lost.
//   bench_mapping [--only pair,tables,full,lab64]
// `full`: a fabric of 24,576 NICs; `lab64`: over real packets, as root.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/plan/label_map.hpp"
#include "probes/plan/trace_plan.hpp"
#include "tests/bench/mapping/full_map.hpp"
#include "tests/bench/mapping/lab64.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/bench/support/pieces.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

constexpr Fraction kConfidence(0.999);
constexpr std::uint8_t kDecidingHop = 3;  // the core: by the port it answers from, leaf's and spine's choice
constexpr std::size_t kMaxLabels = 4000;

/// A pair of NICs in two pods: `spines` ways on at the leaf, `cores` at each spine.
struct Shape {
  std::string name;
  std::uint32_t spines;
  std::uint32_t cores;
};

struct Outcome {
  double labels = 0;  // asked
  double right = 0;   // share of all labels predicted or seen as they go
  bool is_false = false;
  double over_structureless = 0;  // labels over that switch until it was given up
};

class Trial {
 public:
  Trial(const Shape& shape, const routing::HashOptions& hash, std::uint64_t seed, bool one_structureless)
      : fabric_(*make_pod_clos({.pods = 2,
                                .leaves = 1,
                                .spines = shape.spines,
                                .cores = shape.spines * shape.cores,
                                .hosts_per_leaf = 1})),
        addresses_(*plan_addresses(fabric_, IpFamily::v4)),
        learner_(fabric_, addresses_.book, table_),
        pair_{fabric_.nics().front(), fabric_.nics().back()} {
    sim::SimOptions options{.seed = seed, .hash = hash, .answers_lost = Fraction(0.05)};
    const NodeId leaf = routing::edge_switch(fabric_, pair_.src);
    if (one_structureless) {
      const auto way = learner_.ways().to(routing::edge_switch(fabric_, pair_.dst)).next(leaf);
      odd_ = seed % 9 == 0 ? leaf : fabric_.target_node(way[seed % way.size()]);
      options.structureless = {*odd_};
    }
    sim_ = sim::SimFabric::make(fabric_, addresses_.book, options);
    map_.emplace(learner_, fabric_, addresses_.book, kConfidence, seed);
  }

  Outcome run() {
    Outcome outcome;
    while (outcome.labels < kMaxLabels) {
      const auto labels = map_->next_labels(pair_, 1);
      if (labels.empty()) break;
      ask(labels.front());
      outcome.labels += 1;
      if (odd_ && crosses(labels.front(), *odd_) && !is_given_up(*odd_)) outcome.over_structureless += 1;
    }
    check(outcome);
    return outcome;
  }

 private:
  void ask(PathLabel label) {
    const datapath::TraceRequest request{.batch = BatchId(++batch_),
                                         .peers = {{pair_.dst, *addresses_.book.address_of(pair_.dst)}},
                                         .specs = {{0, label, kDecidingHop}},
                                         .attempts = 1};
    auto answers = *sim_->engine(pair_.src)->trace(request, {});
    // The hop that decides is the only one asked.
    std::erase_if(answers, [](const datapath::HopAnswer& each) { return each.hop != kDecidingHop; });
    if (learner_.learn(pair_.src, pair_.dst, label, answers)) map_->learn(pair_, {&label, 1});
  }

  std::vector<ChannelId> truth(PathLabel label) const {
    std::vector<ChannelId> path;
    sim_->world().path_of(pair_.src, pair_.dst, label, path);
    return path;
  }
  bool crosses(PathLabel label, NodeId node) const {
    return std::ranges::any_of(truth(label), [&](ChannelId c) { return fabric_.source_node(c) == node; });
  }
  bool is_given_up(NodeId node) const {
    return std::ranges::any_of(map_->groups(), [&](const plan::GroupState& group) {
      return group.at == node && group.hash->given_up();
    });
  }

  void check(Outcome& outcome) {
    std::size_t right = 0;
    for (const PathLabel label : plan::spread_labels(plan::kRoceLabels)) {
      const auto told = map_->path_of(pair_, label);
      if (told.state == plan::LabelState::open) continue;
      if (told.channels == truth(label))
        ++right;
      else
        outcome.is_false = true;
    }
    outcome.right = static_cast<double>(right) / plan::kRoceLabels;
  }

  Fabric fabric_;
  AddressPlan addresses_;
  PathTable table_;
  plan::PathLearner learner_;
  plan::NicPair pair_;
  std::optional<NodeId> odd_;
  std::shared_ptr<sim::SimFabric> sim_;
  std::optional<plan::LabelMap> map_;
  std::uint32_t batch_ = 0;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

struct Sum {
  std::vector<double> labels;
  double right = 0;
  double worst_right = 1;
  std::size_t false_maps = 0;
  double noticed = 0;  // labels over the structureless switch, worst

  void add(const Outcome& outcome) {
    labels.push_back(outcome.labels);
    right += outcome.right;
    worst_right = std::min(worst_right, outcome.right);
    false_maps += outcome.is_false ? 1 : 0;
    noticed = std::max(noticed, outcome.over_structureless);
  }
};

Sum trials(const Shape& shape, const routing::HashOptions& hash, std::uint64_t seeds, bool structureless) {
  Sum sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) sum.add(Trial(shape, hash, seed, structureless).run());
  fmt::print("  {} {} {}: labels median {}, most {}; right mean {:.5f}, least {:.4f}; {} false\n", shape.name,
             static_cast<int>(hash.family), static_cast<int>(hash.reduction), median(sum.labels),
             *std::ranges::max_element(sum.labels), sum.right / static_cast<double>(seeds), sum.worst_right,
             sum.false_maps);
  return sum;
}

constexpr std::uint64_t kSeeds = 200;  // of each shape and hash

void measure_pair(bench::Figures& figures) {
  using routing::HashFamily;
  constexpr std::uint64_t seeds = kSeeds;
  double right = 0, shapes = 0;
  std::size_t false_maps = 0;
  for (const auto& [shape, target] :
       {std::pair(Shape{"8x8", 8, 8}, "at most 190"), std::pair(Shape{"4x16", 4, 16}, ""),
        std::pair(Shape{"16x4", 16, 4}, "at most 280")}) {
    std::vector<double> labels;
    for (const auto family :
         {HashFamily::crc16, HashFamily::crc32, HashFamily::toeplitz, HashFamily::xor_fold}) {
      const Sum sum = trials(shape, {family}, seeds, false);
      labels.insert(labels.end(), sum.labels.begin(), sum.labels.end());
      right += sum.right / static_cast<double>(seeds);
      shapes += 1;
      false_maps += sum.false_maps;
    }
    figures.add("labels_" + shape.name, median(labels), target);
  }
  figures.add("predicted_right", right / shapes, "0.999");
  const Sum odd = trials({"8x8", 8, 8}, {HashFamily::crc16}, 5 * seeds, true);
  figures.add("structureless_noticed", odd.noticed, "at most 60");
  figures.add("false_maps", static_cast<double>(false_maps + odd.false_maps), "0");
  const Sum tables = trials({"8x8", 8, 8}, {HashFamily::crc16, routing::Reduction::table}, seeds, false);
  figures.add("false_maps_tables", static_cast<double>(tables.false_maps), "0");
  Sum mod48;
  for (const auto reduction : {routing::Reduction::modulo, routing::Reduction::threshold}) {
    const Sum sum = trials({"48x1", 48, 1}, {HashFamily::crc16, reduction}, seeds / 2, false);
    mod48.labels.insert(mod48.labels.end(), sum.labels.begin(), sum.labels.end());
    mod48.right += sum.right;
  }
  figures.add("labels_mod48", median(mod48.labels), "at most 130");
  figures.add("right_mod48", mod48.right / static_cast<double>(mod48.labels.size()), "0.99");
}

/// Between 64 hosts, any label.
routing::FlowBits draw_flow(std::mt19937_64& random) {
  const auto host = [&] {
    return IpAddress(IpAddress::V4{10, 0, 1, static_cast<std::uint8_t>(random() % 64)});
  };
  const auto src = host(), dst = host();
  const auto label = static_cast<std::uint32_t>(random() % plan::kRoceLabels);
  return routing::FlowBits::of(src, dst, PathLabel(plan::kFirstRoceLabel + label));
}

/// A switch of seven next hops that chooses by a table of 256 entries: flows until the table is found, and
/// what is told of others after kFlows of them.
void measure_tables(bench::Figures& figures) {
  constexpr std::size_t kFlows = 3000, kAsked = 10'000;
  constexpr std::uint32_t kMembers = 7;
  std::vector<double> found;
  std::size_t told = 0, wrong = 0;
  for (std::uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
    const auto family = seed % 2 == 0 ? routing::HashFamily::crc16 : routing::HashFamily::crc32;
    const routing::SwitchHash hash({family, routing::Reduction::table}, mix_bits(seed), false);
    plan::HashLearner learner(kMembers, kConfidence);
    std::mt19937_64 random(seed);
    std::optional<double> after;
    for (std::size_t i = 0; i < kFlows; ++i) {
      const auto flow = draw_flow(random);
      learner.learn(flow, hash.choose(flow, kMembers));
      if (learner.is_table() && !after) after = static_cast<double>(learner.flows());
    }
    if (after) found.push_back(*after);
    for (std::size_t i = 0; i < kAsked; ++i) {
      const auto flow = draw_flow(random);
      const auto member = learner.predict(flow);
      told += member ? 1 : 0;
      wrong += member && *member != hash.choose(flow, kMembers) ? 1 : 0;
    }
  }
  figures.add("tables_found", static_cast<double>(found.size()) / (2 * kSeeds), "1");
  figures.add("table_flows", median(found));
  figures.add("table_told", static_cast<double>(told) / (2 * kSeeds * kAsked));
  figures.add("table_told_wrong", static_cast<double>(wrong), "0");
}

constexpr bench::Piece kPieces[] = {{"pair", measure_pair},
                                    {"tables", measure_tables},
                                    {"full", bench::measure_full_map},
                                    {"lab64", bench::measure_lab64}};

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::bench::run_pieces("mapping", weft::kPieces, argc, argv); }
