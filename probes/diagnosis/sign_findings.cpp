#include "probes/diagnosis/sign_findings.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft {
namespace {

constexpr double kFaultyChannels = 4.0;   // prior number in a fabric
constexpr double kMaxOfChannels = 0.005;  // and at most this share

struct Signs {
  double log_ratio = 0;
  std::vector<std::string> texts;
};

}  // namespace

void report_signs(const Fabric& fabric, const Observations& observations, Report& report) {
  std::map<std::pair<ChannelId, Cause>, Signs> by_channel;
  for (const ChannelEvidence& sign : observations.channels) {
    Signs& signs = by_channel[{sign.channel, sign.cause}];
    signs.log_ratio += sign.log_ratio;
    signs.texts.push_back(sign.text);
  }
  const double channels = std::max<double>(static_cast<double>(fabric.channel_count()), 1.0);
  const double prior = std::log(std::min(kFaultyChannels / channels, kMaxOfChannels));
  for (auto& [key, signs] : by_channel) {
    const auto& [channel, cause] = key;
    const double probability = 1.0 / (1.0 + std::exp(-prior - signs.log_ratio));
    if (probability < kSuspected || report.explains(channel)) continue;
    report.add(Found{.channels = {channel},
                     .cause = cause,
                     .probability = probability,
                     .evidence = std::move(signs.texts)});
  }
}

}  // namespace weft
