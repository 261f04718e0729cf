// FlightDump: what one rank's Flight Recorder of PyTorch kept of its last collectives, versions 2.2 to 2.10
// of the dump, as pickle or JSON (torch/csrc/distributed/c10d/FlightRecorder*.hpp). A dump says neither its
// rank nor its host: the rank stands at the end of the file's name. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::nccl {

class DumpTree;

/// Of a job, not of a communicator.
using Rank = std::uint32_t;
inline constexpr Rank kMaxRank = 999'999;

enum class EntryState : std::uint8_t { scheduled, started, completed };

/// What all ranks of a group must do alike: elements and types, not shapes, are what NCCL needs equal.
struct Operation {
  std::string name;  // "nccl:all_reduce"
  std::uint64_t input_elements = 0;
  std::uint64_t output_elements = 0;
  std::string input_type;  // "Float", of several "Float, Int"
  std::string output_type;
  friend bool operator==(const Operation&, const Operation&) = default;
};
std::string to_string(const Operation& operation);  // all_reduce of 1048576 Float

struct FlightEntry {
  std::uint64_t record = 0;      // counts within the dump, over all groups
  std::uint64_t collective = 0;  // collective_seq_id: the n-th of its group
  std::uint64_t p2p = 0;
  std::uint32_t group = 0;      // in FlightDump::groups
  std::uint32_t operation = 0;  // in FlightDump::operations
  EntryState state = EntryState::scheduled;
  bool is_p2p = false;
  bool retired = false;  // retired and not completed: it timed out
  /// Reported to be completed, and seconds later the watchdog has not retired it: the call that launches it
  /// has not returned. The event that says "completed" was then never recorded, and CUDA calls such an event
  /// done.
  bool in_call = false;
  // Nanoseconds on the rank's own clock; 0: not known.
  std::int64_t created = 0;
  std::int64_t started = 0;
  std::int64_t completed = 0;
  std::int64_t duration = 0;     // of its kernel, nanoseconds; 0: not known
  std::uint64_t timeout_ms = 0;  // 0: not said
};

/// A process group, by the name that all its ranks know it by.
struct FlightGroup {
  std::string name;
  std::string description;
  std::vector<Rank> ranks;  // ascending, each once; empty: the dump does not say
};

/// PT_activeOps of NCCLX: a transfer that a proxy has under way.
struct ActiveTransfer {
  Rank remote = 0;  // within its communicator
  std::uint32_t channel = 0;
  bool sends = false;  // or receives
};

/// Of NCCLX, one communicator of nccl_comm_state.
struct ProxyState {
  std::string communicator;                 // as all its ranks name it
  std::optional<Rank> rank = std::nullopt;  // of the dump, within it
  bool is_whole = false;                    // `active` is all that its proxies have under way
  std::vector<ActiveTransfer> active = {};
};

struct FlightDump {
  std::string version;
  std::vector<FlightGroup> groups;
  std::vector<Operation> operations;
  std::vector<FlightEntry> entries;  // in the order of the dump
  std::vector<ProxyState> proxies;   // none of stock NCCL
  std::vector<std::string> remarks;  // what of it could not be used
};

/// Errors (invalid_input): what read_pickle or read_json_dump refuse, another version, members that are not
/// what they should be.
Result<FlightDump> parse_flight_dump(std::string_view text);
/// The same for dump after dump: `scratch` keeps its memory from one to the next.
Result<FlightDump> parse_flight_dump(std::string_view text, DumpTree& scratch);

/// The number at the end of a file's name, as in nccl_trace_rank_17 (or 17.json); absent: none, or above
/// kMaxRank.
std::optional<Rank> rank_of_file(std::string_view name);

}  // namespace weft::nccl
