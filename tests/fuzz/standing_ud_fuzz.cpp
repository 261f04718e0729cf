// Any frame at a standing agent's queue pair. Then a true probe or echo of some epoch whose fields come from
// the input, damaged where the input says: what was damaged under the authenticator is not read, and an
// answer is as large as what asked and goes to the NIC which asked.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "probes/packet/ud_frame.hpp"
#include "probes/watch/key_epochs.hpp"
#include "probes/watch/standing_responder.hpp"
#include "probes/watch/ud_codec.hpp"

namespace {

using namespace weft;

const datapath::LocalNic kNic{.mac = {}, .address = IpAddress(IpAddress::V4{10, 0, 0, 2})};
const IpAddress kPeer(IpAddress::V4{10, 0, 0, 1});

/// Host 2 with NIC 2, which probes NIC 1 of host 1 and may be asked by it.
watch::Assignment assignment() {
  watch::Assignment made{.plan = watch::PlanVersion(1),
                         .epochs = {},
                         .nics = {{.nic = PortId(2), .interface = "eth0", .streams = {{}}}},
                         .peers = {{PortId(1), kPeer}},
                         .asked = {{PortId(1), kPeer}}};
  watch::KeyEpochs({std::byte{1}}, std::chrono::hours(1))
      .give(made, NodeId(2), {kNic.address}, {NodeId(1)}, Nanoseconds(0));
  return made;
}

/// Whether it was read.
bool take(watch::StandingKeys& keys, ByteSpan frame) {
  watch::StandingResponder responder(kNic, watch::ud_codec(), keys, 1);
  const auto read = keys.read(frame, kNic.address, watch::ud_codec());
  if (!read) return false;
  std::vector<std::byte> reply(frame.size());
  const auto size = responder.take(*read, Nanoseconds(5), Nanoseconds(9), reply);
  if (size != 0 && (size != frame.size() || packet::target_of(reply)->to != kPeer)) std::abort();
  return true;
}

void true_frame(watch::StandingKeys& keys, const watch::Assignment& told, ByteSpan input) {
  if (input.size() < 12) return;
  const auto& epoch = told.epochs[load_u8(input, 0) % told.epochs.size()];
  const bool is_echo = load_u8(input, 1) % 2 == 1;
  const packet::ProbeHeader header{.kind = is_echo ? packet::ProbeKind::echo : packet::ProbeKind::probe,
                                   .back_label = UdpPort(load_be16(input, 4)),
                                   .run = epoch.name,
                                   .batch = BatchId(load_u8(input, 6)),
                                   .nic = PortId(is_echo ? 2 : 1),
                                   .spec = load_u8(input, 7),
                                   .sequence = load_be32(input, 8)};
  std::vector<std::byte> frame(watch::ud_codec().frame_size(Bytes(load_be16(input, 2)), kNic));
  watch::ud_codec().write(kNic,
                          {.header = header,
                           .from = kPeer,
                           .to = kNic.address,
                           .label = PathLabel(7),
                           .frame_size = frame.size()},
                          is_echo ? epoch.pairs[0] : packet::pair_key(epoch.own, kPeer, kNic.address), frame);
  if (!take(keys, frame)) std::abort();
  const auto whole = frame;
  for (input = input.subspan(12); input.size() >= 3; input = input.subspan(3))
    frame[load_be16(input, 0) % frame.size()] ^= std::byte{load_u8(input, 2)};
  // Header, authenticator, addresses and label.
  const auto covered = [](const std::vector<std::byte>& of) {
    return ByteSpan(of).subspan(packet::kUdHeader, 86);
  };
  if (take(keys, frame) && !std::ranges::equal(covered(frame), covered(whole))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  static const watch::Assignment told = assignment();
  watch::StandingKeys keys;
  keys.renew(told, Nanoseconds(0));
  take(keys, input);
  true_frame(keys, told, input);
  return 0;
}
