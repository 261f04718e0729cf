// Where and how the kernel is told to do what a fault says. Pure. A channel is judged at its switch end: as
// it comes in where it leads to a switch, as it goes out where it leads to a host, because the engines of a
// host send and receive below the packet filter (AF_PACKET).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/lab/netns/fault.hpp"
#include "topology/model/lab_settings.hpp"

namespace weft::lab {

struct JudgedAt {
  PortId port;    // of a switch
  bool incoming;  // the channel comes in by it
  friend bool operator==(const JudgedAt&, const JudgedAt&) = default;
};
/// Precondition: one end of the channel is a switch.
JudgedAt judged_at(const Fabric& fabric, ChannelId channel);

/// For `nft -f -` in the namespace of `node`: all filtering faults that are judged there, in place of what
/// was in force before. `faults` are all of the lab.
std::string filter_rules(const Fabric& fabric, NodeId node, const std::map<ChannelId, ChannelFault>& faults);

/// The queue of a delayed channel, and the arguments that add (`-A`) or delete (`-D`) the rule that feeds it.
/// While nobody reads the queue packets pass undelayed.
std::uint16_t delay_queue(const Fabric& fabric, ChannelId channel);
std::vector<std::string> delay_rule(const Fabric& fabric, IpFamily family, ChannelId channel,
                                    const char* action);

}  // namespace weft::lab
