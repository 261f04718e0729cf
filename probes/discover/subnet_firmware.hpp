// Reads the firmware version of every adapter and switch that can be asked for it. There is no standard
// attribute: Mellanox's own is asked of that vendor's devices, of the others nothing is known.
#pragma once

#include "probes/mad/mad_exchange.hpp"
#include "topology/model/ib_subnet.hpp"

namespace weft::discover {

struct DeviceFirmware {
  NodeId node;
  Guid guid;  // of the adapter or switch; a host may have several adapters
  std::uint16_t device = 0;
  FirmwareVersion version;
};

struct FirmwareReading {
  std::vector<DeviceFirmware> devices;  // in the order of nodes; those that answered
  std::size_t unread = 0;               // devices of that vendor that did not
};

Result<FirmwareReading> read_firmware(mad::Mads& mads, const InfinibandFabric& fabric,
                                      const mad::MadLimits& limits = {}, std::stop_token stop = {});

}  // namespace weft::discover
