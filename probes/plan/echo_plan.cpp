#include "probes/plan/echo_plan.hpp"

#include <map>

namespace weft::plan {

std::vector<Echo> choose_echoes(const std::vector<Echo>& all, std::vector<bool> needed, std::size_t most) {
  std::map<PortId, std::size_t> asked;
  std::vector<Echo> chosen;
  while (true) {
    // A channel crossed there and back counts twice: it has twice the packets.
    const auto gain_of = [&](const Echo& echo) {
      std::size_t gain = 0;
      for (const auto* way : {&echo.there, &echo.back})
        for (const ChannelId channel : *way) gain += needed[channel.value()] ? 1 : 0;
      return gain;
    };
    const Echo* best = nullptr;
    std::size_t best_gain = 0;
    for (const Echo& echo : all) {
      const std::size_t gain = gain_of(echo);
      if (gain == 0 || gain < best_gain || asked[echo.pair.src] >= most) continue;
      if (gain == best_gain && asked[echo.pair.src] >= asked[best->pair.src]) continue;
      best = &echo;
      best_gain = gain;
    }
    if (best == nullptr) return chosen;
    ++asked[best->pair.src];
    for (const auto* way : {&best->there, &best->back})
      for (const ChannelId channel : *way) needed[channel.value()] = false;
    chosen.push_back(*best);
  }
}

}  // namespace weft::plan
