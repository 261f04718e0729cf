#include "probes/watch/probe_codec.hpp"

namespace weft::watch {
namespace {

class RoceCodec final : public ProbeCodec {
 public:
  std::size_t frame_size(Bytes wanted, const datapath::LocalNic& nic) const override {
    return packet::kEthernetSize +
           packet::probe_size(static_cast<std::size_t>(wanted.count()), nic.address.is_v6());
  }

  std::size_t write(const datapath::LocalNic& nic, const CarriedProbe& probe, const packet::RunKey& key,
                    MutableByteSpan out) const override {
    const packet::ProbeRoute route{.from_mac = nic.mac,
                                   .to_mac = probe.station,
                                   .from = probe.from,
                                   .to = probe.to,
                                   .label = UdpPort(static_cast<std::uint16_t>(probe.label.value())),
                                   .hop_limit = probe.hop_limit,
                                   .traffic_class = nic.traffic_class,
                                   .identification = probe.identification};
    return encode_probe_frame(route, probe.header, key, probe.frame_size - packet::kEthernetSize, out);
  }

  std::optional<CarriedProbe> read(ByteSpan frame, const KeyOf& key_of) const override {
    const auto packet = packet::decode_probe_frame(frame);
    if (!packet || !packet->intact) return std::nullopt;
    const auto size = packet->ip.bytes.size();
    if (size != packet::probe_size(size, packet->ip.source.is_v6())) return std::nullopt;  // no prober's
    CarriedProbe probe{.header = packet->header,
                       .from = packet->ip.source,
                       .to = packet->ip.destination,
                       .label = PathLabel(packet->label.value()),
                       .station = packet->ethernet.source,
                       .identification = packet->ip.identification.value_or(0),
                       .frame_size = packet::kEthernetSize + size};
    const auto* key = key_of(probe);
    if (key == nullptr || !packet::authenticate(*packet, *key)) return std::nullopt;
    return probe;
  }

  bool has_arrival_times() const override { return true; }
  bool is_routed() const override { return true; }
  bool loses_what_is_refused() const override { return true; }
};

}  // namespace

const ProbeCodec& roce_codec() {
  static const RoceCodec codec;
  return codec;
}

}  // namespace weft::watch
