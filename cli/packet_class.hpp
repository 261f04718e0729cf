// How the packets of a run are marked: the traffic class (DSCP and ECN bits) and, of InfiniBand, the service
// level choose a queue in every switch; the GID index chooses among the addresses of a device. What is not
// asked for is the job's: an agent takes it from the variables by which NCCL is told.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace weft {

struct PacketClass {
  std::optional<std::uint8_t> traffic_class;
  std::optional<std::uint8_t> service_level;  // 0 to 15
  std::optional<std::uint32_t> gid_index;
  friend bool operator==(const PacketClass&, const PacketClass&) = default;
};

void add_packet_class_options(po::options_description& options);
/// Error: usage, naming the option and its range.
Result<PacketClass> read_packet_class(const po::variables_map& values);
/// The words by which another weft reads the same.
std::vector<std::string> packet_class_words(const PacketClass& wanted);

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

}  // namespace weft
