// The labels of a job's queue pairs as one process is told them: for each two GIDs a list, of which the n-th
// queue pair between them takes the n-th label. What writes it (an agent, `weft nccl steer`) and what reads
// it (the interposer in the job) share no more than these bytes, which either may find torn or forged. Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/bytes.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"
#include "topology/model/infiniband.hpp"
#include "topology/model/path.hpp"

namespace weft::steer {

/// As ibv_gid has it.
using Gid = std::array<std::uint8_t, 16>;
/// "10.0.1.1" of an IPv4-mapped one, "fd00::1" of another.
std::string gid_text(const Gid& gid);
/// The RoCE v2 GID of an address.
Gid gid_of(const IpAddress& address);

/// NCCL connects a channel with queue pairs of which one end sends data and the other answers with credits:
/// each end has a list of its own.
enum class Role : std::uint8_t { sends, answers };
std::string_view to_string(Role role);

struct PairLabels {
  Gid own{};
  Gid peer{};
  /// InfiniBand: the LIDs of the peer's port, of which the labels are some. Absent: RoCE, UDP source ports.
  std::optional<LidRange> peer_lids;
  Role role = Role::sends;
  std::vector<PathLabel> labels;
  friend bool operator==(const PairLabels&, const PairLabels&) = default;
};

struct LabelList {
  std::uint64_t generation = 0;  // of two lists the later one has the higher
  std::vector<PairLabels> pairs;
  std::chrono::nanoseconds written{0};  // since 1970, to be told; nothing is decided by it
  std::string job = {};                 // that alone may take it, up to 63 characters; empty: any
  friend bool operator==(const LabelList&, const LabelList&) = default;

  /// Of the n-th queue pair (from 0) of a role between two GIDs; past the list's end it starts again. A pair
  /// without a list for who answers takes none. On InfiniBand a peer whose GID is not said is known by a
  /// DLID of its port. Absent: no label.
  const PairLabels* find(const Gid& own, const Gid& peer, std::optional<Lid> dlid, Role role) const;
};

/// By which a job's processes, and who gives them labels, call their job: ours, Slurm, PBS, LSF.
inline constexpr std::array kJobVariables{"WEFT_NCCL_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};

/// The file of a directory of jobs that has the list of this one: "labels.4711"; of any job: "labels".
/// Letters that a file's name should not have are '-', and then a checksum tells jobs apart whose names
/// differ there.
std::string labels_file(std::string_view job);
/// Not of one that is just being written.
bool is_labels_file(std::string_view name);
/// Of one directory: with more the oldest lists go.
inline constexpr std::size_t kMaxLabelFiles = 64;

inline constexpr std::uint32_t kLabelVersion = 2;
inline constexpr std::size_t kMaxPairs = 4096;
inline constexpr std::size_t kMaxLabels = 65'536;  // of all pairs
inline constexpr std::size_t kLabelHeader = 112;
/// Of a list that is written: far above what steps of one reach, and below what forged bytes may say.
inline constexpr std::uint64_t kMaxGeneration = ~std::uint64_t{0} >> 1U;
inline constexpr std::size_t kMaxLabelBytes = kLabelHeader + kMaxPairs * 48 + kMaxLabels * 4;

/// Errors: invalid_input (more pairs or labels than kMaxPairs, kMaxLabels; a label that its pair cannot
/// have; a job's name that is too long).
Result<std::vector<std::byte>> encode_labels(const LabelList& list);

/// The generation that the first kLabelHeader bytes say, unproven; absent: they are no label list.
std::optional<std::uint64_t> peek_generation(ByteSpan header);

/// Bytes behind the list do not matter. Errors: invalid_input (no label list, of another version, half
/// written or changed: its checksum does not fit; a label that its pair cannot have).
Result<LabelList> decode_labels(ByteSpan bytes);

/// A text of at most `size` - 1 bytes, filled up with zeros; longer ones are cut. What is read is as
/// outside_text gives it.
void store_text(MutableByteSpan bytes, std::size_t at, std::size_t size, std::string_view text);
std::string load_text(ByteSpan bytes, std::size_t at, std::size_t size);
/// Nanoseconds since 1970, or none of what no clock says.
std::chrono::nanoseconds load_time(ByteSpan bytes, std::size_t at);

/// FNV-1a (Fowler, Noll and Vo), 64 bits: for what was torn, not against what was forged.
std::uint64_t checksum(ByteSpan bytes, std::uint64_t seed = 0xCBF29CE484222325ull);

}  // namespace weft::steer
