// Building, breaking, mending and ending labs. Every call reads and writes the lab's state file under
// `state_root`, so it works from any process of the same user and after a crash half way; one call at a time
// changes the labs of a state root (a lock, waited for at most kLockWait).
//
// State roots that the program uses: /run/weft/labs as root, $XDG_RUNTIME_DIR/weft/labs as a user.
#pragma once

#include <stop_token>
#include <vector>

#include "topology/lab/netns/fault.hpp"
#include "topology/lab/netns/lab.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::lab {

/// Where the labs of root are kept.
inline constexpr const char* kLabsOfRoot = "/run/weft/labs";

struct LabUp {
  Lab lab;
  bool was_up = false;  // nothing was done: that very fabric was up already
};

/// Builds the lab of `fabric` named `name`; on an error or a stop everything made so far is removed. What an
/// earlier crash left of that name is removed first. Errors: conflict (another fabric is up under that name,
/// or something else uses its namespaces), not_supported (InfiniBand; three tiers on a kernel before 6.11; no
/// tiered Clos), permission (no user namespaces; says what works without), absent (iproute2).
/// Precondition: as an ordinary user the process has one thread; it is in the lab's user namespace
/// afterwards.
Result<LabUp> lab_up(std::string_view name, const Fabric& fabric, const LabSettings& settings,
                     const std::filesystem::path& state_root, std::stop_token stop = {});

/// For who loads or watches the lab, as long as it lives.
using LabClaim = os::FileDescriptor;
enum class LabUse { load, watch };
/// What two load at once, each would take for a fault, and two watches would answer each other's probes; one
/// of each may be. No lab goes down under who loads it. Errors: conflict (another has it: says which
/// process), not_found.
Result<LabClaim> claim_lab(std::string_view name, const std::filesystem::path& state_root,
                           LabUse use = LabUse::load);

enum class WhenLoaded { refuse, end_it };
/// Ends the processes in the lab, removes its namespaces and state. True: there was something to remove.
/// Error: conflict where someone has claimed the lab, unless `end_it`: his processes end too.
Result<bool> lab_down(std::string_view name, const std::filesystem::path& state_root,
                      WhenLoaded when_loaded = WhenLoaded::refuse);

/// Adds to the faults of the link; a fault of the same sort on the same channel is replaced.
Result<void> lab_fault(const Lab& lab, const FaultSpec& spec, const std::filesystem::path& state_root);
/// Ends all faults of one link, or of all links; true: there were some.
Result<bool> lab_heal(const Lab& lab, std::optional<LinkId> link, const std::filesystem::path& state_root);

enum class LabPhase {
  up,
  half_up,  // being built, or a crash while it was
  gone,     // its namespaces no longer exist (reboot, holder killed)
};
std::string_view to_string(LabPhase phase);

struct ActiveFault {
  ChannelId channel;
  ChannelFault fault;
  bool load_ended = false;  // its sender has gone (kMaxLoad, or killed)
};

struct LabStatus {
  std::string name;
  LabPhase phase;
  Lab lab;
  std::vector<ActiveFault> faults;  // by channel
  std::vector<LinkId> down;
  std::vector<std::string> ended_guests;  // that should run
};
Result<LabStatus> lab_status(std::string_view name, const std::filesystem::path& state_root);
/// The names of all labs of a state root, sorted.
std::vector<std::string> lab_names(const std::filesystem::path& state_root);

}  // namespace weft::lab
