#include "topology/lab/netns/holder.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "topology/os/child_process.hpp"
#include "topology/os/pidfd.hpp"

namespace weft::lab {
namespace {

// capability.h: CAP_NET_ADMIN 12, CAP_SYS_ADMIN 21.
constexpr std::uint64_t kNeeded = 1ULL << 12U | 1ULL << 21U;

std::filesystem::path user_namespace_of(pid_t pid) {
  return std::filesystem::path("/proc") / std::to_string(pid) / "ns" / "user";
}

bool write_text(const char* path, const std::string& text) {
  const os::FileDescriptor file(open(path, O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// The user becomes root of a new user namespace that has its own mounts and network. 0 or errno.
int make_namespaces(uid_t user, gid_t group) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0) return errno;
  const bool mapped = write_text("/proc/self/setgroups", "deny") &&
                      write_text("/proc/self/uid_map", fmt::format("0 {} 1", user)) &&
                      write_text("/proc/self/gid_map", fmt::format("0 {} 1", group));
  if (!mapped) return errno;
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? 0 : errno;
}

std::string setting_that_forbids() {
  for (const char* path :
       {"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/user/max_user_namespaces"}) {
    std::ifstream file(path);
    std::string value;
    if (file >> value && value == "0") return fmt::format(" ({} is 0)", path);
  }
  std::ifstream restricted("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  std::string value;
  if (restricted >> value && value == "1") return " (kernel.apparmor_restrict_unprivileged_userns is 1)";
  return "";
}

tl::unexpected<Error> not_allowed(int error) {
  return fail(ErrorKind::permission,
              "a lab needs root, or user namespaces, which this machine refuses to an ordinary user: {}{}. "
              "Run it as root, or use `weft simulate`, which needs no privileges",
              std::strerror(error), setting_that_forbids());
}

}  // namespace

bool may_build_as_root() {
  std::ifstream status("/proc/self/status");
  std::string key;
  std::string value;
  while (status >> key >> value)
    if (key == "CapEff:")
      return geteuid() == 0 && (std::stoull(value, nullptr, 16) & kNeeded) == kNeeded;
    else
      status.ignore(4096, '\n');
  return false;
}

Result<os::ProcessMark> start_holder() {
  const auto prepare = [user = geteuid(), group = getegid()]() -> Result<void> {
    const int error = make_namespaces(user, group);
    return error == 0 ? Result<void>() : not_allowed(error);
  };
  return os::start_worker("weft-lab", prepare, [] {
    while (true) pause();  // until lab_down kills it
  });
}

Result<void> join_holder(const os::ProcessMark& holder) {
  const os::FileDescriptor handle(pidfd_open(holder.pid, 0));
  if (!handle || os::mark_of(holder.pid) != holder)
    return fail(ErrorKind::not_found, "the process that held the lab ({}) has gone", holder.pid);
  if (is_inside(holder)) return {};
  std::error_code error;
  const auto here = std::filesystem::current_path(error);
  if (setns(handle.get(), CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0) {
    if (errno == EINVAL)
      return fail(ErrorKind::internal, "a lab has to be joined before the process starts threads");
    return fail(ErrorKind::permission, "cannot join the lab held by process {}: {}", holder.pid,
                std::strerror(errno));
  }
  if (!here.empty()) std::filesystem::current_path(here, error);
  return {};
}

bool is_inside(const os::ProcessMark& holder) {
  const auto theirs = os::namespace_inode(user_namespace_of(holder.pid));
  return theirs && os::mark_of(holder.pid) == holder &&
         theirs == os::namespace_inode(user_namespace_of(getpid()));
}

}  // namespace weft::lab
