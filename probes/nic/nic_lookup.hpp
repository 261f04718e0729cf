// What the kernel says of an interface. Every socket here belongs to the network namespace it was opened in
// and serves from any thread.
#pragma once

#include <string>

#include "probes/datapath/packet_port.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::nic {

/// A NIC of this host: its interface and the address probes come from.
struct HostNic {
  std::string interface;
  IpAddress address;
  std::uint8_t traffic_class = 0;  // of every packet sent
};

struct KernelNic {
  int index = 0;
  datapath::LocalNic local;
};

/// Waits two seconds at most for a carrier. An error where there is no such interface, it is down, it has no
/// carrier or it is no Ethernet.
Result<KernelNic> look_up_nic(const HostNic& nic);

/// The name of the interface that has this address. An error where none has.
Result<std::string> interface_with(const IpAddress& address);

/// A packet socket that is bound to nothing and takes nothing. Errors: permission (no CAP_NET_RAW),
/// not_supported.
Result<os::FileDescriptor> open_packet_socket();

/// Who owns UDP 4791: a run, which wants it for itself; or a standing agent, beside which runs come and go.
enum class PortOwner : std::uint8_t { run, standing };

/// Owns UDP 4791 on the NIC's address, so that the kernel does not answer probes with "port unreachable";
/// takes no packet. A run may own it beside a standing agent. An error where another program
/// owns it, or the address is not this host's.
Result<os::FileDescriptor> own_roce_port(const HostNic& nic, PortOwner owner = PortOwner::run);

}  // namespace weft::nic
