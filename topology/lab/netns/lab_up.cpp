#include <sys/mount.h>
#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/lab/guests/guests.hpp"
#include "topology/lab/netns/holder.hpp"
#include "topology/lab/netns/kernel.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/lab/netns/node_setup.hpp"
#include "topology/lab/netns/state.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft::lab {
namespace {

/// Calls `work` for every node; the first error, or a stop, ends it and is given back.
template <class Work>
Result<void> for_each_node(std::span<const NodeId> nodes, std::stop_token stop, Work&& work) {
  constexpr std::size_t kThreads = 4;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Result<void> outcome;
  const auto run = [&] {
    for (std::size_t i = next++; i < nodes.size(); i = next++) {
      auto done = stop.stop_requested() ? Result<void>(fail(ErrorKind::conflict, "stopped")) : work(nodes[i]);
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (outcome) outcome = std::move(done);
      next = nodes.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(kThreads, nodes.size()); ++i) threads.emplace_back(run);
  }
  return outcome;
}

std::vector<NodeId> nodes_where(const Fabric& fabric, bool host) {
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < fabric.node_count(); ++i)
    if (fabric.is_host(NodeId(i)) == host) nodes.emplace_back(i);
  return nodes;
}

/// The order is that of the facts: a nexthop needs its interface up, so routes come last.
Result<void> build(const Lab& lab, std::stop_token stop) {
  WEFT_TRY(const auto scripts, LabScripts::make(lab.fabric(), lab.settings(), lab.addresses()));
  const NodeSetup setup(lab, scripts);
  const auto switches = nodes_where(lab.fabric(), false);
  const auto hosts = nodes_where(lab.fabric(), true);
  const auto set_up = [&](NodeId node) { return setup.set_up_node(node); };
  const auto route = [&](NodeId node) { return setup.set_up_routes(node, {}); };
  Result<void> done = setup.make_namespaces();
  if (done) done = setup.lay_cables();
  if (done) done = setup.set_up_management();
  if (done) done = for_each_node(switches, stop, set_up);
  if (done) done = for_each_node(hosts, stop, set_up);
  if (done) done = for_each_node(switches, stop, route);
  return done;
}

/// The folder for what the guests leave behind: their consoles and pid files.
Result<void> boot(const Lab& lab, const std::filesystem::path& state_root, std::stop_token stop) {
  if (lab.settings().guests.empty()) return {};
  return boot_guests(lab, state_directory(state_root, lab.name()) / kGuestFiles, std::move(stop));
}

/// Where the namespaces will lie; for an ordinary user inside a new holder, which the process joins.
Result<void> prepare(LabState& state, const std::filesystem::path& state_root) {
  if (state.owner == LabOwner::user) {
    WEFT_TRY(const auto holder, start_holder());
    state.holder = holder;
  }
  WEFT_TRY_VOID(write_lab_state(state_root, state));
  if (state.holder) WEFT_TRY_VOID(join_holder(*state.holder));
  const auto directory = namespace_directory(state_root, state);
  WEFT_TRY_VOID(os::prepare_namespace_directory(directory));
  // Inside the holder's mounts `ip netns` finds the lab too, where it has a place to look.
  if (state.holder) (void)mount(directory.c_str(), "/run/netns", "none", MS_BIND | MS_REC, nullptr);
  return {};
}

void remove_all_of(const LabState& state, const std::filesystem::path& state_root) {
  (void)clear_kernel(state, state_root);
  std::error_code ignored;
  std::filesystem::remove_all(state_directory(state_root, state.name), ignored);
}

Result<Lab> make(LabState& state, const std::filesystem::path& state_root, std::stop_token stop) {
  auto lab = LabAccess::describe(state, state_root);
  if (!lab) return pass_on(lab);
  WEFT_TRY_VOID(prepare(state, state_root));
  WEFT_TRY_VOID(build(*lab, stop));
  WEFT_TRY_VOID(boot(*lab, state_root, stop));
  state.complete = true;
  WEFT_TRY_VOID(write_lab_state(state_root, state));
  return lab;
}

/// What is there under that name already: the lab itself when it is the same and up, nothing when the way is
/// free (what a crash left has been removed).
Result<std::optional<Lab>> already_there(const LabState& wanted, const std::filesystem::path& state_root) {
  const auto before = read_lab_state(state_root, wanted.name);
  if (!before && before.error().kind == ErrorKind::not_found) return std::optional<Lab>();
  if (!before) return pass_on(before, "run `weft lab down` first");
  if (phase_of(*before, state_root) != LabPhase::up) {
    remove_all_of(*before, state_root);
    return std::optional<Lab>();
  }
  if (!same_fabric(*before, wanted))
    return fail(
        ErrorKind::conflict,
        "lab '{}' is up with another fabric ('{}'): take it down first, or give this one another --name",
        wanted.name, before->fabric.name());
  WEFT_TRY(auto lab, Lab::open(wanted.name, state_root));
  return std::optional<Lab>(std::move(lab));
}

/// Something else has a namespace of that name: it is not ours to remove.
Result<void> check_names_free(const LabState& state, const std::filesystem::path& state_root) {
  std::error_code error;
  for (const auto& file : namespace_files(state, state_root))
    if (std::filesystem::exists(file, error))
      return fail(
          ErrorKind::conflict,
          "{} is there already and no lab is known that made it: `weft lab down --name {}` removes it",
          file.string(), state.name);
  return {};
}

}  // namespace

Result<LabUp> lab_up(std::string_view name, const Fabric& fabric, const LabSettings& settings,
                     const std::filesystem::path& state_root, std::stop_token stop) {
  WEFT_TRY_VOID(check_lab_name(name));
  WEFT_TRY_VOID(check_lab_fits(fabric, settings, kernel_features()));
  WEFT_TRY(const auto lock, StateLock::take(state_root));
  LabState state{.name = std::string(name),
                 .owner = may_build_as_root() ? LabOwner::root : LabOwner::user,
                 .fabric = fabric,
                 .settings = settings};
  WEFT_TRY(auto there, already_there(state, state_root));
  if (there) return LabUp{std::move(*there), true};
  WEFT_TRY_VOID(check_names_free(state, state_root));
  auto lab = make(state, state_root, stop);
  if (!lab) {
    remove_all_of(state, state_root);
    return pass_on(lab, fmt::format("lab '{}'", name));
  }
  return LabUp{std::move(*lab), false};
}

}  // namespace weft::lab
