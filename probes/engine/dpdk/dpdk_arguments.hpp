// What --dpdk-args says: words for DPDK's environment (EAL), and the devices that weft adds itself, one for
// each NIC, when its engine is opened. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::dpdk {

/// A virtual device as EAL's --vdev has it: net_af_packet0,iface=p1,framecnt=4096.
struct DeviceSpec {
  std::string driver;                                         // without the number behind it
  std::vector<std::pair<std::string, std::string>> settings;  // in the order given, each name once
};

struct DpdkArguments {
  std::vector<std::string> start;  // for EAL, without devices
  std::vector<DeviceSpec> devices;
};

/// Stands for a NIC's interface in a device's settings, so that one device says it for all NICs.
inline constexpr std::string_view kInterfacePlace = "{interface}";
/// The driver of the one kind of device that weft opens.
inline constexpr std::string_view kPacketSockets = "net_af_packet";
/// Where nothing is said: the kernel's packet sockets with rings, which every Ethernet interface has.
inline constexpr std::string_view kUsualArguments = "--no-huge --vdev=net_af_packet0,iface={interface}";

/// Words are separated by spaces. Error: usage, naming the word and what is taken: an option that weft does
/// not pass on, a device other than net_af_packet, a setting that says no value.
Result<DpdkArguments> parse_dpdk_arguments(std::string_view text);

/// The device for a NIC: that with its interface, else one for every interface. Error: usage (there is none).
Result<DeviceSpec> device_for(const DpdkArguments& arguments, const std::string& interface);

inline constexpr std::size_t kMaxQueues = 8;  // of a device, in each direction

/// Bytes of a ring, of which each direction has one, where frames are large: a thousand of MTU 9000.
inline constexpr std::size_t kMaxRing = std::size_t{10} << 20;

/// A device for an interface of this MTU, with the ring it needs.
struct SizedDevice {
  std::string settings;   // as the driver takes them: iface=p1,framesz=2048,...
  std::size_t frame = 0;  // bytes of a place in the ring
  unsigned queues = 1;    // in each direction
  std::size_t rings = 0;  // bytes of all rings, which the driver locks in memory
};
/// Sizes that are given stay. Error: usage (a ring that holds no whole frame of this MTU, or that cannot be).
/// `max_ring`: bytes of a ring whose size is not given.
Result<SizedDevice> sized_for(const DeviceSpec& device, std::size_t mtu, std::size_t max_ring = kMaxRing);

}  // namespace weft::dpdk
