#include "topology/lab/netns/fault.hpp"

#include "topology/model/fabric.hpp"

namespace weft::lab {

ChannelFault merged(const ChannelFault& before, const FaultSpec& spec) {
  ChannelFault after = before;
  if (spec.loss) after.loss = spec.loss;
  if (spec.rate) after.rate = spec.rate;
  if (spec.load) after.load = spec.load;
  if (spec.delay) after.delay = spec.delay;
  if (spec.mtu) after.mtu = spec.mtu;
  if (spec.corruption) after.corruption = spec.corruption;
  return after;
}

FaultSpec as_spec(const ChannelFault& fault, ChannelId channel) {
  return {.link = Fabric::link_of(channel),
          .channel = channel,
          .loss = fault.loss,
          .rate = fault.rate,
          .load = fault.load,
          .delay = fault.delay,
          .mtu = fault.mtu,
          .corruption = fault.corruption};
}

}  // namespace weft::lab
