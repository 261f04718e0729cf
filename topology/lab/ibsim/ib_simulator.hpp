// IbSimulator: ibsim with a fabric in it and OpenSM beside it, as children of this process or on their own.
// It is reached by libibumad under ibsim's preload library: environment_at() says how. Commands go to ibsim's
// console through a named pipe in its directory, so that other processes can give them too.
#pragma once

#include <filesystem>
#include <stop_token>

#include "topology/model/ib_subnet.hpp"
#include "topology/os/child_process.hpp"

namespace weft::lab {

struct IbSimulatorSpec {
  std::filesystem::path directory;  // for its files; made, and owned by it
  std::string name;                 // of its sockets: unique on this machine
  std::string routing = "minhop";   // OpenSM's engine
  std::uint8_t lmc = 0;
  IbNodeNames descriptions = {};                 // of nodes that do not say their names
  bool outlives_us = false;                      // runs on when this process ends
  bool one_sm_sweep = false;                     // OpenSM sets the fabric up and ends
  Nanoseconds limit = std::chrono::seconds(60);  // for the fabric to come up
};

/// What ibsim's own text file needs besides a dump: it knows no speed above HDR.
inline constexpr LinkSpeed kFastestInIbsim = LinkSpeed::hdr;
/// ibsim takes ten clients in all; one is OpenSM, one is left for the commands.
inline constexpr unsigned kMaxIbsimAgents = 8;

class IbSimulator {
 public:
  /// Errors: absent (ibsim, its preload library or OpenSM is not installed: names the package), timeout (the
  /// subnet manager did not bring the fabric up: names its log).
  static Result<IbSimulator> start(const Fabric& fabric, const InfinibandInventory& inventory,
                                   const IbSimulatorSpec& spec, std::stop_token stop = {});

  const std::filesystem::path& directory() const { return spec_.directory; }
  os::ChildProcess& simulator() { return simulator_; }
  os::ChildProcess& subnet_manager() { return subnet_manager_; }
  /// Both processes go on when this object ends. Precondition: started with outlives_us.
  void leave_running() &&;

 private:
  IbSimulator(IbSimulatorSpec spec, os::ChildProcess simulator, os::ChildProcess manager)
      : spec_(std::move(spec)), simulator_(std::move(simulator)), subnet_manager_(std::move(manager)) {}

  IbSimulatorSpec spec_;
  os::ChildProcess simulator_;
  os::ChildProcess subnet_manager_;
};

/// For a program that is to reach the simulated fabric through the adapter or switch with this GUID:
/// variables, and the directory it must run in (the preload library keeps its files there).
std::vector<std::string> ibsim_environment(const std::string& name, Guid at, bool is_switch);
/// `argv`, started in that directory.
std::vector<std::string> in_directory(const std::filesystem::path& directory, std::vector<std::string> argv);

/// Gives ibsim one console command; an Error has ibsim's own words.
Result<void> ibsim_command(const std::filesystem::path& directory, std::string_view command);

/// The engine named last in an OpenSM log.
std::optional<std::string> engine_in_log(std::string_view log);

}  // namespace weft::lab
