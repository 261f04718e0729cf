#include "topology/lab/ibsim/ib_simulator.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <thread>

#include "topology/files/file_text.hpp"
#include "topology/files/ibnetdiscover.hpp"
#include "topology/model/fabric.hpp"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr auto kConsoleWait = std::chrono::seconds(2);
constexpr std::array kPreloads{"/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so",
                               "/usr/lib/aarch64-linux-gnu/umad2sim/libumad2sim.so",
                               "/usr/lib64/umad2sim/libumad2sim.so", "/usr/lib/umad2sim/libumad2sim.so"};
// OpenSM in flight: ibsim deadlocks with several hundred (FACTS of the lab page); OpenSM's default of 4 is
// slow.
constexpr unsigned kManagerWindow = 32;
constexpr Bytes kMaxText(1'000'000'000);  // of a log

constexpr std::string_view kManagerSettings = "sweep_on_trap FALSE\nsweep_interval 0\n";

/// Empty where it is not there yet.
std::string text_of(const fs::path& path) { return files::read_text_file(path, kMaxText).value_or(""); }

std::optional<std::string> preload_library() {
  for (const char* path : kPreloads)
    if (fs::exists(path)) return path;
  return std::nullopt;
}

/// Polls `ready` until it holds, the child ends, the limit passes or a stop is asked for.
template <class Ready>
Result<void> wait_until(Ready ready, os::ChildProcess& child, std::string_view what, const fs::path& log,
                        Nanoseconds limit, std::stop_token stop) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!ready()) {
    if (stop.stop_requested()) return fail(ErrorKind::timeout, "{}: stopped", what);
    if (!child.running() && !ready())
      return fail(ErrorKind::absent, "{} ended early: see {}", what, log.string());
    if (std::chrono::steady_clock::now() > end)
      return fail(ErrorKind::timeout, "{} was not ready in time: see {}", what, log.string());
    std::this_thread::sleep_for(kPoll);
  }
  return {};
}

struct Sizes {
  std::size_t nodes = 0;
  std::size_t switches = 0;
  std::size_t ports = 0;
};

Sizes sizes_of(const Fabric& fabric, const InfinibandInventory& inventory) {
  Sizes sizes;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    const bool is_host = fabric.is_host(NodeId(n));
    const auto adapters = is_host ? std::max<std::size_t>(fabric.ports_of(NodeId(n)).size(), 1) : 1;
    sizes.nodes += adapters;
    sizes.switches += is_host ? 0 : 1;
    sizes.ports += adapters * (inventory.nodes[n].port_count + std::size_t{1});
  }
  return sizes;
}

Result<void> make_directory(const fs::path& directory, const std::string& net) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return fail(ErrorKind::permission, "making {}: {}", directory.string(), error.message());
  WEFT_TRY_VOID(files::write_text_file(directory / "net", net));
  WEFT_TRY_VOID(files::write_text_file(directory / "opensm.conf", kManagerSettings));
  fs::remove(directory / "console", error);
  if (mkfifo((directory / "console").c_str(), 0600) != 0)
    return fail(ErrorKind::permission, "making {}: error {}", (directory / "console").string(), errno);
  return {};
}

Result<os::ChildProcess> start_ibsim(const IbSimulatorSpec& spec, const Sizes& sizes) {
  const auto number = [](std::size_t n) { return std::to_string(n + 16); };
  // The pipe is opened for reading and writing, so that it never ends.
  return os::ChildProcess::start(
      {.argv = in_directory(spec.directory, {"sh", "-c", "exec ibsim \"$@\" <>console", "ibsim", "-s", "-N",
                                             number(sizes.nodes), "-S", number(sizes.switches), "-P",
                                             number(sizes.ports), "-L", "49152", "net"}),
       .env = {"IBSIM_SOCKNAME=" + spec.name},
       .output = os::ToFile{spec.directory / "ibsim.out"},
       .errors = os::ToFile{spec.directory / "ibsim.err"},
       .dies_with_parent = !spec.outlives_us,
       .own_session = spec.outlives_us});
}

// OpenSM sweeps when it is told to (SIGHUP), not on traps nor by the clock: agents come and go, and on a link
// that loses packets it would lose its own and route around what is to be found. -d 0: other subnet managers
// are ignored: agents claim to be one (ibsim hands them no probes otherwise) and answer no manager's
// question, and OpenSM waits for good for an answer that ibsim's preload library never times out. -A: routes
// stay as they are while the cables do.

