#include "probes/mad/mad_counters.hpp"

#include <algorithm>

namespace weft::mad {
namespace {

struct Field {
  std::string_view name;
  std::size_t offset;  // in the attribute's data (16.1.3.5, PortCounters)
  std::uint8_t bits;
};

constexpr std::array<Field, kIbCounters> kFields{{{"SymbolErrorCounter", 4, 16},
                                                  {"LinkErrorRecoveryCounter", 6, 8},
                                                  {"LinkDownedCounter", 7, 8},
                                                  {"PortRcvErrors", 8, 16},
                                                  {"PortRcvRemotePhysicalErrors", 10, 16},
                                                  {"PortRcvSwitchRelayErrors", 12, 16},
                                                  {"PortXmitDiscards", 14, 16},
                                                  {"PortXmitConstraintErrors", 16, 8},
                                                  {"PortRcvConstraintErrors", 17, 8},
                                                  {"LocalLinkIntegrityErrors", 19, 4},
                                                  {"ExcessiveBufferOverrunErrors", 19, 4},
                                                  {"VL15Dropped", 22, 16},
                                                  {"PortXmitData", 24, 32},
                                                  {"PortRcvData", 28, 32},
                                                  {"PortXmitPkts", 32, 32},
                                                  {"PortRcvPkts", 36, 32},
                                                  {"PortXmitWait", 40, 32}}};

constexpr std::size_t kClassicSize = 44;
constexpr std::size_t kExtendedSize = 40;
constexpr std::size_t kWideErrorsSize = 176;
constexpr std::size_t kClassPortInfoHead = 8;

static_assert(!kFields.back().name.empty(), "a row for each counter");

const Field& field(IbCounter counter) { return kFields[static_cast<std::size_t>(counter)]; }

std::uint64_t read(ByteSpan data, IbCounter counter) {
  const Field& f = field(counter);
  switch (f.bits) {
    case 4:
      return counter == IbCounter::local_link_integrity ? load_u8(data, f.offset) >> 4
                                                        : load_u8(data, f.offset) & 0x0F;
    case 8:
      return load_u8(data, f.offset);
    case 16:
      return load_be16(data, f.offset);
    default:
      return load_be32(data, f.offset);
  }
}

void write(MutableByteSpan data, IbCounter counter, std::uint64_t value) {
  const Field& f = field(counter);
  value = std::min(value, classic_limit(counter));
  switch (f.bits) {
    case 4: {
      const int shift = counter == IbCounter::local_link_integrity ? 4 : 0;
      store_u8(data, f.offset, static_cast<std::uint8_t>(load_u8(data, f.offset) | value << shift));
      return;
    }
    case 8:
      return store_u8(data, f.offset, static_cast<std::uint8_t>(value));
    case 16:
      return store_be16(data, f.offset, static_cast<std::uint16_t>(value));
    default:
      return store_be32(data, f.offset, static_cast<std::uint32_t>(value));
  }
}

}  // namespace

std::string_view to_string(IbCounter counter) { return field(counter).name; }

std::uint64_t classic_limit(IbCounter counter) { return (std::uint64_t{1} << field(counter).bits) - 1; }

Result<IbCounters> decode_port_counters(ByteSpan data) {
  if (data.size() < kClassicSize)
    return fail(ErrorKind::invalid_input, "PortCounters of {} bytes: expected {}", data.size(), kClassicSize);
  IbCounters counters{};
  for (std::size_t i = 0; i < kIbCounters; ++i) counters[i] = read(data, static_cast<IbCounter>(i));
  return counters;
}

Result<ExtendedCounters> decode_extended_counters(ByteSpan data) {
  if (data.size() < kExtendedSize)
    return fail(ErrorKind::invalid_input, "PortCountersExtended of {} bytes: expected {}", data.size(),
                kExtendedSize);
  return ExtendedCounters{.xmit_data = load_be64(data, 8),
                          .rcv_data = load_be64(data, 16),
                          .xmit_packets = load_be64(data, 24),
                          .rcv_packets = load_be64(data, 32)};
}

Result<bool> decode_has_wide_errors(ByteSpan class_port_info) {
  if (class_port_info.size() < kClassPortInfoHead)
    return fail(ErrorKind::invalid_input, "ClassPortInfo of {} bytes: expected {} or more",
                class_port_info.size(), kClassPortInfoHead);
  return (load_u8(class_port_info, 7) & 0x40U) != 0;  // CapabilityMask2 is 27 bits from byte 4
}

Result<IbCounters> decode_wide_errors(ByteSpan data) {
  if (data.size() < kWideErrorsSize)
    return fail(ErrorKind::invalid_input, "PortCountersExtended of {} bytes: expected {}", data.size(),
                kWideErrorsSize);
  IbCounters counters{};
  // In the order of PortCounters, from byte 72 on, XmitWait behind VL15Dropped (16.1.4.11).
  for (std::size_t i = 0; i <= static_cast<std::size_t>(IbCounter::vl15_dropped); ++i)
    counters[i] = load_be64(data, 72 + 8 * i);
  counters[static_cast<std::size_t>(IbCounter::xmit_wait)] = load_be64(data, 168);
  return counters;
}

Result<FecCounters> decode_fec_counters(ByteSpan data, FecMode mode) {
  constexpr std::size_t kCorrected = 44;    // a word a lane
  constexpr std::size_t kUncorrected = 92;  // likewise
  constexpr std::size_t kOverPort = 140;    // corrected blocks, uncorrected blocks
  constexpr std::size_t kSize = 152;
  if (data.size() < kSize)
    return fail(ErrorKind::invalid_input, "PortExtendedSpeedsCounters of {} bytes: expected {}", data.size(),
                kSize);
  FecCounters counters;
  for (std::size_t lane = 0; lane < kMaxLanes; ++lane) {
    counters.corrected_by_lane[lane] = load_be32(data, kCorrected + 4 * lane);
    if (mode == FecMode::over_port) continue;
    counters.corrected_blocks += counters.corrected_by_lane[lane];
    counters.uncorrected_blocks += load_be32(data, kUncorrected + 4 * lane);
  }
  if (mode == FecMode::over_port) {
    counters.corrected_blocks = load_be32(data, kOverPort);
    counters.uncorrected_blocks = load_be32(data, kOverPort + 4);
  }
  return counters;
}

std::array<std::byte, 192> encode_port_counters(std::uint8_t port, const IbCounters& counters) {
  std::array<std::byte, 192> data{};
  store_u8(data, 1, port);
  for (std::size_t i = 0; i < kIbCounters; ++i) write(data, static_cast<IbCounter>(i), counters[i]);
  return data;
}

}  // namespace weft::mad
