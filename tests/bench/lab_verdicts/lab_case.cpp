#include "tests/bench/lab_verdicts/lab_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/bench/support/random_paths.hpp"
#include "topology/base/check.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft::bench {
namespace {

constexpr int kDrawn = 20;
constexpr std::array kDrawnKinds{"loss", "down", "rate", "delay", "mtu"};
// Mbit/s: what a lab shapes its fastest links to.
constexpr double kLinkRate = 50;

/// leaf1--spine1 to leaf4--spine4, each with the same fault.
std::vector<std::string> diagonal(const std::string& settings) {
  std::vector<std::string> faults;
  for (int i = 1; i <= 4; ++i) faults.push_back(fmt::format("leaf{0}--spine{0}:{1}", i, settings));
  return faults;
}

/// The cables between switches of a fabric, shuffled.
std::vector<std::string> shuffled_cables(const Fabric& fabric, bool with_hosts, Random& random) {
  std::vector<std::string> cables;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
    if (with_hosts || fabric.between_switches(LinkId(l))) cables.push_back(fabric.name_of(LinkId(l)));
  std::ranges::shuffle(cables, random);
  return cables;
}

std::string drawn_settings(std::string_view kind, Random& random) {
  if (kind == "loss") return fmt::format("loss={:.2f}%", log_uniform(random, 0.5, 5));
  if (kind == "rate") return fmt::format("rate={:.1f}M", kLinkRate * uniform(random, 0.1, 0.8));
  if (kind == "delay") return fmt::format("delay={:.0f}us", log_uniform(random, 500, 5000));
  if (kind == "mtu") return fmt::format("mtu={:.0f}", uniform(random, 1000, 4000));
  return "down";
}

/// Two or three faults of different kinds on any cables, one way or both.
LabCase drawn_case(int number, std::uint64_t seed) {
  LabCase one{.name = fmt::format("drawn{}", number), .seed = seed};
  Random random(mix_bits(seed * 1000 + static_cast<std::uint64_t>(number)));
  const auto cables = shuffled_cables(fabric_of(one), true, random);
  auto kinds = kDrawnKinds;
  std::ranges::shuffle(kinds, random);
  for (std::size_t i = 0; i < 2 + pick(random, 2); ++i) {
    std::string fault = cables[i] + ":" + drawn_settings(kinds[i], random);
    if (pick(random, 2) == 0 && kinds[i] != std::string_view("down"))
      fault += ",from=" + cables[i].substr(0, cables[i].find("--"));
    one.faults.push_back(std::move(fault));
  }
  return one;
}

LabCase outage_case(const char* name, const char* settings, std::uint64_t seed) {
  LabCase one{.name = name, .seed = seed};
  Random random(mix_bits(seed));
  one.faults = {shuffled_cables(fabric_of(one), false, random).front() + ":" + settings};
  const auto seconds = [&](double low, double high) {
    return std::chrono::milliseconds(std::llround(1000 * uniform(random, low, high)));
  };
  one.outage = Outage{seconds(1, 3), seconds(1.5, 3)};
  return one;
}

}  // namespace

Fabric fabric_of(const LabCase& one) {
  auto fabric = make_clos(
      {.name = "roce-a", .leaves = one.leaves, .spines = one.spines, .hosts_per_leaf = one.hosts_per_leaf});
  WEFT_CHECK(fabric.has_value());
  return std::move(*fabric);
}

std::string fabric_text(const LabCase& one) {
  return fmt::format(
      "fabric: roce-a\nclos: {{leaves: {}, spines: {}, hosts_per_leaf: {}, link: {}M}}\n"
      "addresses: {{plan: ipv4}}\n",
      one.leaves, one.spines, one.hosts_per_leaf, kLinkRate);
}

std::vector<LabCase> lab_cases(std::uint64_t seed) {
  std::vector<LabCase> cases{
      {.name = "even_loss", .seed = seed, .faults = diagonal("loss=1%")},
      {.name = "half_lost", .seed = seed, .faults = diagonal("loss=50%")},
      {.name = "quarter_rate", .seed = seed, .faults = diagonal("rate=12.5M")},
      {.name = "late", .seed = seed, .faults = diagonal("delay=2ms")},
  };
  LabCase delayed{.name = "three_late", .seed = seed};
  Random random(mix_bits(seed));
  for (const auto& cable : shuffled_cables(fabric_of(delayed), false, random))
    if (delayed.faults.size() < 3) delayed.faults.push_back(cable + ":delay=2ms");
  cases.push_back(std::move(delayed));
  cases.push_back(
      {.name = "late_2x2", .seed = seed, .faults = {"leaf1--spine2:delay=2ms"}, .leaves = 2, .spines = 2});
  cases.push_back({.name = "quarter_rate_2x2",
                   .seed = seed,
                   .faults = {"leaf2--spine1:rate=12.5M"},
                   .leaves = 2,
                   .spines = 2,
                   .hosts_per_leaf = 6});
  cases.push_back(
      {.name = "both_ways_2x2", .seed = seed, .faults = {"leaf1--spine1:loss=1%"}, .leaves = 2, .spines = 2});
  cases.push_back({.name = "mtu", .seed = seed});
  cases.back().faults = {fmt::format("leaf2--spine3:mtu={:.0f}", uniform(random, 1500, 2111))};
  cases.push_back(
      {.name = "dead_transmitter", .seed = seed, .faults = {"host2--leaf1:loss=100%,from=host2"}});
  cases.push_back(outage_case("outage_down", "down", seed));
  cases.push_back(outage_case("outage_black", "loss=100%", seed));
  cases.push_back({.name = "some_hosts", .seed = seed, .hosts = "host[1-6]"});
  for (int i = 1; i <= kDrawn; ++i) cases.push_back(drawn_case(i, seed));
  return cases;
}

}  // namespace weft::bench
