#include "topology/host/module_eeprom.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "topology/base/bytes.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::host {
namespace {

using Bytes128 = std::vector<std::byte>;

// Units of all three standards: SFF-8472 rev 12.4, table 9-16; SFF-8636 rev 2.10a, 6.2.4 and 6.2.5;
// CMIS 5.2, 8.2.5 and 8.9.4.
constexpr double kCelsius = 1.0 / 256, kVolt = 1e-4, kMilliwatt = 1e-4, kMilliampere = 2e-3;

constexpr std::uint8_t kSfp = 0x03;  // SFF-8024, table 4-1: SFP, SFP+, SFP28
struct Form {
  std::uint8_t identifier;  // SFF-8024, table 4-1
  const char* name;
  std::uint8_t lanes;  // of CMIS; 0: SFF-8636
};
constexpr std::array kForms{Form{0x0C, "QSFP", 0},      Form{0x0D, "QSFP+", 0},  Form{0x11, "QSFP28", 0},
                            Form{0x18, "QSFP-DD", 8},   Form{0x19, "OSFP", 8},   Form{0x1B, "DSFP", 2},
                            Form{0x1E, "QSFP-CMIS", 4}, Form{0x1F, "SFP-DD", 2}, Form{0x20, "SFP-CMIS", 1}};

Result<Bytes128> half_page(const ReadHalfPage& read, const HalfPage& at) {
  WEFT_TRY(auto bytes, read(at));
  if (bytes.size() < kHalfPage)
    return fail(ErrorKind::invalid_input, "page {:#x}: {} bytes came, {} were asked for", at.page,
                bytes.size(), kHalfPage);
  bytes.resize(kHalfPage);
  return bytes;
}

/// An upper page; addresses in it are those of the standards, from 128.
struct Upper {
  Bytes128 bytes;
  std::uint8_t u8(std::size_t at) const { return load_u8(bytes, at - kHalfPage); }
  std::uint16_t u16(std::size_t at) const { return load_be16(bytes, at - kHalfPage); }
  std::string text(std::size_t first, std::size_t last) const {
    std::string said;
    for (std::size_t at = first; at <= last; ++at) said += static_cast<char>(u8(at));
    said.erase(said.find_last_not_of(std::string_view(" \0", 2)) + 1);
    said.erase(0, said.find_first_not_of(' '));
    return outside_text(said);
  }
  bool sums_to(std::size_t first, std::size_t last, std::size_t check) const {
    std::uint8_t sum = 0;
    for (std::size_t at = first; at <= last; ++at) sum = static_cast<std::uint8_t>(sum + u8(at));
    return sum == u8(check);
  }
};

double temperature(ByteSpan bytes, std::size_t at) {
  return static_cast<std::int16_t>(load_be16(bytes, at)) * kCelsius;
}

/// Where a value is zero and nothing says that it is measured, it is not.
std::optional<double> measured(std::uint16_t raw, double unit, bool is_told) {
  return raw == 0 && !is_told ? std::nullopt : std::optional(raw * unit);
}

std::optional<double> measured_celsius(ByteSpan bytes, std::size_t at, bool is_told) {
  return load_be16(bytes, at) == 0 && !is_told ? std::nullopt : std::optional(temperature(bytes, at));
}

void take_identity(const Upper& page, bool is_whole, std::size_t vendor, std::size_t part, std::size_t serial,
                   ModuleState& into) {
  into.wrong_checksum = !is_whole;
  if (!is_whole) return;
  into.vendor = page.text(vendor, vendor + 15);
  into.part = page.text(part, part + 15);
  into.serial = page.text(serial, serial + 15);
}

/// SFF-8636: lower memory 22 (temperature), 26 (supply), 34, 42, 50 (received power, bias, sent power of four
/// lanes); upper page 00h 130 (connector: 23h none that separates), 147 (technology: from Ah on copper), 148,
/// 168, 196, 191 (sum of 128 to 190), 220 (what is monitored: bit 2 sent power, bits 5 and 4 temperature and
/// supply).
void read_sff8636(ByteSpan lower, const Upper& page, ModuleState& into) {
  take_identity(page, page.sums_to(128, 190, 191), 148, 168, 196, into);
  into.copper = page.u8(147) >> 4 >= 0xA;
  into.aoc = !into.copper && page.u8(130) == 0x23;
  const std::uint8_t monitored = page.u8(220);
  into.celsius = measured_celsius(lower, 22, (monitored & 0x20) != 0);
  into.volts = measured(load_be16(lower, 26), kVolt, (monitored & 0x10) != 0);
  if (into.copper) return;
  const bool sends =
      std::ranges::any_of(std::array{50, 52, 54, 56}, [&](int at) { return load_be16(lower, at) != 0; }) ||
      (monitored & 0x04) != 0;
  for (std::size_t lane = 0; lane < 4; ++lane)
    into.lanes.push_back(
        {.rx_mw = load_be16(lower, 34 + 2 * lane) * kMilliwatt,
         .tx_mw = sends ? std::optional(load_be16(lower, 50 + 2 * lane) * kMilliwatt) : std::nullopt,
         .bias_ma = load_be16(lower, 42 + 2 * lane) * kMilliampere});
}

/// Mantissa of 11 bits, exponent of 5 with a bias of 24 (CMIS 5.2, 8.17, "F16").
double short_float(std::uint16_t raw) { return (raw & 0x7FF) * std::pow(10.0, (raw >> 11) - 24); }

struct Observable {
  std::uint8_t type;  // CMIS 5.2, table 8-122
  const char* name;
  bool is_float;  // else unsigned, 1/256 dB
};
constexpr std::array kObservables{Observable{5, "SNR of the media input", false},
                                  Observable{6, "SNR of the host input", false},
                                  Observable{15, "bit error rate of the media input before FEC", true},
                                  Observable{16, "bit error rate of the host input before FEC", true},
                                  Observable{23, "frame error rate of the media input", true},
                                  Observable{24, "frame error rate of the host input", true}};

/// Versatile diagnostics: page 2Fh 128 has the number of groups less one; page 20h + G says in two bytes each
/// which 64 values page 24h + G has: lane in the low half of the first, type in the second.
void read_diagnostics(const ReadHalfPage& read, ModuleState& into) {
  const auto control = half_page(read, {0x2F, kHalfPage});
  if (!control) return;
  const int groups = (load_u8(*control, 0) & 3) + 1;
  for (int group = 0; group < groups; ++group) {
    const auto what = half_page(read, {static_cast<std::uint8_t>(0x20 + group), kHalfPage});
    const auto values = half_page(read, {static_cast<std::uint8_t>(0x24 + group), kHalfPage});
    if (!what || !values) return;
    for (std::size_t at = 0; at < kHalfPage; at += 2) {
      const auto known = std::ranges::find(kObservables, load_u8(*what, at + 1), &Observable::type);
      if (known == kObservables.end()) continue;
      const auto raw = load_be16(*values, at);
      ModuleDiagnostic one{.name = known->name,
                           .lane = static_cast<std::uint8_t>((load_u8(*what, at) & 0xF) + 1),
                           .value = known->is_float ? short_float(raw) : raw / 256.0};
      const bool is_told = std::ranges::any_of(into.diagnostics, [&](const ModuleDiagnostic& other) {
        return other.name == one.name && other.lane == one.lane;
      });
      if (!is_told) into.diagnostics.push_back(std::move(one));
    }
  }
}

/// The media lanes that there are, a bit each: those that an application may use (CMIS 5.2, 8.2.10: lower
/// memory 86 to 117, four bytes each: host interface, FFh where there is no more, media interface, lanes of
/// host and media in a half each; page 01h 176 to 183: the lanes it may begin at), and of these, or of all
/// that the form has where none is told, not those that page 00h 210 says there are not.
std::uint32_t media_lanes(ByteSpan lower, const Upper& page, const Upper& advertised, std::uint8_t of_form) {
  std::uint32_t used = 0;
  for (std::size_t i = 0; i < 8 && load_u8(lower, 86 + 4 * i) != 0xFF; ++i)
    for (std::uint32_t lane = 0; lane < 8; ++lane)
      if ((advertised.u8(176 + i) >> lane & 1) != 0)
        used |= ((1U << (load_u8(lower, 88 + 4 * i) & 0xFU)) - 1) << lane;
  const std::uint32_t all = (1U << of_form) - 1;
  return (used == 0 ? all : used & all) & ~std::uint32_t{page.u8(210)};
}

/// CMIS: lower memory 2 (bit 7: no pages but 00h), 14 (temperature), 16 (supply), 85 (media: 3 passive
/// copper, 4 active cable); page 00h 129, 148, 166, 212 (technology: 0Ah to 0Fh copper), 222 (sum of 128 to
/// 221); page 01h 142 (bit 6: versatile diagnostics), 159 (where it cannot be read: what is not zero), 160
/// (monitors: bit 0 bias, 1 sent, 2 received power, bits 4 and 3 the factor of the bias); page 11h 154, 170,
/// 186 (sent power, bias, received power of eight lanes).
void read_cmis(const ReadHalfPage& read, ByteSpan lower, const Upper& page, std::uint8_t of_form,
               ModuleState& into) {
  take_identity(page, page.sums_to(128, 221, 222), 129, 148, 166, into);
  const std::uint8_t technology = page.u8(212);
  into.copper = load_u8(lower, 85) == 3 || (technology >= 0x0A && technology <= 0x0F);
  into.aoc = !into.copper && load_u8(lower, 85) == 4;
  const bool is_flat = (load_u8(lower, 2) & 0x80) != 0;
  if (is_flat) return;  // CMIS 5.2, 8.2: such a module has no monitors
  const auto told = half_page(read, {0x01, kHalfPage});
  if (!told) {
    into.celsius = measured_celsius(lower, 14, false);
    into.volts = measured(load_be16(lower, 16), kVolt, false);
    return;
  }
  const Upper advertised{*told};
  if ((advertised.u8(159) & 1) != 0) into.celsius = temperature(lower, 14);
  if ((advertised.u8(159) & 2) != 0) into.volts = load_be16(lower, 16) * kVolt;
  const auto lanes = half_page(read, {0x11, kHalfPage});
  const std::uint8_t monitors = advertised.u8(160);
  if (lanes && !into.copper && (monitors & 7) != 0) {
    const Upper of{*lanes};
    const int factor = monitors >> 3 & 3;  // 3 is reserved
    const double bias = kMilliampere * (factor < 3 ? 1 << factor : 1);
    const auto there = media_lanes(lower, page, advertised, of_form);
    for (std::size_t lane = 0; there >> lane != 0; ++lane) {
      ModuleLane& one = into.lanes.emplace_back();
      if ((there >> lane & 1) == 0) continue;
      if ((monitors & 1) != 0) one.bias_ma = of.u16(170 + 2 * lane) * bias;
      if ((monitors & 2) != 0) one.tx_mw = of.u16(154 + 2 * lane) * kMilliwatt;
      if ((monitors & 4) != 0) one.rx_mw = of.u16(186 + 2 * lane) * kMilliwatt;
    }
  }
  if ((advertised.u8(142) & 0x40) != 0) read_diagnostics(read, into);
}

/// Of a module that leaves its readings as they are and says what they mean (SFF-8472, 9.3): slopes of
/// 1/256, offsets; and of received power a polynomial of the fourth degree.
class SfpReadings {
 public:
  SfpReadings(ByteSpan bytes, bool is_calibrated) : bytes_(bytes), is_calibrated_(is_calibrated) {}
  /// In the unit of the standard; `slope` is where the slope stands, the offset behind it.
  double value(std::size_t at, std::size_t slope) const {
    const double raw = load_be16(bytes_, at);
    return is_calibrated_ ? raw : std::max(0.0, raw * load_be16(bytes_, slope) / 256 + signed_at(slope + 2));
  }
  double celsius() const {
    const double raw = signed_at(96);
    return kCelsius * (is_calibrated_ ? raw : raw * load_be16(bytes_, 84) / 256 + signed_at(86));
  }
  /// Of coefficients that are no numbers, nothing.
  std::optional<double> received() const {
    const double raw = load_be16(bytes_, 104);
    if (is_calibrated_) return raw;
    double power = 0;
    for (std::size_t at = 56; at <= 72; at += 4)  // Rx_PWR(4) first
      power = power * raw + std::bit_cast<float>(load_be32(bytes_, at));
    return std::isfinite(power) && power < 1e6 ? std::optional(std::max(0.0, power)) : std::nullopt;
  }

