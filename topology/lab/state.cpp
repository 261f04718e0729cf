#include "topology/lab/state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "topology/lab/lab_control.hpp"

namespace weft {
namespace {

constexpr const char* kFile = "state.json";
constexpr std::chrono::milliseconds kLockPoll{20};

Result<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return fail(ErrorKind::not_found, "cannot read {}", path.string());
  return std::string(std::istreambuf_iterator<char>(file), {});
}

tl::unexpected<Error> no_such_lab(const std::filesystem::path& root, std::string_view name) {
  const auto names = lab_names(root);
  const std::string there = names.empty() ? "no lab is up" : fmt::format("up: {}", fmt::join(names, ", "));
  std::error_code error;
  if (root != kLabsOfRoot && std::filesystem::exists(std::filesystem::path(kLabsOfRoot) / name, error))
    return fail(ErrorKind::permission, "lab '{}' is root's: run this as root, or make one of your own ({})",
                name, there);
  return fail(ErrorKind::not_found,
              "there is no lab '{}' ({}); make one with: weft lab up FABRIC.yaml --name {}", name, there,
              name);
}

/// In /tmp another user may have made the directories first, with a state of his own in them. Root's place
/// and the inside of a user namespace, where only its user gets, need no check.
Result<void> check_is_ours(const std::filesystem::path& state_root) {
  if (geteuid() == 0) return {};
  for (const auto& path : {state_root.parent_path(), state_root}) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || info.st_uid == geteuid() || info.st_uid == 0) continue;
    return fail(ErrorKind::permission,
                "{} belongs to another user: set XDG_RUNTIME_DIR to a directory of your own", path.string());
  }
  return {};
}

}  // namespace

std::filesystem::path state_directory(const std::filesystem::path& state_root, std::string_view name) {
  return state_root / name;
}

std::filesystem::path user_namespace_directory(const std::filesystem::path& state_root,
                                               std::string_view name) {
  return state_directory(state_root, name) / "netns";
}

std::filesystem::path namespace_directory(const std::filesystem::path& state_root, const LabState& state) {
  // Where `ip netns` looks; an ordinary user cannot write there, not even in a namespace of his own.
  if (state.owner == LabOwner::root) return "/run/netns";
  return user_namespace_directory(state_root, state.name);
}

Result<void> write_lab_state(const std::filesystem::path& state_root, const LabState& state) {
  const auto directory = state_directory(state_root, state.name);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const auto fresh = directory / "state.json.new";
  std::ofstream file(fresh, std::ios::trunc);
  file << to_json(state).dump() << '\n';
  file.close();
  if (file) std::filesystem::rename(fresh, directory / kFile, error);
  if (!file || error)
    return fail(ErrorKind::permission, "cannot write the state of lab '{}' in {}", state.name,
                directory.string());
  return {};
}

Result<LabState> read_lab_state(const std::filesystem::path& state_root, std::string_view name) {
  if (const auto ours = check_is_ours(state_root); !ours) return pass_on(ours);
  const auto path = state_directory(state_root, name) / kFile;
  const auto text = read_file(path);
  if (!text) return no_such_lab(state_root, name);
  const auto document = nlohmann::json::parse(*text, nullptr, false);
  auto state = lab_state_from_json(document);
  if (!state) return pass_on(state, fmt::format("the state of lab '{}' ({})", name, path.string()));
  return state;
}

std::vector<std::string> lab_names(const std::filesystem::path& state_root) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(state_root, error))
    if (std::filesystem::exists(entry.path() / kFile, error)) names.insert(entry.path().filename());
  return {names.begin(), names.end()};
}

Result<FileDescriptor> claim_lab(std::string_view name, const std::filesystem::path& state_root) {
  const auto path = state_directory(state_root, name);
  FileDescriptor lab(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lab) return no_such_lab(state_root, name);
  if (flock(lab.get(), LOCK_EX | LOCK_NB) == 0) return lab;
  return fail(ErrorKind::conflict,
              "lab '{}' is being loaded by another weft: each would take the other's load for a fault; wait "
              "for its end",
              name);
}

Result<StateLock> StateLock::take(const std::filesystem::path& state_root) {
  std::error_code error;
  std::filesystem::create_directories(state_root, error);
  if (const auto ours = check_is_ours(state_root); !ours) return pass_on(ours);
  FileDescriptor root(open(state_root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root)
    return fail(ErrorKind::permission, "cannot use {} for the state of labs: {}", state_root.string(),
                std::strerror(errno));
  const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
  while (flock(root.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorKind::timeout, "another weft has been changing the labs in {} for {} s",
                  state_root.string(), kLongestWait.count());
    std::this_thread::sleep_for(kLockPoll);
  }
  return StateLock(std::move(root));
}

}  // namespace weft
