#include "tests/bench/diagnosis/evaluate.hpp"

#include <cmath>

#include "probes/diagnosis/report.hpp"
#include "tests/bench/diagnosis/oracle.hpp"

namespace weft::bench {
namespace {

Judged judge(const Fabric& fabric, const Scenario& scenario, const Run& run, const Wanted& wanted) {
  Judged judged{.faults = run.faults, .names = names_of(diagnosis::diagnose(fabric, run.observations))};
  if (wanted.nats) judged.nats = information(fabric, run);
  auto& rankings = judged.rankings;
  rankings[kWeft] = {{"", judged.names.stated}};
  if (wanted.comparators) {
    rankings["007"] = rank_007(fabric, run);
    rankings["netbouncer"] = rank_netbouncer(fabric, run);
    rankings["flock"] = rank_flock(fabric, run);
  }
  if (wanted.oracles) {
    rankings[kOracle] = {{"", rank_oracle(fabric, run, scenario, Knows::everything)}};
    rankings[kHumbleOracle] = {{"", rank_oracle(fabric, run, scenario, Knows::all_but_usual)}};
  }
  return judged;
}

}  // namespace

std::vector<Judged> evaluate(const Fabric& fabric, const Scenario& scenario, const Seeds& seeds,
                             const Wanted& wanted) {
  const std::size_t worlds = (seeds.count + wanted.a_world - 1) / wanted.a_world;
  const auto by_world = for_each_index(worlds, seeds.threads, [&](std::size_t w) {
    std::vector<Judged> judged;
    const std::size_t first = w * wanted.a_world;
    World world(fabric, scenario, seeds.base + first);
    for (std::size_t i = first; i < std::min(first + wanted.a_world, seeds.count); ++i) {
      if (i > first) world.redraw(seeds.base + i);
      judged.push_back(judge(fabric, scenario, world.run(), wanted));
    }
    return judged;
  });
  std::vector<Judged> all;
  for (const auto& judged : by_world) all.insert(all.end(), judged.begin(), judged.end());
  return all;
}

Score score_of(const std::vector<Judged>& judged) {
  Score score;
  for (const Judged& one : judged) score.add(one.faults, one.names, one.nats);
  return score;
}

Pool pool_of(const std::vector<Judged>& judged, const std::string& who) {
  Pool pool;
  for (const Judged& one : judged) {
    const auto at = one.rankings.find(who);
    pool.add(at == one.rankings.end() ? std::map<std::string, Ranking>() : at->second, one.faults);
  }
  return pool;
}

Score score_of_oracle(const std::vector<Judged>& judged, const std::string& oracle) {
  const double named = diagnosis::named_from(Cause::loss);
  Score score;
  for (const Judged& one : judged) {
    Names names;
    for (const auto& [channel, odds] : one.rankings.at(oracle).at(""))
      if (odds >= std::log(named / (1 - named))) names.channels.push_back(channel);
    score.add(one.faults, names, one.nats);
  }
  return score;
}

}  // namespace weft::bench
