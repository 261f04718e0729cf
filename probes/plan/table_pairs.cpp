#include "probes/plan/table_pairs.hpp"

namespace weft {
namespace {

bool cross_everything(const Fabric& fabric, const std::vector<bool>& used, const std::vector<NicPair>& pairs,
                      const ChannelsOfPair& channels) {
  std::vector<bool> crossed(fabric.channel_count(), false);
  for (const NicPair& pair : pairs)
    for (const ChannelId channel : channels(pair)) crossed[channel.value()] = true;
  for (std::uint32_t c = 0; c < crossed.size(); ++c)
    if (used[c] && !crossed[c] && fabric.between_switches(ChannelId(c))) return false;
  return true;
}

}  // namespace

std::vector<NicPair> choose_table_pairs(const Fabric& fabric, const std::vector<bool>& used,
                                        std::size_t labels, const ChannelsOfPair& channels,
                                        const std::vector<PortId>& without) {
  auto partners = default_partners(fabric, without);
  auto pairs = choose_pairs(fabric, partners, without);
  while (partners < fabric.nics().size() && 2 * pairs.size() * labels <= kMaxTableRoutes &&
         !cross_everything(fabric, used, pairs, channels)) {
    partners *= 2;
    pairs = choose_pairs(fabric, partners, without);
  }
  return pairs;
}

}  // namespace weft
