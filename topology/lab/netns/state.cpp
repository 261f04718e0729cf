#include "topology/lab/netns/state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::lab {
namespace {

constexpr const char* kFile = "state.json";
/// A lab of a thousand nodes has some 50,000 values in 1 MB.
constexpr JsonLimits kLimits{.bytes = 64'000'000, .depth = 16, .values = 4'000'000};
constexpr const char* kLock = "lock";
constexpr const char* kClaim = "claim";
constexpr const char* kWatchClaim = "watch.claim";
constexpr std::chrono::milliseconds kLockPoll{20};

os::FileDescriptor open_lock(const std::filesystem::path& path) {
  return os::FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

bool is_at(int fd, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat there {};
  return fstat(fd, &opened) == 0 && lstat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

/// " (process 123)", as its holder wrote it into a claim.
std::string process_in(int claim) {
  std::array<char, 32> text{};
  const auto size = pread(claim, text.data(), text.size() - 1, 0);
  const auto process = size > 0 ? std::atol(text.data()) : 0;
  return process > 0 ? fmt::format(" (process {})", process) : "";
}

tl::unexpected<Error> no_such_lab(const std::filesystem::path& root, std::string_view name) {
  constexpr const char* kInfinibandLabs = "ib-labs";  // beside ours, by topology/lab/ibsim
  auto names = lab_names(root);
  std::error_code none;
  for (const auto& other : std::filesystem::directory_iterator(root.parent_path() / kInfinibandLabs, none))
    names.push_back(other.path().filename().string() + " (InfiniBand)");
  const std::string there = names.empty() ? "no lab is up" : fmt::format("up: {}", fmt::join(names, ", "));
  std::error_code error;
  if (root != kLabsOfRoot && std::filesystem::exists(std::filesystem::path(kLabsOfRoot) / name, error))
    return fail(ErrorKind::permission, "lab '{}' is root's: run this as root, or make one of your own ({})",
                name, there);
  return fail(ErrorKind::not_found,
              "there is no lab '{}' ({}); make one with: weft lab up FABRIC.yaml --name {}", name, there,
              name);
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
  if (!files::write_text_file(directory / kFile, json_members::to_text(to_json(state)) + '\n'))
    return fail(ErrorKind::permission, "cannot write the state of lab '{}' in {}", state.name,
                directory.string());
  return {};
}

Result<LabState> read_lab_state(const std::filesystem::path& state_root, std::string_view name) {
  WEFT_TRY_VOID(os::check_is_ours(state_root));
  const auto path = state_directory(state_root, name) / kFile;
  // A larger one is refused by the parser, which says so.
  const auto text = files::read_text_file(path, Bytes(2 * static_cast<std::int64_t>(kLimits.bytes)));
  if (!text) return no_such_lab(state_root, name);
  const auto document = json_members::parse(*text, kLimits, "the file");
  Result<LabState> state = document ? lab_state_from_json(*document) : pass_on(document);
  if (state && state->name != name)
    state = fail(ErrorKind::invalid_input, "it is that of a lab '{}'", outside_text(state->name));
  if (!state)
    return fail(
        state.error().kind,
        "the state of lab '{0}' ({1}) cannot be read: {2}; weft lab down --name {0} takes away what is "
        "left of the lab",
        name, path.string(), state.error().message);
  return state;
}

std::vector<std::string> lab_names(const std::filesystem::path& state_root) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(state_root, error))
    if (std::filesystem::exists(entry.path() / kFile, error)) names.insert(entry.path().filename());
  return {names.begin(), names.end()};
}

Result<LabClaim> claim_lab(std::string_view name, const std::filesystem::path& state_root, LabUse use) {
  const auto directory = state_directory(state_root, name);
  const auto path = directory / (use == LabUse::load ? kClaim : kWatchClaim);
  LabClaim file(open_lock(path));
  std::error_code error;
  if (!file && !std::filesystem::exists(directory, error)) return no_such_lab(state_root, name);
  if (!file) return fail(ErrorKind::permission, "cannot use {}: {}", path.string(), std::strerror(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorKind::conflict, "lab '{}' is being {} by another weft{}: wait for its end", name,
                use == LabUse::load ? "loaded" : "watched", process_in(file.get()));
  const auto text = fmt::format("{}\n", getpid());
  if (ftruncate(file.get(), 0) != 0 || pwrite(file.get(), text.data(), text.size(), 0) < 0)
    return fail(ErrorKind::absent, "cannot write {}: {}", path.string(), std::strerror(errno));
  return file;
}

Result<StateLock> StateLock::take(const std::filesystem::path& state_root) {
  WEFT_TRY_VOID(os::check_is_ours(state_root));
  std::error_code error;
  std::filesystem::create_directories(state_root, error);
  WEFT_TRY_VOID(os::check_is_ours(state_root));
  const auto path = state_root / kLock;
  const auto deadline = std::chrono::steady_clock::now() + kMaxWait;
  while (true) {
    os::FileDescriptor file = open_lock(path);
    if (!file)
      return fail(ErrorKind::permission, "cannot use {} for the state of labs: {}", state_root.string(),
                  std::strerror(errno));
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_at(file.get(), path)) return StateLock(path, std::move(file));
      continue;  // who had it took the file away between our opening and locking it
    }
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorKind::timeout, "another weft has been changing the labs in {} for {} s",
                  state_root.string(), kMaxWait.count());
    std::this_thread::sleep_for(kLockPoll);
  }
}

StateLock::~StateLock() {
  if (file_) unlink(path_.c_str());
}

}  // namespace weft::lab
