#include "cli/packet_class.hpp"

#include <charconv>
#include <string_view>

namespace weft {
namespace {

constexpr std::uint32_t kMaxClass = 255;
constexpr std::uint32_t kMaxLevel = 15;  // four bits, IBTA vol. 1
constexpr std::uint32_t kMaxIndex = 255;

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
  const auto set = read_variable(variable, environment, highest);
  if (!set) return pass_on(set);
  return Taken{*set, *set ? fmt::format(" ({})", variable) : ""};
}

template <class T>
Result<void> read_number(const po::variables_map& values, const char* name, std::uint32_t highest,
                         std::optional<T>& place) {
  if (!values.count(name)) return {};
  const auto number = values[name].as<std::uint32_t>();
  if (number > highest) return fail(ErrorKind::usage, "--{} {}: expected 0 to {}", name, number, highest);
  place = static_cast<T>(number);
  return {};
}

}  // namespace

void add_packet_class_options(po::options_description& options) {
  options.add_options()(
      "traffic-class", po::value<std::uint32_t>()->value_name("N"),
      "the traffic class of all packets, 0 to 255: four times the DSCP (default: the hosts' "
      "NCCL_IB_TC, else 0)")(
      "service-level", po::value<std::uint32_t>()->value_name("N"),
      "the service level of queue pairs, 0 to 15 (default: the hosts' NCCL_IB_SL, else 0)")(
      "gid-index", po::value<std::uint32_t>()->value_name("N"),
      "the GID that queue pairs go by (default: the hosts' NCCL_IB_GID_INDEX, else the RoCE v2 GID of the "
      "NIC's address)");
}

Result<PacketClass> read_packet_class(const po::variables_map& values) {
  PacketClass wanted;
  if (const auto read = read_number(values, "traffic-class", kMaxClass, wanted.traffic_class); !read)
    return pass_on(read);
  if (const auto read = read_number(values, "service-level", kMaxLevel, wanted.service_level); !read)
    return pass_on(read);
  if (const auto read = read_number(values, "gid-index", kMaxIndex, wanted.gid_index); !read)
    return pass_on(read);
  return wanted;
}

std::vector<std::string> packet_class_words(const PacketClass& wanted) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const auto& value) {
    if (value) words.insert(words.end(), {name, std::to_string(*value)});
  };
  add("--traffic-class", wanted.traffic_class);
  add("--service-level", wanted.service_level);
  add("--gid-index", wanted.gid_index);
  return words;
}

Result<ChosenClass> choose_packet_class(const PacketClass& wanted, const Environment& environment) {
  const auto traffic = take(wanted.traffic_class, "NCCL_IB_TC", environment, kMaxClass);
  if (!traffic) return pass_on(traffic);
  const auto level = take(wanted.service_level, "NCCL_IB_SL", environment, kMaxLevel);
  if (!level) return pass_on(level);
  const auto index = take(wanted.gid_index, "NCCL_IB_GID_INDEX", environment, kMaxIndex);
  if (!index) return pass_on(index);
  ChosenClass chosen{static_cast<std::uint8_t>(traffic->value.value_or(0)),
                     static_cast<std::uint8_t>(level->value.value_or(0)), index->value, ""};
  chosen.said = fmt::format("traffic class {}{}, service level {}{}", chosen.traffic_class, traffic->source,
                            chosen.service_level, level->source);
  if (!index->source.empty()) chosen.said += fmt::format(", GID index {}{}", *index->value, index->source);
  return chosen;
}

}  // namespace weft
