// Any frame at the prober's and the responder's listener. Then a true probe whose fields come from the input,
// damaged where the input says: it is counted at most once and answered with no more than it brought.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "probes/datapath/answer.hpp"
#include "probes/datapath/responder.hpp"
#include "probes/packet/plain_probe.hpp"

namespace {

using namespace weft;

const packet::RunSecrets kSecrets{.run = RunId(0x1122334455667788), .key = {std::byte{1}}};
const IpAddress kNear(IpAddress::V4{10, 0, 0, 1});
const datapath::LocalNic kNic{.mac = {{2, 0, 0, 0, 0, 2}}, .address = IpAddress(IpAddress::V4{10, 0, 0, 2})};

std::size_t take(datapath::Responder& responder, ByteSpan frame) {
  packet::FrameTemplate reply;
  const auto answer = responder.take(frame, Nanoseconds(5), Nanoseconds(9), reply);
  WEFT_CHECK(answer.size() <= frame.size());
  return answer.size();
}

/// One pass reads no frame that the decoders of the layers refuse, and the same of it.
void read_alike(ByteSpan frame) {
  const auto plain = packet::read_plain_probe(frame);
  if (!plain) return;
  const auto ethernet = packet::decode_ethernet(frame);
  WEFT_CHECK(ethernet);
  const auto ip = packet::decode_ip(frame.subspan(ethernet->size));
  WEFT_CHECK(ip);
  const auto layers = packet::decode_probe_packet(ethernet->header, *ip);
  WEFT_CHECK(layers && layers->header == plain->header && layers->intact == plain->intact &&
             layers->label == plain->label && layers->ip.source == plain->ip.source &&
             layers->ip.destination == plain->ip.destination &&
             layers->ip.bytes.size() == plain->ip.bytes.size() && layers->ethernet == plain->ethernet);
}

void any_frame(ByteSpan frame) {
  const datapath::RunNics nics;
  datapath::Responder responder(kNic, kSecrets, nics);
  take(responder, frame);
  (void)datapath::AnswerReader(kNic, kSecrets).read(frame);
  (void)packet::decode_probe_frame(frame, kSecrets.key);
  (void)packet::decode_probe_header(frame);
  read_alike(frame);
}

void damaged_probe(ByteSpan input) {
  if (input.size() < 24) return;
  const std::size_t size = packet::probe_size(load_be16(input, 0) % 4096, false);
  std::vector<std::byte> frame(packet::kEthernetSize + size);
  const packet::ProbeHeader header{.kind = static_cast<packet::ProbeKind>(1 + load_u8(input, 2) % 4),
                                   .back_label = UdpPort(load_be16(input, 3)),
                                   .run = kSecrets.run,
                                   .batch = BatchId(load_u8(input, 5)),
                                   .nic = PortId(load_be32(input, 6)),
                                   .spec = load_be32(input, 10),
                                   .sequence = load_be32(input, 14)};
  const packet::ProbeRoute route{.from = kNear, .to = kNic.address, .label = UdpPort(1)};
  encode_probe_frame(route, header, kSecrets.key, size, frame);
  const auto first = packet::first_psn(header, kSecrets.key);
  packet::FrameTemplate one;
  packet::Authenticator authenticator(kSecrets.key);
  for (int time = 0; time < 2; ++time)
    WEFT_CHECK(std::ranges::equal(one.write(route, header, authenticator, first, size), frame));
  frame[load_be16(input, 18) % frame.size()] ^= std::byte{load_u8(input, 20)};
  frame.resize(frame.size() - std::min<std::size_t>(load_u8(input, 21), frame.size()));
  read_alike(frame);
  const datapath::RunNics nics({{header.nic, kNear}});
  datapath::Responder responder(kNic, kSecrets, nics, {.batches = 2, .streams = 2});
  take(responder, frame);
  WEFT_CHECK(take(responder, frame) == 0);  // a replay
  for (const auto& tally : responder.received(header.batch)) WEFT_CHECK(tally.packets + tally.corrupt == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  any_frame(input);
  damaged_probe(input);
  return 0;
}
