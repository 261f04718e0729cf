// One scenario over many seeds: what weft names, and what the others rank, of the same observations.
#pragma once

#include "tests/bench/diagnosis/comparators.hpp"
#include "tests/bench/diagnosis/score.hpp"
#include "tests/bench/diagnosis/seeds.hpp"

namespace weft::bench {

struct Wanted {
  bool nats = true;          // the information of each fault
  bool comparators = false;  // 007, NetBouncer, Flock
  bool oracles = false;      // see oracle.hpp
  std::size_t a_world = 1;   // seeds that share paths; each has its own backgrounds, faults and losses
};

struct Judged {
  std::vector<ChannelId> faults;
  Names names;
  std::vector<double> nats;
  std::map<std::string, std::map<std::string, Ranking>> rankings;  // by who, by setting
};

inline constexpr const char* kComparators[] = {"007", "netbouncer", "flock"};
inline constexpr const char* kOracle = "bound: knows all else";
inline constexpr const char* kHumbleOracle = "bound: faults, the usual";
inline constexpr const char* kWeft = "weft";

/// By seed. "weft" is among the rankings, by what it states of each channel.
std::vector<Judged> evaluate(const Fabric& fabric, const Scenario& scenario, const Seeds& seeds,
                             const Wanted& wanted);

Score score_of(const std::vector<Judged>& judged);
/// Of one who ranks: by name; without a setting of that name an empty pool.
Pool pool_of(const std::vector<Judged>& judged, const std::string& who);
/// What this oracle would name where weft does: at the same posterior probability.
Score score_of_oracle(const std::vector<Judged>& judged, const std::string& oracle);

}  // namespace weft::bench