Result<os::ChildProcess> start_opensm(const IbSimulatorSpec& spec, Guid at) {
  std::vector<std::string> argv{"opensm",
                                "-F",
                                (spec.directory / "opensm.conf").string(),
                                "-d",
                                "0",
                                "-d",
                                "2",
                                "-e",
                                "-f",
                                (spec.directory / "opensm.log").string(),
                                "-R",
                                spec.routing,
                                "-A",
                                "-l",
                                std::to_string(spec.lmc),
                                "-n",
                                std::to_string(kManagerWindow)};
  if (spec.one_sm_sweep) argv.emplace_back("-o");
  auto env = ibsim_environment(spec.name, at, true);
  env.push_back("OSM_CACHE_DIR=" + spec.directory.string());
  env.push_back("OSM_TMP_DIR=" + spec.directory.string());
  return os::ChildProcess::start({.argv = in_directory(spec.directory, std::move(argv)),
                                  .env = std::move(env),
                                  .output = os::ToFile{spec.directory / "opensm.out"},
                                  .errors = os::ToFile{spec.directory / "opensm.err"},
                                  .dies_with_parent = !spec.outlives_us,
                                  .own_session = spec.outlives_us});
}

std::optional<Guid> first_switch(const Fabric& fabric, const InfinibandInventory& inventory) {
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p)
    if (!fabric.is_host(fabric.port(PortId(p)).node)) return inventory.ports[p].node_guid;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> in_directory(const fs::path& directory, std::vector<std::string> argv) {
  std::vector<std::string> result{"env", "--chdir=" + directory.string()};
  result.insert(result.end(), std::make_move_iterator(argv.begin()), std::make_move_iterator(argv.end()));
  return result;
}

std::vector<std::string> ibsim_environment(const std::string& name, Guid at, bool is_switch) {
  return {"LD_PRELOAD=" + preload_library().value_or(""), "IBSIM_SOCKNAME=" + name,
          fmt::format("SIM_HOST={}-{:016x}", is_switch ? 'S' : 'H', at.value())};
}

std::optional<std::string> engine_in_log(std::string_view log) {
  constexpr std::string_view kBehind = " tables configured on all switches";
  const auto at = log.rfind(kBehind);
  if (at == std::string_view::npos) return std::nullopt;
  const auto begin = log.rfind(' ', at - 1);
  return std::string(log.substr(begin + 1, at - begin - 1));
}

void IbSimulator::leave_running() && {
  std::move(simulator_).release();
  std::move(subnet_manager_).release();
}

Result<IbSimulator> IbSimulator::start(const Fabric& fabric, const InfinibandInventory& inventory,
                                       const IbSimulatorSpec& spec, std::stop_token stop) {
  if (!preload_library())
    return fail(ErrorKind::absent, "ibsim's preload library is not here: install ibsim-utils (and opensm)");
  const auto at = first_switch(fabric, inventory);
  if (!at) return fail(ErrorKind::invalid_input, "fabric {} has no switch to run OpenSM at", fabric.name());
  if (const auto made =
          make_directory(spec.directory, files::write_ibnetdiscover(fabric, inventory, spec.descriptions));
      !made)
    return pass_on(made);
  auto ibsim = start_ibsim(spec, sizes_of(fabric, inventory));
  if (!ibsim) return pass_on(ibsim, "starting ibsim");
  const auto listening = [&] {
    return text_of(spec.directory / "ibsim.out").find("simulator ready") != std::string::npos;
  };
  if (auto up = wait_until(listening, *ibsim, "ibsim", spec.directory / "ibsim.err", spec.limit, stop); !up)
    return pass_on(up);
  auto opensm = start_opensm(spec, *at);
  if (!opensm) return pass_on(opensm, "starting opensm");
  const auto log = spec.directory / "opensm.log";
  const auto is_up = [&] { return text_of(log).find("SUBNET UP") != std::string::npos; };
  if (auto up = wait_until(is_up, *opensm, "OpenSM", log, spec.limit, stop); !up) return pass_on(up);
  return IbSimulator(spec, std::move(*ibsim), std::move(*opensm));
}

Result<void> ibsim_command(const fs::path& directory, std::string_view command) {
  const auto out = directory / "ibsim.out";
  const auto before = text_of(out).size();
  const os::FileDescriptor console(open((directory / "console").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!console) return fail(ErrorKind::absent, "ibsim does not run in {}", directory.string());
  const std::string line = std::string(command) + "\n";
  if (write(console.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return fail(ErrorKind::absent, "ibsim's console does not take '{}'", command);
  const auto end = std::chrono::steady_clock::now() + kConsoleWait;
  for (;;) {
    const auto said = text_of(out).substr(before);
    if (said.find("sim> ") != std::string::npos) {
      const auto complaint = said.find('#');
      if (complaint == std::string::npos) return {};
      return fail(ErrorKind::invalid_input, "ibsim on '{}': {}", command,
                  said.substr(complaint, said.find('\n', complaint) - complaint));
    }
    if (std::chrono::steady_clock::now() > end)
      return fail(ErrorKind::timeout, "ibsim did not take '{}' in time", command);
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace weft::lab
