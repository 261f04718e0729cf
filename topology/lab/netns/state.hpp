// LabState: what is known of a lab beside what the kernel holds, kept as JSON in STATE_ROOT/NAME/state.json
// so that any process of the user can go on with it, also after a crash half way. The file is replaced as a
// whole; who changes a lab holds the StateLock of its root.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "topology/lab/netns/fault.hpp"
#include "topology/lab/netns/lab.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/processes.hpp"

namespace weft::lab {

/// A process that keeps a fault alive.
struct LabWorker {
  enum class Kind { load, delay };
  Kind kind;
  ChannelId channel;
  os::ProcessMark process;
};

struct LabState {
  std::string name;
  LabOwner owner = LabOwner::root;
  bool complete = false;                                 // everything was built
  std::optional<os::ProcessMark> holder = std::nullopt;  // of an ordinary user's lab
  Fabric fabric;
  LabSettings settings;
  std::map<ChannelId, ChannelFault> faults = {};
  std::set<LinkId> down = {};
  std::vector<LabWorker> workers = {};
};

nlohmann::json to_json(const LabState& state);
/// Error: invalid_input, naming the part that is not as to_json writes it.
Result<LabState> lab_state_from_json(const nlohmann::json& document);

/// True: the same nodes, ports, links and settings.
bool same_fabric(const LabState& a, const LabState& b);

std::filesystem::path state_directory(const std::filesystem::path& state_root, std::string_view name);
/// Where the files of the lab's namespaces lie: of an ordinary user's, and of any lab.
std::filesystem::path user_namespace_directory(const std::filesystem::path& state_root,
                                               std::string_view name);
std::filesystem::path namespace_directory(const std::filesystem::path& state_root, const LabState& state);

Result<void> write_lab_state(const std::filesystem::path& state_root, const LabState& state);
/// Error: not_found (no such lab, with the names of those there are), invalid_input (a damaged file).
Result<LabState> read_lab_state(const std::filesystem::path& state_root, std::string_view name);

/// One change of a state root at a time, over all processes. A file of mode 0600, gone with the lock: whoever
/// may open a file or a directory may hold its lock.
class StateLock {
 public:
  static constexpr std::chrono::seconds kMaxWait{60};
  /// Makes the root where there is none. Errors: timeout, permission.
  static Result<StateLock> take(const std::filesystem::path& state_root);
  StateLock(StateLock&&) = default;
  StateLock& operator=(StateLock&&) = delete;
  ~StateLock();

 private:
  StateLock(std::filesystem::path path, os::FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::filesystem::path path_;
  os::FileDescriptor file_;
};

// What the parts of the lab know of each other: a Lab from its state, and how far it got.

struct LabAccess {
  /// Joins nothing and asks the kernel nothing.
  static Result<Lab> describe(const LabState& state, const std::filesystem::path& state_root);
};

/// Where the lab stands, by its state file and what the kernel still holds of it.
LabPhase phase_of(const LabState& state, const std::filesystem::path& state_root);

/// The lab's namespaces' files: the management network's first, then the nodes' in their order.
std::vector<std::filesystem::path> namespace_files(const LabState& state,
                                                   const std::filesystem::path& state_root);

/// Takes away all of a lab but its state file. With the StateLock held.
Result<void> clear_kernel(const LabState& state, const std::filesystem::path& state_root);

}  // namespace weft::lab
