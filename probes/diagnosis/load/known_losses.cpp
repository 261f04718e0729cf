#include "probes/diagnosis/load/known_losses.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr double kLoadPacket = 4096;  // bytes, of a load round's packets (probes/session/load_stage.cpp)

std::optional<KnownLoss> loss_of(const Found& found) {
  switch (found.cause) {
    case Cause::loss:
    case Cause::corruption:  // damaged packets are not delivered
      if (found.estimate) return KnownLoss{found.estimate->low, found.estimate->high};
      return KnownLoss{0, 1};
    case Cause::down:
      return KnownLoss{1, 1};
    case Cause::mtu:
      return KnownLoss{found.estimate && found.estimate->high < kLoadPacket ? 1.0 : 0.0, 1};
    case Cause::rate:
    case Cause::congestion:
    case Cause::delay:
    case Cause::counter:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::vector<KnownLoss> known_losses(const Fabric& fabric, const Report& report) {
  std::vector<KnownLoss> losses(fabric.channel_count());
  const auto add = [&](ChannelId channel, KnownLoss loss, bool sure) {
    KnownLoss& known = losses[channel.value()];
    known.low = 1 - (1 - known.low) * (1 - (sure ? loss.low : 0.0));
    known.high = 1 - (1 - known.high) * (1 - loss.high);
  };
  for (const Found& found : report.found()) {
    const auto loss = loss_of(found);
    if (!loss) continue;
    const bool one = found.channels.size() + found.nodes.size() + found.alternatives.size() == 1;
    const bool sure = one && found.probability >= named_from(found.cause);
    for (const ChannelId channel : found.channels) add(channel, *loss, sure);
    for (const auto& alternative : found.alternatives)
      for (const ChannelId channel : alternative) add(channel, *loss, sure);
    for (const NodeId node : found.nodes)
      for (const PortId port : fabric.ports_of(node))
        if (const auto channel = fabric.channel_from(port)) {
          add(*channel, *loss, false);
          add(Fabric::reverse(*channel), *loss, false);
        }
  }
  return losses;
}

}  // namespace weft
