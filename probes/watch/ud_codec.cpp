#include "probes/watch/ud_codec.hpp"

#include <algorithm>

#include "probes/packet/roce.hpp"
#include "probes/packet/ud_frame.hpp"

namespace weft::watch {
namespace {

// In the payload.
constexpr std::size_t kFrom = packet::kProbeHeaderSize;
constexpr std::size_t kTo = kFrom + 16;
constexpr std::size_t kLabel = kTo + 16;
constexpr std::size_t kEnd = kLabel + 2;
constexpr std::size_t kMinPayload = (kEnd + 3) / 4 * 4;  // whole words, without padding of the device's
static_assert(kMinPayload <= packet::kMaxUdPayload);

packet::ProbeEnvelope envelope_of(const CarriedProbe& probe) {
  return {probe.from, probe.to, UdpPort(static_cast<std::uint16_t>(probe.label.value()))};
}

class UdCodec final : public ProbeCodec {
 public:
  std::size_t frame_size(Bytes wanted, const datapath::LocalNic& nic) const override {
    const auto headers = packet::roce_headers(nic.address.is_v6()) + packet::kDatagramHeader;
    const auto payload =
        std::clamp<std::int64_t>(wanted.count() - headers, kMinPayload, std::int64_t{packet::kMaxUdPayload});
    return packet::kUdHeader + static_cast<std::size_t>(payload / 4 * 4);
  }

  std::size_t write(const datapath::LocalNic& /*nic*/, const CarriedProbe& probe, const packet::RunKey& key,
                    MutableByteSpan out) const override {
    packet::put_ud_target({probe.to, probe.label}, out);
    const auto payload = out.subspan(packet::kUdHeader);
    encode_probe_header(probe.header, envelope_of(probe), key, payload.first(packet::kProbeHeaderSize));
    packet::store_mapped(payload, kFrom, probe.from);
    packet::store_mapped(payload, kTo, probe.to);
    store_be16(payload, kLabel, static_cast<std::uint16_t>(probe.label.value()));
    return probe.frame_size;
  }

  std::optional<CarriedProbe> read(ByteSpan frame, const KeyOf& key_of) const override {
    if (frame.size() < packet::kUdHeader + kMinPayload ||
        frame.size() > packet::kUdHeader + packet::kMaxUdPayload)
      return std::nullopt;
    const auto payload = frame.subspan(packet::kUdHeader);
    const auto header = packet::decode_probe_header(payload);
    if (!header) return std::nullopt;
    CarriedProbe probe{.header = *header,
                       .from = packet::load_mapped(payload, kFrom),
                       .to = packet::load_mapped(payload, kTo),
                       .label = PathLabel(load_be16(payload, kLabel)),
                       .frame_size = frame.size()};
    const auto* key = key_of(probe);
    if (key == nullptr || !packet::authenticate(payload, envelope_of(probe), *key)) return std::nullopt;
    return probe;
  }

  /// Completions are seen by a thread that looks fifty times a second.
  bool has_arrival_times() const override { return false; }
  bool is_routed() const override { return false; }
  /// A device whose port is down takes what is posted; one that takes nothing is in trouble itself.
  bool loses_what_is_refused() const override { return false; }
};

}  // namespace

const ProbeCodec& ud_codec() {
  static const UdCodec codec;
  return codec;
}

}  // namespace weft::watch
