#include "topology/os/network_namespace.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace weft::os {
namespace {

constexpr const char* kOwnNamespace = "/proc/thread-self/ns/net";

ErrorKind kind_of(int error) {
  if (error == EPERM || error == EACCES || error == EROFS) return ErrorKind::permission;
  if (error == ENOENT) return ErrorKind::not_found;
  return error == EEXIST ? ErrorKind::conflict : ErrorKind::internal;
}

tl::unexpected<Error> failed(std::string_view doing, const std::filesystem::path& what) {
  const int error = errno;
  return fail(kind_of(error), "{} {}: {}", doing, what.string(), std::strerror(error));
}

Result<FileDescriptor> open_namespace(const std::filesystem::path& file) {
  FileDescriptor fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return failed("open network namespace", file);
  return fd;
}

Result<void> create_one(const NewNamespace& wanted) {
  // As `ip netns add`: an empty file, over which the namespace is mounted.
  const FileDescriptor file(open(wanted.file.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0));
  if (!file) return failed("make network namespace", wanted.file);
  const auto undo = [&](tl::unexpected<Error> error) {
    unlink(wanted.file.c_str());
    return error;
  };
  if (unshare(CLONE_NEWNET) != 0) return undo(failed("make network namespace", wanted.file));
  if (mount(kOwnNamespace, wanted.file.c_str(), "none", MS_BIND, nullptr) != 0)
    return undo(failed("keep network namespace", wanted.file));
  return wanted.set_up();
}

}  // namespace

Result<NamespaceVisit> NamespaceVisit::enter(const std::filesystem::path& file) {
  WEFT_TRY(auto home, open_namespace(kOwnNamespace));
  WEFT_TRY_VOID(enter_for_good(file));
  return NamespaceVisit(std::move(home));
}

NamespaceVisit::~NamespaceVisit() {
  // Coming home cannot fail: the descriptor is open, and the thread had the right to leave.
  if (home_) (void)setns(home_.get(), CLONE_NEWNET);
}

Result<void> enter_for_good(const std::filesystem::path& file) {
  WEFT_TRY(const auto there, open_namespace(file));
  if (setns(there.get(), CLONE_NEWNET) != 0) return failed("enter network namespace", file);
  return {};
}

Result<void> prepare_namespace_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fail(kind_of(error.value()), "make directory {}: {}", directory.string(), error.message());
  if (mount("", directory.c_str(), "none", MS_SHARED | MS_REC, nullptr) == 0) return {};
  if (errno != EINVAL) return failed("share mount", directory);
  if (mount(directory.c_str(), directory.c_str(), "none", MS_BIND | MS_REC, nullptr) != 0)
    return failed("mount", directory);
  if (mount("", directory.c_str(), "none", MS_SHARED | MS_REC, nullptr) != 0)
    return failed("share mount", directory);
  return {};
}

Result<void> create_namespaces(const std::vector<NewNamespace>& all) {
  Result<void> outcome;
  // A thread of its own, which ends where its last namespace left it.
  std::jthread([&] {
    for (const NewNamespace& wanted : all)
      if (outcome = create_one(wanted); !outcome) return;
  }).join();
  return outcome;
}

Result<bool> remove_namespace(const std::filesystem::path& file) {
  if (umount2(file.c_str(), MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT)
    return failed("unmount network namespace", file);
  if (unlink(file.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  return failed("remove network namespace", file);
}

Result<void> write_sysctl(const std::string& path, const std::string& value) {
  const std::string file = "/proc/sys/" + path;
  const FileDescriptor fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || write(fd.get(), value.data(), value.size()) < 0) return failed("set sysctl", file);
  return {};
}

}  // namespace weft::os
