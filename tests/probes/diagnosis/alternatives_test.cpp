// Faults that other faults look like: what is named, and what stands in a set with the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "made_up_run.hpp"
#include "swept.hpp"

namespace weft {
namespace {

/// 4x4 with two hosts a leaf; every pair of hosts by every spine loses its share of `sent` packets, to the
/// packet, so that nothing here is chance.
class ExactRun {
 public:
  MadeUpRun run{1, {.leaves = 4, .spines = 4, .hosts_per_leaf = 2}};

  /// Both ways.
  void lose(const std::string& a, const std::string& b, double share) {
    loss_[run.channel(a + "->" + b)] = share;
    loss_[run.channel(b + "->" + a)] = share;
  }
  Diagnosis diagnosed(std::uint64_t sent) {
    run.seen = {};
    for (std::uint32_t from = 0; from < 8; ++from)
      for (std::uint32_t to = 0; to < 8; ++to)
        for (std::uint32_t spine = 0; spine < (from / 2 == to / 2 ? 1 : 4) && from != to; ++spine) {
          auto path = run.path(from, to, spine);
          if (from / 2 == to / 2) path = {path.front(), path.back()};
          double passes = 1;
          for (const ChannelId channel : path) passes *= 1 - loss_[channel];
          const auto lost = std::llround(static_cast<double>(sent) * (1 - passes));
          run.seen.probes.push_back({.path = run.seen.paths.only(run.seen.paths.intern(path)),
                                     .sent = sent,
                                     .lost = static_cast<std::uint64_t>(lost)});
        }
    return run.diagnosed();
  }

 private:
  std::map<ChannelId, double> loss_;
};

bool in_a_set(const Fabric& fabric, const Diagnosis& diagnosis, std::string_view name) {
  const ChannelId wanted = *fabric.find_channel(name);
  return std::ranges::any_of(diagnosis.sets, [&](const OpenSet& set) {
    return std::ranges::any_of(set.alternatives, [&](const auto& alternative) {
      return std::ranges::find(alternative, wanted) != alternative.end();
    });
  });
}

bool is_named(const Fabric& fabric, const Diagnosis& diagnosis, std::string_view name) {
  const ChannelId wanted = *fabric.find_channel(name);
  const auto names = [&](const auto& found) {
    return found.verdict > Verdict::unknown && found.link == Fabric::link_of(wanted) &&
           found.channel.value_or(wanted) == wanted;
  };
  return std::ranges::any_of(diagnosis.links, names) || std::ranges::any_of(diagnosis.hosts, names);
}

/// The same sweeps as `weft simulate --seed N` of a fabric file with these faults.
Diagnosis swept_4x4(const Fabric& fabric, std::uint64_t seed, const std::vector<std::string>& faults) {
  return swept(fabric, faults, {.seed = seed, .probes_per_second = 1500});
}

TEST(Alternatives, CablesThatFitAsWellAsTheirSwitchStandBesideIt) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}).value();
  // leaf4--spine1, and then leaf2--spine1, are good. Neither sweep tells them from the whole of spine1.
  const Diagnosis one =
      swept_4x4(fabric, 105105832260214,
                {"host2--leaf1:loss=0.378%", "host8--leaf4:loss=0.971%", "leaf1--spine1:loss=0.461%",
                 "leaf1--spine2:loss=2.253%", "leaf2--spine1:loss=0.464%", "leaf3--spine1:loss=0.225%",
                 "leaf4--spine2:loss=0.328%", "leaf4--spine3:loss=0.639%"});
  const Diagnosis other = swept_4x4(
      fabric, 97308203739633,
      {"host3--leaf2:loss=0.25%", "leaf1--spine1:loss=0.246%", "leaf1--spine3:loss=0.605%",
       "leaf2--spine4:loss=1.372%,from=spine4", "leaf3--spine1:loss=2.418%",
       "leaf3--spine4:loss=3.368%,from=spine4", "leaf4--spine1:loss=4.302%", "leaf4--spine2:loss=2.031%"});
  for (const auto* channel : {"leaf1->spine1", "leaf2->spine1", "leaf3->spine1"})
    EXPECT_TRUE(in_a_set(fabric, one, channel)) << channel;
  EXPECT_TRUE(in_a_set(fabric, other, "leaf1->spine1"));
  // What is sure is no part of the question.
  EXPECT_TRUE(is_named(fabric, other, "leaf3->spine1"));
  EXPECT_FALSE(in_a_set(fabric, other, "leaf3->spine1"));
}

TEST(Alternatives, OneHostsCableIsLikelierThanItsLeafsUplinks) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}).value();
  const Diagnosis diagnosis =
      swept_4x4(fabric, 272189995080038,
                {"host4--leaf2:loss=0.413%", "host5--leaf3:loss=0.206%", "host7--leaf4:loss=4.666%",
                 "host8--leaf4:loss=0.223%", "leaf1--spine3:loss=0.827%", "leaf1--spine4:loss=0.832%",
                 "leaf2--spine1:loss=0.213%", "leaf3--spine2:loss=2.933%", "leaf3--spine3:loss=0.245%",
                 "leaf4--spine2:loss=1.552%"});
  for (const auto* channel : {"host8->leaf4", "leaf4->host8"})
    EXPECT_TRUE(is_named(fabric, diagnosis, channel)) << channel;
  for (const auto* channel : {"leaf4->spine1", "leaf4->spine3", "leaf4->spine4"})
    EXPECT_FALSE(is_named(fabric, diagnosis, channel)) << channel;
}

TEST(Alternatives, UplinksThatLookLikeAHostsCableStandBesideIt) {
  ExactRun exact;
  const Fabric& fabric = exact.run.fabric;
  exact.lose("host8", "leaf4", 0.0376);
  exact.lose("leaf4", "spine1", 0.0407);
  exact.lose("leaf4", "spine2", 0.0043);
  exact.lose("leaf4", "spine3", 0.0105);
  exact.lose("leaf4", "spine4", 0.0035);
  for (const std::uint64_t sent : {1000, 2000, 3000, 4000, 6000}) {
    const Diagnosis diagnosis = exact.diagnosed(sent);
    for (const auto* channel : {"leaf4->spine2", "spine2->leaf4"})
      EXPECT_TRUE(is_named(fabric, diagnosis, channel) || in_a_set(fabric, diagnosis, channel))
          << sent << " " << channel;
  }
}

}  // namespace
}  // namespace weft
