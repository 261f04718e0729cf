#include "probes/engine/dpdk/dpdk_arguments.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>

#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::dpdk {
namespace {

constexpr std::size_t kMaxText = 4096;
constexpr std::string_view kDriver = kPacketSockets;

// Of a ring of packet_mmap: what stands before a frame in its place (tpacket2_hdr, sockaddr_ll, alignment:
// packet(7) and the kernel's packet_mmap.rst), and the Ethernet header with a tag.
constexpr std::size_t kRingHeader = 80;
constexpr std::size_t kLinkHeader = 18;
constexpr std::size_t kFrameStep = 2048;
constexpr std::size_t kMaxFrame = std::size_t{1} << 15;  // a buffer of DPDK has a size of 16 bits
constexpr std::size_t kPage = 4096;
// With 512 frames, the driver's default, 16 to 36 % of echoes found no place on a busy host; with 4,096 none
// did.
constexpr std::size_t kRingFrames = 4096;
constexpr std::size_t kMaxRingFrames = std::size_t{1} << 20;

enum class Takes { nothing, value };

struct Option {
  std::string_view name;
  Takes takes;
};

/// Those that say where DPDK has its memory and CPUs. The others start programs, load drivers, write files or
/// print help.
constexpr auto kOptions = std::to_array<Option>({{"--no-huge", Takes::nothing},
                                                 {"--no-pci", Takes::nothing},
                                                 {"--no-telemetry", Takes::nothing},
                                                 {"--no-shconf", Takes::nothing},
                                                 {"--in-memory", Takes::nothing},
                                                 {"--legacy-mem", Takes::nothing},
                                                 {"--single-file-segments", Takes::nothing},
                                                 {"--vdev", Takes::value},
                                                 {"-m", Takes::value},
                                                 {"--socket-mem", Takes::value},
                                                 {"--huge-dir", Takes::value},
                                                 {"--file-prefix", Takes::value},
                                                 {"--iova-mode", Takes::value},
                                                 {"-l", Takes::value},
                                                 {"--lcores", Takes::value}});

constexpr auto kSettings =
    std::to_array<std::string_view>({"iface", "qpairs", "blocksz", "framesz", "framecnt", "qdisc_bypass"});

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<DeviceSpec> parse_device(std::string_view text) {
  const auto parts = split(text, ',');
  DeviceSpec device{.driver = parts[0].substr(0, parts[0].find_last_not_of("0123456789") + 1),
                    .settings = {}};
  if (device.driver != kDriver)
    return fail(ErrorKind::usage, "--dpdk-args: no device '{}': expected {}0,iface=INTERFACE",
                outside_text(parts[0]), kDriver);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto is = parts[i].find('=');
    const auto name = parts[i].substr(0, is);
    if (is == std::string::npos || is + 1 == parts[i].size() || std::ranges::count(kSettings, name) == 0)
      return fail(ErrorKind::usage, "--dpdk-args: '{}' of {} is none of its settings: it takes {}",
                  outside_text(parts[i]), kDriver, fmt::join(kSettings, ", "));
    if (std::ranges::count(device.settings, name, &std::pair<std::string, std::string>::first) > 0)
      return fail(ErrorKind::usage, "--dpdk-args: {} of {} is said twice", name, kDriver);
    device.settings.emplace_back(name, parts[i].substr(is + 1));
  }
  return device;
}

std::optional<std::string> setting(const DeviceSpec& device, std::string_view name) {
  const auto found = std::ranges::find(device.settings, name, &std::pair<std::string, std::string>::first);
  return found == device.settings.end() ? std::nullopt : std::optional(found->second);
}

/// A setting that is a number from `least` to `most`; `usual` where it is not said.
Result<std::size_t> number(const DeviceSpec& device, std::string_view name, std::size_t usual,
                           std::size_t least, std::size_t most) {
  const auto given = setting(device, name);
  if (!given) return usual;
  const auto value = parse_whole_number<std::size_t>(*given);
  if (!value || *value < least || *value > most)
    return fail(ErrorKind::usage, "--dpdk-args: {}={}: expected {} to {}", name, outside_text(*given), least,
                most);
  return *value;
}

/// Whole frames and whole pages, the least that leaves little of what the kernel takes for it: it takes
/// powers of two.
std::size_t block_of(std::size_t frame) {
  constexpr std::size_t kMaxOfBlock = std::size_t{1} << 16;
  const auto whole = std::lcm(frame, kPage);
  const auto left = [](std::size_t block) {
    return (std::bit_ceil(block) - block) * 8 / std::bit_ceil(block);
  };
  if (whole > kMaxOfBlock) return std::max(frame, kPage);
  auto best = whole;
  for (auto block = whole; block <= kMaxOfBlock; block += whole)
    if (left(block) < left(best)) best = block;
  return best;
}

}  // namespace

