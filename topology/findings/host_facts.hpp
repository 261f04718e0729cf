// HostFacts: what a host answers to `weft doctor` before a run: its inventory, and what a run needs of it
// beside its devices (weft itself, rights, limits, clock, drivers, room, the way back to who asks, what its
// kernel complained of). Read by topology/host, judged by probes/diagnosis/host. Plain values; what a host
// could not tell is absent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft {

enum class KernelOffenceKind : std::uint8_t {
  gpu_off_bus,    // NVIDIA Xid 79, "fallen off the bus"
  gpu_memory,     // uncorrectable, contained or not; a row that could not be remapped
  gpu_error,      // other Xids that no program causes
  host_memory,    // an uncorrectable error of the host's own memory
  pcie_error,     // uncorrected, by AER
  nic_unhealthy,  // mlx5: the device's health is compromised
};

/// Lines of the kernel log that say the same of one device.
struct KernelOffence {
  KernelOffenceKind kind = KernelOffenceKind::gpu_error;
  std::string device;                                // 0000:18:00.0; empty where the line names none
  std::optional<std::uint32_t> code = std::nullopt;  // the Xid
  std::uint64_t count = 0;
  std::string last;  // the last such line
  friend bool operator==(const KernelOffence&, const KernelOffence&) = default;
};

/// Room for files, by what people call the place.
struct FileRoom {
  std::string path;
  Bytes free;
  friend bool operator==(const FileRoom&, const FileRoom&) = default;
};

/// One NIC of the run towards the next: what answered to a packet that may not be fragmented.
struct PathToNic {
  std::string from;  // addresses
  std::string to;
  bool small_answered = false;
  std::optional<Bytes> full = std::nullopt;  // of the large packet, with its IP header; absent: none was sent
  bool full_answered = false;
  friend bool operator==(const PathToNic&, const PathToNic&) = default;
};

struct HostFacts {
  std::string version;         // of weft
  std::uint32_t protocol = 0;  // that its agent speaks
  std::string program;         // its path
  std::string machine;         // x86_64
  std::string kernel;
  /// Alike for two names of one host: its boot and its network namespace.
  std::string identity;
  std::optional<bool> sends_raw = std::nullopt;
  bool locks_any_memory = false;                         // CAP_IPC_LOCK, or no limit
  std::optional<Bytes> lock_limit = std::nullopt;        // RLIMIT_MEMLOCK
  Nanoseconds clock{};                                   // since 1970, as it was answered
  std::optional<bool> clock_follows = std::nullopt;      // the kernel says that something sets the clock
  std::optional<std::string> gpu_driver = std::nullopt;  // its version
  bool gpu_driver_is_open = false;                       // NVIDIA's open kernel modules: dma-buf works
  std::vector<std::string> drivers;  // of those that weft and NCCL ask for, the loaded ones
  std::vector<FileRoom> rooms;
  std::map<std::string, std::vector<std::string>> addresses;  // by interface, without those of the loopback
  bool kernel_log_read = false;
  std::vector<KernelOffence> offences;
  /// A connection to the port on which the coordinator would wait: absent where none was tried.
  std::optional<bool> reaches_coordinator = std::nullopt;
  std::optional<std::string> unreached_because = std::nullopt;
  /// Full segments over that connection are acknowledged: absent where none were sent.
  std::optional<bool> coordinator_takes_full = std::nullopt;
  std::vector<PathToNic> paths;
  HostInventory inventory;
  friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

/// fe80::/10 and 169.254.0.0/16: an address that only the neighbours on one link can reach.
bool is_link_local(std::string_view address);

std::string_view to_string(KernelOffenceKind kind);
std::optional<KernelOffenceKind> parse_offence_kind(std::string_view text);

}  // namespace weft
