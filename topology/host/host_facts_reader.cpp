#include "topology/host/host_facts_reader.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>

#include "topology/base/outside_text.hpp"
#include "topology/host/host_reader.hpp"
#include "topology/host/interfaces.hpp"
#include "topology/host/kernel_log.hpp"
#include "topology/host/nic_paths.hpp"
#include "topology/host/sysfs_values.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/socket_address.hpp"

namespace weft::host {
namespace {

namespace fs = std::filesystem;

// Modules that weft's queue pairs, GPUs and transfers between both need.
constexpr std::array kDrivers{"mlx5_core", "mlx5_ib", "ib_uverbs",      "bnxt_re",    "irdma",
                              "rdma_rxe",  "nvidia",  "nvidia_peermem", "nvidia_uvm", "amdgpu"};
constexpr int kConnectMs = 2000;
/// Bytes: several full segments of 9,000, and no more than a kernel takes in for a listener that reads
/// nothing.
constexpr std::size_t kMaxFull = 32'768;
constexpr std::size_t kMaxLine = 300;
constexpr std::size_t kMaxInterfaces = 128;  // a report with more is not read

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return outside_text(line.substr(0, kMaxLine));
}

/// A bit of CapEff of /proc/self/status.
bool has_capability(unsigned capability) {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view kName = "CapEff:\t";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kName)) continue;
    std::uint64_t bits = 0;
    std::from_chars(line.data() + kName.size(), line.data() + line.size(), bits, 16);
    return (bits >> capability & 1) != 0;
  }
  return false;
}

/// The boot's id and the network namespace: two names that answer alike are one host. Hosts of a lab, or
/// containers with networks of their own, are several.
std::string identity() {
  struct stat net {};
  const bool known = stat("/proc/self/ns/net", &net) == 0;
  return fmt::format("{}/{}", first_line("/proc/sys/kernel/random/boot_id"), known ? net.st_ino : 0);
}

/// Where nobody said which NICs are meant, `all` with an address are told: virtual ones too (a bond, a VLAN,
/// a container's cable), for probes may go by them.
void read_interfaces(HostFacts& report, bool all) {
  auto& nics = report.inventory.nics;
  for (const NetworkInterface& interface : interfaces_of_kernel()) {
    if (interface.name == "lo" || interface.addresses.empty()) continue;
    // Of pods there may be hundreds, each with a cable that has the address of its link alone.
    if (!interface.pci && std::ranges::all_of(interface.addresses, is_link_local)) continue;
    if (report.addresses.size() == kMaxInterfaces) break;
    report.addresses[interface.name] = interface.addresses;
    if (all && std::ranges::count(nics, std::optional(interface.name), &NicInventory::interface) == 0)
      nics.push_back({.interface = interface.name,
                      .driver = interface.driver,
                      .mtu = interface.mtu,
                      .up = interface.up});
  }
}

void read_rights(HostFacts& report) {
  const os::FileDescriptor raw(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  report.sends_raw = static_cast<bool>(raw);
  rlimit limit{};
  const bool told = getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
  const bool unlimited = told && limit.rlim_cur == RLIM_INFINITY;
  report.locks_any_memory = unlimited || has_capability(CAP_IPC_LOCK);
  if (told && !unlimited)
    report.lock_limit = Bytes(static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, 1ULL << 60)));
}

void read_clock(HostFacts& report) {
  timex asked{};
  const int state = adjtimex(&asked);
  if (state >= 0) report.clock_follows = state != TIME_ERROR && (asked.status & STA_UNSYNC) == 0;
  report.clock = std::chrono::system_clock::now().time_since_epoch();
}

void read_gpu_driver(HostFacts& report) {
  const auto version = sysfs_line("/sys/module/nvidia/version");
  report.gpu_driver = version ? version : sysfs_line("/sys/module/amdgpu/version");
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build ..."
  report.gpu_driver_is_open =
      first_line("/proc/driver/nvidia/version").find("Open Kernel Module") != std::string::npos;
}

