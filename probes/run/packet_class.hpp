// How the packets of a run are marked: the traffic class (DSCP and ECN bits) and, of InfiniBand, the service
// level choose a queue in every switch; the GID index chooses among the addresses of a device. What is not
// asked for is the job's: an agent takes it from the variables by which NCCL is told.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::run {

struct PacketClass {
  std::optional<std::uint8_t> traffic_class;
  std::optional<std::uint8_t> service_level;  // 0 to 15
  std::optional<std::uint32_t> gid_index;
  friend bool operator==(const PacketClass&, const PacketClass&) = default;
};

inline constexpr std::uint32_t kMaxTrafficClass = 255;
inline constexpr std::uint32_t kMaxServiceLevel = 15;  // four bits, IBTA vol. 1
inline constexpr std::uint32_t kMaxGidIndex = 255;

/// What an agent uses, and where it has it from: "traffic class 106 (NCCL_IB_TC), service level 0".
struct ChosenClass {
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::optional<std::uint32_t> gid_index;
  std::string said;
};
/// Null where a variable is not set.
using Environment = std::function<const char*(const char* name)>;
/// Error: usage, naming the variable that holds something else than NCCL would take.
Result<ChosenClass> choose_packet_class(const PacketClass& wanted, const Environment& environment);

}  // namespace weft::run
