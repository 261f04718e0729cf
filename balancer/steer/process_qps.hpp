// The queue pairs of one process of a job, as its interposer tells them in a file that others read: it has a
// header, a record for each, and at kLabelsAt a label list that an agent may write for this process alone.
// The process writes while others read: what they find torn they read again. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/steer/label_list.hpp"

namespace weft::steer {

/// Whose choice the label of a queue pair is.
enum class LabelSource : std::uint8_t { device, program, weft };
std::string_view to_string(LabelSource source);

/// What became of the latest change of a label while the queue pair lived.
enum class Move : std::uint8_t {
  none,
  under_way,  // posts are held until what flies has ended
  done,
  not_at_rest,  // it did not come to rest in time: it keeps its label
  refused,      // the device does not change it
  unseen        // the program posts by ibv_wr_*, which cannot be held
};
std::string_view to_string(Move move);

struct QpRecord {
  Gid own{};
  Gid peer{};
  QpNum number;
  QpNum peer_number;
  std::optional<PathLabel> label;  // absent: the DLID of a program's choice
  LabelSource source = LabelSource::device;
  Role role = Role::sends;
  Move move = Move::none;
  bool failed = false;                  // a completion told an error
  std::uint64_t bytes = 0;              // posted to be sent
  std::uint64_t under_way = 0;          // posts that ask for a completion and have none
  std::chrono::nanoseconds stalled{0};  // since anything completed, with work under way
  std::uint32_t errors = 0;
  std::uint32_t moves = 0;
  std::chrono::nanoseconds busy{0};               // in all with work under way, as seen 50 times a second
  std::optional<std::chrono::nanoseconds> quiet;  // since a completion; absent: there was none
  std::optional<std::uint8_t> timeout;            // local ACK timeout, 4.096 us * 2^timeout; 0: none
  std::optional<std::uint8_t> retries;
  std::string device;  // up to 15 characters
  friend bool operator==(const QpRecord&, const QpRecord&) = default;
};

struct ProcessQps {
  std::uint32_t pid = 0;
  std::optional<std::uint32_t> rank;
  std::uint64_t generation = 0;              // of the label list in force; 0: none
  std::chrono::nanoseconds written{0};       // since 1970
  std::uint32_t left_out = 0;                // queue pairs beyond kMaxQps
  std::chrono::nanoseconds list_written{0};  // since 1970, of that list
  bool holds_lock = false;                   // a record lock on its file, for as long as the process lives
  std::string job;                           // as job_text gives it; empty: none
  std::string host;                          // as the process has its name, up to 63 characters
  std::string program;                       // up to 63 characters
  std::string note;                          // why a label list is not in force; up to 159 characters
  std::vector<QpRecord> qps;
  friend bool operator==(const ProcessQps&, const ProcessQps&) = default;
};

inline constexpr std::uint32_t kQpsVersion = 2;
inline constexpr std::size_t kMaxQps = 8192;
inline constexpr std::size_t kQpsHeader = 512;
inline constexpr std::size_t kQpRecordSize = 128;
/// Where the label list for this process alone may stand, behind all records.
inline constexpr std::size_t kLabelsAt = std::size_t{2} << 20U;
static_assert(kQpsHeader + kMaxQps * kQpRecordSize <= kLabelsAt);

/// Texts too long are cut, records past kMaxQps left out and counted.
std::vector<std::byte> encode_qps(const ProcessQps& process);

/// Text is as outside_text gives it. Errors: invalid_input (no such file, of another version, cut short,
/// torn: its checksum does not fit).
Result<ProcessQps> decode_qps(ByteSpan bytes);

/// Whether the process said that it holds a lock on its file, unproven, by the first kQpsHeader bytes;
/// absent: they are no such file's.
std::optional<bool> peek_lock(ByteSpan header);

/// A job's name as files tell it: cut to 63 bytes, and harmless.
std::string job_text(std::string_view job);

/// Of a process's file, HOST-BOOT-NAMESPACE-PID.qps, the kernel that runs the process.
struct KernelName {
  std::string host;  // as a file's name may have it
  std::string boot;  // the first digits of the kernel's boot, which two hosts of one name differ in
  friend bool operator==(const KernelName&, const KernelName&) = default;
};
/// `boot_id`: as the kernel says it; empty: not known.
KernelName kernel_name(std::string_view host, std::string_view boot_id);
/// Absent: no process of ours gives its file such a name.
std::optional<KernelName> kernel_of_file(std::string_view name);
inline constexpr std::string_view kUnknownBoot = "00000000";

}  // namespace weft::steer
