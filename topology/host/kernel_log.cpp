#include "topology/host/kernel_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <tuple>

#include "topology/base/outside_text.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::host {
namespace {

// What the numbers mean: NVIDIA, "Xid Errors" (docs.nvidia.com/deploy/xid-errors), tables of the causes.
constexpr std::uint32_t kFallenOffTheBus = 79;
constexpr std::array<std::uint32_t, 7> kOfPrograms{13, 31, 32, 43, 45, 68, 69};
constexpr std::array<std::uint32_t, 6> kOfMemory{48, 63, 64, 92, 94, 95};

constexpr std::size_t kMaxKinds = 128;  // of kind, device and code: a log that has more says it well enough
constexpr std::size_t kMaxLine = 300;
constexpr std::size_t kMaxRecords = 500'000;

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

/// The first PCI address ("0000:18:00.0", "0000:18:00") at or after `from`, as a function's; empty: none.
std::string pci_address_in(std::string_view line, std::size_t from = 0) {
  constexpr std::size_t kLength = 10;  // 0000:18:00
  for (std::size_t at = from; at + kLength <= line.size(); ++at) {
    const auto text = line.substr(at, kLength);
    bool fits = text[4] == ':' && text[7] == ':' && (at == 0 || !is_hex(line[at - 1]));
    for (const std::size_t i : {0, 1, 2, 3, 5, 6, 8, 9}) fits = fits && is_hex(text[i]);
    if (!fits) continue;
    const bool has_function = line.size() > at + kLength + 1 && line[at + kLength] == '.' &&
                              line[at + kLength + 1] >= '0' && line[at + kLength + 1] <= '7';
    return std::string(text) + (has_function ? std::string(line.substr(at + kLength, 2)) : ".0");
  }
  return {};
}

struct KernelEvent {
  KernelOffenceKind kind;
  std::string device;
  std::optional<std::uint32_t> code = std::nullopt;
};

/// "NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
std::optional<KernelEvent> xid_in(std::string_view line) {
  constexpr std::string_view kMark = "NVRM: Xid (";
  const auto mark = line.find(kMark);
  const auto end = mark == std::string_view::npos ? mark : line.find("): ", mark);
  if (end == std::string_view::npos) return std::nullopt;
  std::uint32_t code = 0;
  const auto number = line.substr(end + 3);
  if (std::from_chars(number.data(), number.data() + number.size(), code).ec != std::errc{})
    return std::nullopt;
  if (std::ranges::count(kOfPrograms, code) > 0) return std::nullopt;
  const auto kind = code == kFallenOffTheBus                  ? KernelOffenceKind::gpu_off_bus
                    : std::ranges::count(kOfMemory, code) > 0 ? KernelOffenceKind::gpu_memory
                                                              : KernelOffenceKind::gpu_error;
  return KernelEvent{kind, pci_address_in(line, mark), code};
}

std::optional<KernelEvent> event_in(std::string_view line) {
  const auto has = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
  if (auto xid = xid_in(line)) return xid;
  if (has("NVRM: ") && has("has fallen off the bus"))
    return KernelEvent{KernelOffenceKind::gpu_off_bus, pci_address_in(line), kFallenOffTheBus};
  if (has("amdgpu") && has("uncorrectable hardware errors detected"))
    return KernelEvent{KernelOffenceKind::gpu_memory, pci_address_in(line)};
  if ((has("EDAC MC") && has(" UE ")) || has("Uncorrected hardware memory error"))
    return KernelEvent{KernelOffenceKind::host_memory, {}};
  if (has("PCIe Bus Error: severity=Uncorrect"))
    return KernelEvent{KernelOffenceKind::pcie_error, pci_address_in(line)};
  if (has("mlx5_core") && (has("device's health compromised") || has("handling bad device here")))
    return KernelEvent{KernelOffenceKind::nic_unhealthy, pci_address_in(line)};
  return std::nullopt;
}

/// The message of a record of /dev/kmsg, "6,339,5140900,-;text\n KEY=value\n", where the kernel itself wrote
/// it: what programs write there has another facility.
std::string_view kernel_message(std::string_view record) {
  const auto start = record.find(';');
  unsigned priority = 0;
  if (start == std::string_view::npos ||
      std::from_chars(record.data(), record.data() + start, priority).ec != std::errc{} || priority >= 8)
    return {};
  record.remove_prefix(start + 1);
  return record.substr(0, record.find('\n'));
}

}  // namespace

std::vector<KernelOffence> offences_in(std::string_view log) {
  std::map<std::tuple<KernelOffenceKind, std::string, std::optional<std::uint32_t>>, KernelOffence> found;
  while (!log.empty()) {
    const auto end = std::min(log.find('\n'), log.size());
    const auto line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    const auto said = event_in(line);
    if (!said) continue;
    const auto key = std::tuple(said->kind, said->device, said->code);
    if (found.size() >= kMaxKinds && !found.contains(key)) continue;
    KernelOffence& offence = found[key];
    offence.kind = said->kind;
    offence.device = said->device;
    offence.code = said->code;
    ++offence.count;
    offence.last = outside_text(line.substr(0, kMaxLine));
  }
  std::vector<KernelOffence> all;
  for (auto& [key, offence] : found) all.push_back(std::move(offence));
  return all;
}

Result<std::string> read_kernel_log() {
  const os::FileDescriptor log(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log)
    return fail(errno == ENOENT ? ErrorKind::absent : ErrorKind::permission, "/dev/kmsg: {}",
                std::strerror(errno));
  std::string text;
  std::array<char, 8192> record{};  // the kernel gives one a call, and none is longer
  for (std::size_t i = 0; i < kMaxRecords; ++i) {
    const auto got = read(log.get(), record.data(), record.size());
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;  // overwritten while we read
    if (got < 0 && errno != EAGAIN)
      return fail(errno == EPERM ? ErrorKind::permission : ErrorKind::absent, "/dev/kmsg: {}",
                  std::strerror(errno));
    if (got <= 0) break;
    const auto message = kernel_message({record.data(), static_cast<std::size_t>(got)});
    text += message;
    text += '\n';
  }
  return text;
}

}  // namespace weft::host
