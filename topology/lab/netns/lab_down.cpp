#include <sys/mount.h>

#include <algorithm>

#include "topology/lab/netns/holder.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/lab/netns/state.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft::lab {
namespace {

Result<void> remove_state(const std::filesystem::path& state_root, std::string_view name) {
  std::error_code error;
  std::filesystem::remove_all(state_directory(state_root, name), error);
  if (error)
    return fail(ErrorKind::permission, "cannot remove {}: {}", state_directory(state_root, name).string(),
                error.message());
  return {};
}

/// The namespaces named after a lab whose state is lost or damaged, but not those of a lab with a longer name
/// (`a-b` beside `a`).
std::vector<std::filesystem::path> orphans_of(std::string_view name,
                                              const std::filesystem::path& state_root) {
  const auto names = lab_names(state_root);
  const std::string prefix = namespace_name(name, "");
  const auto of_another = [&](const std::string& file) {
    return std::ranges::any_of(names, [&](const std::string& other) {
      return other.size() > name.size() && file.starts_with(namespace_name(other, ""));
    });
  };
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", error)) {
    const std::string file = entry.path().filename();
    if (file.starts_with(prefix) && !of_another(file)) files.push_back(entry.path());
  }
  return files;
}

/// Ends what runs in namespaces and takes them away. True: there was one.
Result<bool> remove_all(const std::vector<std::filesystem::path>& files) {
  std::set<std::uint64_t> inodes;
  for (const auto& file : files)
    if (const auto inode = os::namespace_inode(file)) inodes.insert(*inode);
  if (!inodes.empty()) os::end_processes_in_networks(inodes);
  bool any = false;
  for (const auto& file : files) {
    WEFT_TRY(const auto removed, os::remove_namespace(file));
    any |= removed;
  }
  return any;
}

/// What is left of a lab whose state is lost or damaged.
Result<bool> remove_orphans(std::string_view name, const std::filesystem::path& state_root) {
  std::error_code error;
  const bool had_state = std::filesystem::exists(state_directory(state_root, name), error);
  if (had_state) os::end_processes_with_mount(user_namespace_directory(state_root, name));
  WEFT_TRY(const auto removed,
           may_build_as_root() ? remove_all(orphans_of(name, state_root)) : Result<bool>(false));
  WEFT_TRY_VOID(remove_state(state_root, name));
  return removed || had_state;
}

}  // namespace

std::vector<std::filesystem::path> namespace_files(const LabState& state,
                                                   const std::filesystem::path& state_root) {
  const auto directory = namespace_directory(state_root, state);
  std::vector<std::filesystem::path> files = {directory / management_namespace_name(state.name)};
  for (const Node& node : state.fabric.nodes())
    files.push_back(directory / namespace_name(state.name, node.name));
  return files;
}

LabPhase phase_of(const LabState& state, const std::filesystem::path& state_root) {
  if (state.holder && !is_running(*state.holder)) return LabPhase::gone;
  if (!state.complete) return LabPhase::half_up;
  if (state.holder) return LabPhase::up;
  std::error_code error;
  const auto files = namespace_files(state, state_root);
  const bool all =
      std::ranges::all_of(files, [&](const auto& file) { return std::filesystem::exists(file, error); });
  return all ? LabPhase::up : LabPhase::gone;
}

std::string_view to_string(LabPhase phase) {
  switch (phase) {
    case LabPhase::up:
      return "up";
    case LabPhase::half_up:
      return "half up";
    case LabPhase::gone:
      return "gone";
  }
  return "?";
}

Result<void> clear_kernel(const LabState& state, const std::filesystem::path& state_root) {
  for (const LabWorker& worker : state.workers) end_process(worker.process);
  if (state.owner == LabOwner::user) {
    // All lives in the holder's namespaces and ends with its last process. Only a caller that is inside has
    // to unmount what stands in the way of removing the files.
    if (state.holder && is_inside(*state.holder)) {
      (void)remove_all(namespace_files(state, state_root));
      (void)umount2(namespace_directory(state_root, state).c_str(), MNT_DETACH);
    }
    os::end_processes_with_mount(namespace_directory(state_root, state));
    if (state.holder) end_process(*state.holder);
    return {};
  }
  const auto removed = remove_all(namespace_files(state, state_root));
  if (!removed) return pass_on(removed, fmt::format("take down lab '{}'", state.name));
  return {};
}

Result<bool> lab_down(std::string_view name, const std::filesystem::path& state_root,
                      WhenLoaded when_loaded) {
  WEFT_TRY_VOID(check_lab_name(name));
  WEFT_TRY(const auto lock, StateLock::take(state_root));
  const auto claim = claim_lab(name, state_root);  // until all is gone
  if (!claim && claim.error().kind == ErrorKind::conflict && when_loaded == WhenLoaded::refuse)
    return fail(ErrorKind::conflict, "{}, or end it too with --force", claim.error().message);
  const auto state = read_lab_state(state_root, name);
  if (!state) return remove_orphans(name, state_root);
  WEFT_TRY_VOID(clear_kernel(*state, state_root));
  WEFT_TRY_VOID(remove_state(state_root, name));
  return true;
}

}  // namespace weft::lab
