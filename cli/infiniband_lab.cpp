#include "cli/infiniband_lab.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "probes/engine/umad/umad_mads.hpp"

namespace weft::cli {
namespace {

constexpr const char* kEntered = "WEFT_INFINIBAND_LAB";
constexpr const char* kSelf = "/proc/self/exe";

std::string& lab_directory() {
  static std::string directory;
  return directory;
}

/// The preload library removes its files at exit, by a name relative to the directory it was started in.
void return_to_lab() { [[maybe_unused]] const int done = chdir(lab_directory().c_str()); }

}  // namespace

Result<void> enter_infiniband_lab(const lab::IbLab& lab, const Arguments& words) {
  const char* entered = std::getenv(kEntered);
  if (entered != nullptr && lab.sockets == entered) return {};
  for (const auto& variable : lab.environment_for_commands()) {
    const auto middle = variable.find('=');
    setenv(variable.substr(0, middle).c_str(), variable.substr(middle + 1).c_str(), 1);
  }
  setenv(kEntered, lab.sockets.c_str(), 1);
  std::vector<std::string> copy{"weft"};
  copy.insert(copy.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (auto& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(kSelf, argv.data());
  return fail(ErrorKind::internal, "starting weft again in the lab: {}", std::strerror(errno));
}

Result<std::unique_ptr<mad::Mads>> open_lab_mads(const lab::IbLab& lab) {
  std::error_code error;
  const auto here = std::filesystem::current_path(error);
  if (error || chdir(lab.directory.c_str()) != 0)
    return fail(ErrorKind::absent, "the lab's directory {} is gone", lab.directory.string());
  auto mads = umad::open_umad({});
  lab_directory() = lab.directory.string();
  std::atexit(return_to_lab);  // runs before the library's own, which was registered earlier
  std::filesystem::current_path(here, error);
  return mads;
}

Result<run::AgentSite> ib_lab_site(const lab::IbLab& lab, const std::vector<PortId>& nics,
                                   const AddressBook& gids) {
  WEFT_TRY(auto program, run::own_program());
  run::AgentSite site{.program = std::move(program), .agent_options = {.engine = run::EngineKind::ibsim}};
  for (const PortId nic : nics)
    if (const auto gid = gids.address_of(nic))
      site.hosts.push_back(
          {lab.fabric.port(nic).node, {{{to_string(*gid), *gid}, nic}}, lab.fabric.name_of_nic(nic)});
  site.launch = [&lab](const run::AgentHost& where, os::ChildSpec agent) {
    agent.argv = lab::in_directory(lab.directory, std::move(agent.argv));
    agent.env = lab.environment_at(where.nics.front().nic);
    return os::ChildProcess::start(agent);
  };
  return site;
}

}  // namespace weft::cli
