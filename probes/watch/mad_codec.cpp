#include "probes/watch/mad_codec.hpp"

#include <algorithm>

#include "probes/mad/mad_port.hpp"

namespace weft::watch {
namespace {

// In the MAD; its data begin at 40 (IBTA vol. 1, 16.5.1).
constexpr std::size_t kHeader = 40;
constexpr std::size_t kFrom = kHeader + packet::kProbeHeaderSize;
constexpr std::size_t kTo = kFrom + 16;
constexpr std::size_t kLabel = kTo + 16;
static_assert(kLabel + 2 <= mad::kMadSize);

constexpr int kMaxLidsOfPort = 128;  // LMC has three bits (IBTA vol. 1, 4.1.3)

void store_gid(MutableByteSpan mad, std::size_t at, const IpAddress& gid) {
  std::ranges::transform(gid.bytes(), mad.begin() + static_cast<std::ptrdiff_t>(at),
                         [](std::uint8_t byte) { return std::byte{byte}; });
}

IpAddress load_gid(ByteSpan mad, std::size_t at) {
  IpAddress::V6 bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = load_u8(mad, at + i);
  return IpAddress(bytes);
}

packet::ProbeEnvelope envelope_of(const CarriedProbe& probe) {
  return {probe.from, probe.to, UdpPort(static_cast<std::uint16_t>(probe.label.value()))};
}

/// `back` may be a LID of the port that has `source`. A port's LIDs follow one another, and what leaves it
/// has the first one.
bool is_of_port(std::uint16_t back, Lid source) {
  return back >= source.value() && back - source.value() < kMaxLidsOfPort;
}

class MadCodec final : public ProbeCodec {
 public:
  std::size_t frame_size(Bytes /*wanted*/, const datapath::LocalNic& /*nic*/) const override {
    return mad::kMadFrameSize;
  }

  std::size_t write(const datapath::LocalNic& /*nic*/, const CarriedProbe& probe, const packet::RunKey& key,
                    MutableByteSpan out) const override {
    WEFT_CHECK(probe.from.is_v6() && probe.to.is_v6());
    const Lid to(static_cast<std::uint16_t>(probe.label.value()));
    auto mad = encode_mad({.to = to,
                           .mad_class = mad::MadClass::standing_probe,
                           .method = mad::MadMethod::send,
                           .attribute = mad::MadAttribute::probe},
                          mad::MadTransaction(probe.header.sequence));
    store_be24(mad, mad::kOuiOffset, mad::kOui);
    encode_probe_header(probe.header, envelope_of(probe), key,
                        MutableByteSpan(mad).subspan(kHeader, packet::kProbeHeaderSize));
    store_gid(mad, kFrom, probe.from);
    store_gid(mad, kTo, probe.to);
    store_be16(mad, kLabel, to.value());
    return mad::put_mad_frame({.destination = to}, mad, out);
  }

  std::optional<CarriedProbe> read(ByteSpan frame, const KeyOf& key_of) const override {
    if (frame.size() != mad::kMadFrameSize) return std::nullopt;
    const auto mad = frame.subspan(mad::kLocalRouteHeaderSize);
    const auto of_mad = mad::decode_mad_header(mad);
    if (!of_mad || of_mad->mad_class != mad::MadClass::standing_probe ||
        of_mad->attribute != mad::MadAttribute::probe || load_be24(mad, mad::kOuiOffset) != mad::kOui)
      return std::nullopt;
    const auto header = packet::decode_probe_header(mad.subspan(kHeader));
    if (!header) return std::nullopt;
    CarriedProbe probe{.header = *header,
                       .from = load_gid(mad, kFrom),
                       .to = load_gid(mad, kTo),
                       .label = PathLabel(load_be16(mad, kLabel)),
                       .frame_size = mad::kMadFrameSize};
    if (header->kind == packet::ProbeKind::probe &&
        !is_of_port(header->back_label.value(), mad::lids_of_frame(frame).source))
      return std::nullopt;
    const auto* key = key_of(probe);
    if (key == nullptr || !packet::authenticate(mad.subspan(kHeader), envelope_of(probe), *key))
      return std::nullopt;
    return probe;
  }

  /// The device does not stamp what comes: a thread that looks fifty times a second does.
  bool has_arrival_times() const override { return false; }
  bool is_routed() const override { return false; }
  bool loses_what_is_refused() const override { return false; }
};

}  // namespace

const ProbeCodec& mad_codec() {
  static const MadCodec codec;
  return codec;
}

}  // namespace weft::watch
