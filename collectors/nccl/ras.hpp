// What NCCL's RAS subsystem answers to STATUS (NCCL 2.24 on; as JSON from 2.28.7): which processes have which
// ranks of which communicators, and which do not answer. Both forms as NCCL 2.28.9 writes them, and as in
// NVIDIA's published samples (docs.nvidia.com, NCCL user guide, "RAS"); NVIDIA calls the text an illustration
// that varies from release to release. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/nccl/flight_dump.hpp"
#include "topology/base/result.hpp"

namespace weft::nccl {

/// RAS declares a process dead after so many seconds without an answer.
inline constexpr std::uint64_t kRasDeadAfterS = 60;

enum class RasState : std::uint8_t { answers, missing, unresponsive, dead };

struct RasRank {
  Rank rank = 0;     // within the communicator
  std::string host;  // its address; empty: not told
  std::optional<std::uint64_t> pid = std::nullopt;
  RasState state = RasState::answers;
  std::optional<std::uint64_t> launched = std::nullopt;  // collectives of the communicator; text: not told
};

struct RasCommunicator {
  std::string hash;
  std::optional<std::uint64_t> size = std::nullopt;
  std::vector<RasRank> ranks;  // of a text those that it names
};

struct RasProcess {
  std::string host;
  std::uint64_t pid = 0;
  RasState state = RasState::unresponsive;
};

struct RasReport {
  std::string version;  // of NCCL; a text does not tell it
  std::vector<RasCommunicator> communicators;
  std::vector<RasProcess> processes;  // those that do not answer, where the report names them by themselves
  std::vector<std::string> remarks;
};

/// Lines before the JSON ("OK", of SET FORMAT) are passed over. Error (invalid_input): neither form, cut
/// short, too large.
Result<RasReport> parse_ras(std::string_view text);

}  // namespace weft::nccl
