// Any frame at a standing agent's NIC, also as the answer of a router to a trace. Then a true probe or echo
// of some epoch whose fields come from the input, damaged where the input says: what was damaged under the
// authenticator is not read, and nothing is answered with more than it brought.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "probes/watch/key_epochs.hpp"
#include "probes/watch/standing_responder.hpp"
#include "probes/watch/stream_tracer.hpp"

namespace {

using namespace weft;

const IpAddress kPeer(IpAddress::V4{10, 0, 0, 1});
const datapath::LocalNic kNic{.mac = {{2, 0, 0, 0, 0, 2}}, .address = IpAddress(IpAddress::V4{10, 0, 0, 2})};

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
  watch::StandingResponder responder(kNic, watch::roce_codec(), keys, 1);
  const auto read = keys.read(frame, kNic.address, watch::roce_codec());
  if (!read) return false;
  std::vector<std::byte> reply(frame.size());
  if (responder.take(*read, Nanoseconds(5), Nanoseconds(9), reply) > frame.size()) std::abort();
  return true;
}

/// A trace under way whose addresses and label the input may guess, and whose number it cannot.
void answer_trace(watch::StandingKeys& keys, const watch::Assignment& told, ByteSpan frame) {
  const watch::StandingRun run{told.plan, told.peers, Bytes(128), 7};
  watch::NicSchedule schedule = told.nics[0];
  schedule.streams[0].label = PathLabel(50'000);
  schedule.streams[0].trace_hop = 2;
  schedule.traces_per_second = 1;
  watch::StreamTracer tracer(run, keys, schedule, kNic, watch::roce_codec(), BatchId(1), Nanoseconds(0));
  const auto hop_of = [](std::uint32_t) { return std::optional(packet::MacAddress{}); };
  if (tracer.compose(std::chrono::seconds(2), hop_of).empty()) std::abort();
  tracer.take(frame, std::chrono::seconds(2));
  if (tracer.answers().size() > 1) std::abort();
}

void true_frame(watch::StandingKeys& keys, const watch::Assignment& told, ByteSpan input) {
  if (input.size() < 12) return;
  const auto& epoch = told.epochs[load_u8(input, 0) % told.epochs.size()];
  const bool is_echo = load_u8(input, 1) % 2 == 1;
  const auto size = packet::probe_size(load_be16(input, 2) % 4096, false);
  const packet::ProbeHeader header{.kind = is_echo ? packet::ProbeKind::echo : packet::ProbeKind::probe,
                                   .back_label = UdpPort(load_be16(input, 4)),
                                   .run = epoch.name,
                                   .batch = BatchId(load_u8(input, 6)),
                                   .nic = PortId(is_echo ? 2 : 1),
                                   .spec = load_u8(input, 7),
                                   .sequence = load_be32(input, 8)};
  std::vector<std::byte> frame(packet::kEthernetSize + size);
  encode_probe_frame({.from = kPeer, .to = kNic.address, .label = UdpPort(50'000)}, header,
                     is_echo ? epoch.pairs[0] : packet::pair_key(epoch.own, kPeer, kNic.address), size,
                     frame);
  if (!take(keys, frame)) std::abort();
  const auto begin = packet::kEthernetSize + packet::probe_payload_offset(false);
  const auto whole = frame;
  for (input = input.subspan(12); input.size() >= 3; input = input.subspan(3))
    frame[load_be16(input, 0) % frame.size()] ^= std::byte{load_u8(input, 2)};
  const auto header_of = [&](const std::vector<std::byte>& of) {
    return ByteSpan(of).subspan(begin, packet::kProbeHeaderSize);
  };
  const bool is_read = take(keys, frame);
  if (is_read && !std::ranges::equal(header_of(frame), header_of(whole))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  static const watch::Assignment told = assignment();
  watch::StandingKeys keys;
  keys.renew(told, Nanoseconds(0));
  take(keys, input);
  answer_trace(keys, told, input);
  true_frame(keys, told, input);
  return 0;
}