 private:
  double signed_at(std::size_t at) const { return static_cast<std::int16_t>(load_be16(bytes_, at)); }
  ByteSpan bytes_;
  bool is_calibrated_;
};

/// SFF-8472. A0h: 2 (connector: 21h copper, 22h RJ45, 23h none that separates), 6 (bit 3: 1000BASE-T), 8
/// (bits 2 and 3: a copper cable), 20, 40, 68, 63 (sum of 0 to 62), 92 (bit 6 diagnostics, bit 4: to be
/// calibrated). A2h: 96 (temperature), 98 (supply), 100 (bias), 102, 104 (power sent, received), 95 (sum of 0
/// to 94).
void read_sff8472(const ReadHalfPage& read, const Bytes128& lower, ModuleState& into) {
  const auto sum_of = [](const Bytes128& bytes, std::size_t count) {
    std::uint8_t sum = 0;
    for (std::size_t at = 0; at < count; ++at) sum = static_cast<std::uint8_t>(sum + load_u8(bytes, at));
    return sum;
  };
  // `Upper` counts from 128.
  take_identity(Upper{lower}, sum_of(lower, 63) == load_u8(lower, 63), 128 + 20, 128 + 40, 128 + 68, into);
  const std::uint8_t connector = load_u8(lower, 2), diagnostics = load_u8(lower, 92);
  into.copper = connector == 0x21 || connector == 0x22 || (load_u8(lower, 6) & 0x08) != 0 ||
                (load_u8(lower, 8) & 0x0C) != 0;
  into.aoc = !into.copper && connector == 0x23;
  if ((diagnostics & 0x40) == 0) return;
  const auto measured = half_page(read, {.i2c = 0x51});
  if (!measured || sum_of(*measured, 95) != load_u8(*measured, 95)) return;
  const SfpReadings readings(*measured, (diagnostics & 0x10) == 0);
  into.celsius = readings.celsius();
  into.volts = readings.value(98, 88) * kVolt;
  if (into.copper) return;
  const auto received = readings.received();
  into.lanes.push_back({.rx_mw = received ? std::optional(*received * kMilliwatt) : std::nullopt,
                        .tx_mw = readings.value(102, 80) * kMilliwatt,
                        .bias_ma = readings.value(100, 76) * kMilliampere});
}

}  // namespace

Result<ModuleState> read_module(const ReadHalfPage& read) {
  WEFT_TRY(const auto lower, half_page(read, {}));
  const std::uint8_t identifier = load_u8(lower, 0);
  ModuleState state;
  if (identifier == kSfp) {
    state.form = "SFP";
    read_sff8472(read, lower, state);
    return state;
  }
  const auto form = std::ranges::find(kForms, identifier, &Form::identifier);
  if (form == kForms.end())
    return fail(ErrorKind::not_supported, "modules of kind {:#04x} (SFF-8024) are not read", identifier);
  WEFT_TRY(auto upper, half_page(read, {0, kHalfPage}));
  state.form = form->name;
  const Upper page{std::move(upper)};
  if (form->lanes > 0)
    read_cmis(read, lower, page, form->lanes, state);
  else
    read_sff8636(lower, page, state);
  return state;
}

}  // namespace weft::host
