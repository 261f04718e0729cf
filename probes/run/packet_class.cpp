#include "probes/run/packet_class.hpp"

#include <charconv>
#include <string_view>

namespace weft::run {
namespace {

/// As NCCL reads its variables: decimal, or hexadecimal after 0x; a number below zero means its default.
Result<std::optional<std::uint32_t>> read_variable(const char* name, const Environment& environment,
                                                   std::uint32_t highest) {
  const char* text = environment(name);
  if (text == nullptr || *text == '\0') return std::optional<std::uint32_t>();
  std::string_view digits(text);
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) digits.remove_prefix(2);
  std::uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size() || (!negative && number > highest))
    return fail(ErrorKind::usage, "{}={}: expected a number from 0 to {}", name, text, highest);
  return negative ? std::nullopt : std::optional(number);
}

struct Taken {
  std::optional<std::uint32_t> value;
  std::string source;  // " (NCCL_IB_TC)"; empty: asked for, or nothing said
};

template <class T>
Result<Taken> take(std::optional<T> asked, const char* variable, const Environment& environment,
                   std::uint32_t highest) {
  if (asked) return Taken{*asked, ""};
  WEFT_TRY(const auto set, read_variable(variable, environment, highest));
  return Taken{set, set ? fmt::format(" ({})", variable) : ""};
}

}  // namespace

Result<ChosenClass> choose_packet_class(const PacketClass& wanted, const Environment& environment) {
  WEFT_TRY(const auto traffic, take(wanted.traffic_class, "NCCL_IB_TC", environment, kMaxTrafficClass));
  WEFT_TRY(const auto level, take(wanted.service_level, "NCCL_IB_SL", environment, kMaxServiceLevel));
  WEFT_TRY(const auto index, take(wanted.gid_index, "NCCL_IB_GID_INDEX", environment, kMaxGidIndex));
  ChosenClass chosen{static_cast<std::uint8_t>(traffic.value.value_or(0)),
                     static_cast<std::uint8_t>(level.value.value_or(0)), index.value, ""};
  chosen.said = fmt::format("traffic class {}{}, service level {}{}", chosen.traffic_class, traffic.source,
                            chosen.service_level, level.source);
  if (!index.source.empty()) chosen.said += fmt::format(", GID index {}{}", *index.value, index.source);
  return chosen;
}

}  // namespace weft::run
