// MadPort: management datagrams as frames of a PacketPort, for what sends and reads in bursts. A frame is the
// local route header (IBTA vol. 1, 7.7; of its fields the two LIDs alone count), then the MAD. Used by one
// thread.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "probes/datapath/packet_port.hpp"
#include "probes/mad/mads.hpp"

namespace weft::mad {

inline constexpr std::size_t kLocalRouteHeaderSize = 8;
inline constexpr std::size_t kMadFrameSize = kLocalRouteHeaderSize + kMadSize;

struct FrameLids {
  Lid destination;
  Lid source;  // of a frame that came
};
/// Of a frame of kMadFrameSize bytes.
FrameLids lids_of_frame(ByteSpan frame);
/// Writes kMadFrameSize bytes to the front of `out`, and returns that.
std::size_t put_mad_frame(const FrameLids& lids, const MadBytes& mad, MutableByteSpan out);

class MadPort final : public datapath::PacketPort {
 public:
  explicit MadPort(std::unique_ptr<Mads> mads) : mads_(std::move(mads)) {}

  Nanoseconds now() const override { return mads_->now(); }
  /// Each frame has kMadFrameSize bytes. It leaves with a transaction of its own: the kernel refuses a
  /// datagram with that of another which has not left yet (ib_umad_write).
  Result<datapath::SendOutcome> send(std::span<const ByteSpan> frames) override;
  /// What comes has the time at which it was taken from the device.
  Result<std::span<const datapath::Arrival>> receive(Nanoseconds until) override;

 private:
  static constexpr std::size_t kMaxAtOnce = 64;

  std::unique_ptr<Mads> mads_;
  std::uint32_t transaction_ = 0;
  std::array<std::array<std::byte, kMadFrameSize>, kMaxAtOnce> frames_;
  std::vector<datapath::Arrival> arrivals_;
};

}  // namespace weft::mad
