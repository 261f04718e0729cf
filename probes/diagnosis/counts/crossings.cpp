#include "probes/diagnosis/counts/crossings.hpp"

#include <algorithm>
#include <cmath>

#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

/// More classes than this are put together; a sweep sends five sizes.
constexpr std::size_t kMaxSizes = 16;
/// Shares are kept to this grain, so that their number stays below 256.
constexpr double kShareGrain = 128.0;

std::vector<Bytes> distinct_sizes(const std::vector<Observation>& probes) {
  std::vector<Bytes> sizes;
  for (const Observation& probe : probes)
    if (sizes.empty() || sizes.back() != probe.size) {
      const auto at = std::ranges::lower_bound(sizes, probe.size);
      if (at == sizes.end() || *at != probe.size) sizes.insert(at, probe.size);
      if (sizes.size() > 64) break;  // sizes that vary freely are no classes
    }
  return sizes;
}

}  // namespace

Crossings::Crossings(const Fabric& fabric, const Observations& observations)
    : fabric_(fabric), observations_(observations) {
  std::vector<Bytes> all = distinct_sizes(observations.probes);
  if (all.empty()) all.emplace_back(0);
  const std::size_t step = (all.size() + kMaxSizes - 1) / kMaxSizes;
  for (std::size_t i = 0; i < all.size(); i += step) {
    sizes_.push_back(all[i]);
    below_.push_back(i == 0 ? Bytes(0) : all[i - 1]);
  }
  const auto channels = static_cast<std::uint32_t>(fabric.channel_count());
  for (std::uint32_t c = 0; c < channels; ++c)
    into_.push_back(channels + fabric.target_node(ChannelId(c)).value());
}

std::size_t Crossings::size_class(Bytes size) const {
  const auto after = std::ranges::upper_bound(sizes_, size);
  return after == sizes_.begin() ? 0 : static_cast<std::size_t>(after - sizes_.begin()) - 1;
}

std::uint8_t Crossings::share_index(double share) {
  const double kept = std::clamp(std::round(share * kShareGrain), 1.0, kShareGrain) / kShareGrain;
  const auto at = std::ranges::find(shares_, kept);
  if (at != shares_.end()) return static_cast<std::uint8_t>(at - shares_.begin());
  shares_.push_back(kept);
  return static_cast<std::uint8_t>(shares_.size() - 1);
}

void Crossings::add_path(PathId path) {
  const auto channels = observations_.paths.channels(path);
  if (channels.empty()) return;
  std::size_t at = out_.size();
  out_.resize(at + 1 + 2 * channels.size());
  out_[at++].suspect = into_[Fabric::reverse(channels.front()).value()];
  for (const ChannelId channel : channels) {
    out_[at++].suspect = channel.value();
    out_[at++].suspect = into_[channel.value()];
  }
}

void Crossings::add_weighted(PathSetId set) {
  const auto members = observations_.paths.paths(set);
  const double share = 1.0 / static_cast<double>(members.size());
  for (const PathId path : members) {
    out_.clear();
    add_path(path);
    for (const Crossing& crossing : out_) weighted_.emplace_back(crossing.suspect, share);
  }
}

std::size_t Crossings::of_all_sizes() const { return fabric_.channel_count() + fabric_.node_count(); }

std::span<const Crossing> Crossings::of(std::uint32_t index) {
  const Observation& observation = observations_.probes[index];
  out_.clear();
  if (!observation.back && observations_.paths.paths(observation.path).size() == 1) {
    add_path(observations_.paths.paths(observation.path).front());
  } else {
    weighted_.clear();
    add_weighted(observation.path);
    if (observation.back) add_weighted(*observation.back);
    out_.clear();
    std::ranges::sort(weighted_);
    for (std::size_t at = 0; at < weighted_.size();) {
      const std::uint32_t suspect = weighted_[at].first;
      double share = 0;
      for (; at < weighted_.size() && weighted_[at].first == suspect; ++at) share += weighted_[at].second;
      out_.push_back({suspect, share_index(std::min(share, 1.0))});
    }
  }
  const std::size_t plain = out_.size();
  for (std::size_t size = 1; size <= size_class(observation.size); ++size)
    for (std::size_t at = 0; at < plain; ++at)
      out_.push_back({static_cast<std::uint32_t>(size * of_all_sizes()) + out_[at].suspect, out_[at].share});
  return out_;
}

}  // namespace weft::diagnosis