std::vector<FileRoom> rooms_of(const std::vector<std::string>& paths) {
  std::vector<FileRoom> rooms;
  for (const std::string& path : paths) {
    struct statvfs found {};
    if (statvfs(path.c_str(), &found) != 0) continue;
    const auto free = static_cast<double>(found.f_bavail) * static_cast<double>(found.f_frsize);
    rooms.push_back({path, Bytes(static_cast<std::int64_t>(std::min(free, 1e18)))});
  }
  return rooms;
}

/// Whether all that was sent is acknowledged in time: a path that swallows full packets, and tells nobody,
/// lets the connection be made and nothing of size through. Absent: it was ended before that was known.
std::optional<bool> takes_full_segments(int line) {
  const std::vector<char> bytes(kMaxFull, 0);
  if (send(line, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) <= 0) return std::nullopt;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kConnectMs);
  while (std::chrono::steady_clock::now() < deadline) {
    int waiting = 0;
    if (ioctl(line, SIOCOUTQ, &waiting) != 0) return std::nullopt;
    pollfd ended{.fd = line, .events = 0, .revents = 0};
    if (poll(&ended, 1, 0) > 0) return std::nullopt;  // an end by reset empties the queue too
    if (waiting == 0) return true;
    poll(nullptr, 0, 5);
  }
  return false;
}

/// Whether hosts reach the coordinator as agents must, and with full packets.
void try_way_back(const IpAddress& address, std::uint16_t port, HostFacts& report) {
  const auto failed = [&](std::string why) {
    report.reaches_coordinator = false;
    report.unreached_because = std::move(why);
  };
  const os::FileDescriptor line(
      socket(address.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto to = os::socket_address(address, UdpPort(port));
  if (!line) return failed(std::strerror(errno));
  if (connect(line.get(), to.get(), to.size) != 0) {
    if (errno != EINPROGRESS) return failed(std::strerror(errno));
    pollfd open{.fd = line.get(), .events = POLLOUT, .revents = 0};
    if (poll(&open, 1, kConnectMs) <= 0)
      return failed(fmt::format("no answer within {} s", kConnectMs / 1000));
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(line.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return failed(std::strerror(error));
  }
  report.reaches_coordinator = true;
  report.coordinator_takes_full = takes_full_segments(line.get());
}

void try_paths(const std::vector<NicPair>& pairs, HostFacts& report) {
  for (const NicPair& pair : pairs) {
    const auto own = IpAddress::parse(pair.own);
    const auto nic =
        std::ranges::find(report.inventory.nics, std::optional(pair.own), &NicInventory::served_as);
    if (!own || nic == report.inventory.nics.end() || !nic->mtu) continue;
    if (auto path = try_path(*own, pair.other, *nic->mtu))
      report.paths.push_back(std::move(*path));
    else
      report.inventory.gaps.push_back(path.error().message);
  }
}

void read_devices(HostFacts& report) {
  read_gpu_driver(report);
  for (const char* driver : kDrivers)
    if (fs::exists(fs::path("/sys/module") / driver)) report.drivers.emplace_back(driver);
  const auto log = read_kernel_log();
  report.kernel_log_read = log.has_value();
  if (log)
    report.offences = offences_in(*log);
  else
    report.inventory.gaps.push_back("the kernel's log: " + log.error().message);
}

}  // namespace

Result<HostFacts> read_facts(const FactsQuestion& question) {
  HostFacts report{.version = question.version, .protocol = question.protocol, .program = question.program};
  utsname system{};
  if (uname(&system) == 0) {
    report.machine = outside_text(system.machine);
    report.kernel = outside_text(system.release);
  }
  report.identity = identity();
  WEFT_TRY(report.inventory,
           read_host({.serves = question.serves, .shares_machine = question.shares_machine}));
  read_interfaces(report, question.serves.empty());
  read_rights(report);
  if (!question.shares_machine) read_devices(report);
  report.rooms = rooms_of(question.rooms);
  if (question.coordinator) try_way_back(*question.coordinator, question.coordinator_port, report);
  try_paths(question.pairs, report);
  read_clock(report);
  return report;
}

}  // namespace weft::host
