// PacketSocket: a PacketPort over AF_PACKET: batches by sendmmsg and recvmmsg, a socket filter by role,
// receive times from the kernel. Needs CAP_NET_RAW. One thread at a time.
#pragma once

#include <memory>

#include "probes/datapath/packet_port.hpp"
#include "probes/nic/nic_lookup.hpp"
#include "probes/nic/packet_filter.hpp"

namespace weft::raw {

class PacketSocket : public datapath::PacketPort {
 public:
  static Result<std::unique_ptr<PacketSocket>> open(const nic::HostNic& nic, const nic::KernelNic& kernel,
                                                    nic::PacketRole role);
  ~PacketSocket() override;

  Nanoseconds now() const override;
  Result<datapath::SendOutcome> send(std::span<const ByteSpan> frames) override;
  Result<std::span<const datapath::Arrival>> receive(Nanoseconds until) override;
  std::uint64_t overruns() override;
  bool has_unread() const override { return wait(Nanoseconds(0)); }

 private:
  struct Buffers;
  PacketSocket(os::FileDescriptor socket, std::string interface, nic::PacketRole role,
               std::size_t frame_size);
  /// True when there is something to read.
  bool wait(Nanoseconds until) const;

  os::FileDescriptor socket_;
  std::string interface_;
  nic::PacketRole role_;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace weft::raw
