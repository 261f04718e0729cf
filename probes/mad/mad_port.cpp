#include "probes/mad/mad_port.hpp"

#include <algorithm>

namespace weft::mad {
namespace {

constexpr std::size_t kDestination = 2;
constexpr std::size_t kSource = 6;
constexpr std::size_t kTransaction = 12;  // in the MAD: the half that the kernel leaves alone

}  // namespace

FrameLids lids_of_frame(ByteSpan frame) {
  return {Lid(load_be16(frame, kDestination)), Lid(load_be16(frame, kSource))};
}

std::size_t put_mad_frame(const FrameLids& lids, const MadBytes& mad, MutableByteSpan out) {
  const auto frame = out.first(kMadFrameSize);
  std::ranges::fill(frame.first(kLocalRouteHeaderSize), std::byte{0});
  store_be16(frame, kDestination, lids.destination.value());
  store_be16(frame, kSource, lids.source.value());
  std::ranges::copy(mad, frame.begin() + kLocalRouteHeaderSize);
  return kMadFrameSize;
}

Result<datapath::SendOutcome> MadPort::send(std::span<const ByteSpan> frames) {
  datapath::SendOutcome outcome;
  for (const ByteSpan frame : frames) {
    MadPacket packet{.to = lids_of_frame(frame).destination};
    std::ranges::copy(frame.subspan(kLocalRouteHeaderSize, kMadSize), packet.bytes.begin());
    store_be32(packet.bytes, kTransaction, ++transaction_);
    if (const auto sent = mads_->send(packet); !sent) {
      if (outcome.taken == 0) return pass_on(sent);
      break;
    }
    ++outcome.taken;
  }
  return outcome;
}

Result<std::span<const datapath::Arrival>> MadPort::receive(Nanoseconds until) {
  arrivals_.clear();
  for (std::size_t taken = 0; taken < kMaxAtOnce; ++taken) {
    const auto wait = arrivals_.empty() ? std::max(until - mads_->now(), Nanoseconds(0)) : Nanoseconds(0);
    const auto arrival = mads_->receive(wait);
    if (!arrival && arrivals_.empty()) return pass_on(arrival);
    if (!arrival || !*arrival) break;
    if ((*arrival)->undelivered) continue;  // ibsim tells the sender; a real fabric does not
    auto& frame = frames_[arrivals_.size()];
    put_mad_frame({.destination = {}, .source = (*arrival)->from}, (*arrival)->bytes, frame);
    arrivals_.push_back({frame, mads_->now()});
  }
  return std::span<const datapath::Arrival>(arrivals_);
}

}  // namespace weft::mad