Result<DpdkArguments> parse_dpdk_arguments(std::string_view text) {
  if (text.size() > kMaxText)
    return fail(ErrorKind::usage, "--dpdk-args: {} characters: expected at most {}", text.size(), kMaxText);
  DpdkArguments arguments;
  auto words = split(text, ' ');
  std::erase(words, "");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto is = words[i].starts_with("--") ? words[i].find('=') : std::string::npos;
    const auto name = words[i].substr(0, is);
    const auto option = std::ranges::find(kOptions, name, &Option::name);
    if (option == kOptions.end())
      return fail(
          ErrorKind::usage,
          "--dpdk-args: '{}' is no option that weft passes on: devices by --vdev, memory by -m, --no-huge, "
          "--socket-mem, --huge-dir and --file-prefix, CPUs by -l and --lcores",
          outside_text(name));
    const bool takes = option->takes == Takes::value;
    if (!takes && is != std::string::npos)
      return fail(ErrorKind::usage, "--dpdk-args: {} takes no value", name);
    if (takes && is == std::string::npos && i + 1 == words.size())
      return fail(ErrorKind::usage, "--dpdk-args: {} needs a value", name);
    const std::string value = !takes ? "" : is == std::string::npos ? words[++i] : words[i].substr(is + 1);
    if (name == "--vdev") {
      WEFT_TRY(auto device, parse_device(value));
      arguments.devices.push_back(std::move(device));
      continue;
    }
    arguments.start.push_back(name);
    if (takes) arguments.start.push_back(value);
  }
  return arguments;
}

Result<DeviceSpec> device_for(const DpdkArguments& arguments, const std::string& interface) {
  const DeviceSpec* any = nullptr;
  for (const DeviceSpec& device : arguments.devices) {
    const auto of = setting(device, "iface");
    if (of == interface) return device;
    if (any == nullptr && of == kInterfacePlace) any = &device;
  }
  if (any == nullptr)
    return fail(ErrorKind::usage,
                "--dpdk-args names no device for {}: add --vdev={}0,iface={} (or iface={} for every NIC)",
                interface, kDriver, interface, kInterfacePlace);
  DeviceSpec device = *any;
  std::ranges::find(device.settings, "iface", &std::pair<std::string, std::string>::first)->second =
      interface;
  return device;
}

Result<SizedDevice> sized_for(const DeviceSpec& device, std::size_t mtu, std::size_t max_ring) {
  const auto needed = mtu + kLinkHeader + kRingHeader;
  if (needed > kMaxFrame)
    return fail(ErrorKind::not_supported, "MTU {}: DPDK's buffers hold an MTU of {} at most", mtu,
                kMaxFrame - kLinkHeader - kRingHeader);
  const auto usual = (needed + kFrameStep - 1) / kFrameStep * kFrameStep;
  WEFT_TRY(const auto frame, number(device, "framesz", usual, kRingHeader + kLinkHeader, kMaxFrame));
  if (frame < needed)
    return fail(ErrorKind::usage, "--dpdk-args: framesz={} holds no frame of MTU {}: give {} or leave it out",
                frame, mtu, usual);
  WEFT_TRY(const auto block, number(device, "blocksz", block_of(frame), frame, kMaxFrame * 8));
  if (block % frame != 0 || block % kPage != 0)
    return fail(ErrorKind::usage, "--dpdk-args: blocksz={}: expected a multiple of framesz={} and of {}",
                block, frame, kPage);
  const auto in_block = block / frame;
  const auto frames = std::clamp(max_ring / frame, in_block, kRingFrames);
  WEFT_TRY(const auto asked, number(device, "framecnt", frames, in_block, kMaxRingFrames));
  const auto count = asked / in_block * in_block;  // the kernel wants whole blocks
  WEFT_TRY(const auto queues, number(device, "qpairs", 1, 1, kMaxQueues));
  SizedDevice sized{.settings = "",
                    .frame = frame,
                    .queues = static_cast<unsigned>(queues),
                    .rings = 2 * frame * count * queues};
  const std::pair<std::string_view, std::size_t> sizes[] = {
      {"framesz", frame}, {"blocksz", block}, {"framecnt", count}};
  for (const auto& [name, value] : device.settings)
    if (std::ranges::count(sizes, std::string_view(name), &std::pair<std::string_view, std::size_t>::first) ==
        0)
      sized.settings += fmt::format("{}{}={}", sized.settings.empty() ? "" : ",", name, value);
  for (const auto& [name, value] : sizes) sized.settings += fmt::format(",{}={}", name, value);
  // The driver's own default passes the interface's queue by: a shaped one would be probed as if it were not.
  if (!setting(device, "qdisc_bypass")) sized.settings += ",qdisc_bypass=0";
  return sized;
}

}  // namespace weft::dpdk
