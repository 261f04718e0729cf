#include "balancer/nccl/job_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::nccl {
namespace {

std::vector<std::byte> read_at(const os::FileDescriptor& file, std::size_t most, std::size_t at) {
  std::vector<std::byte> bytes(most);
  const ssize_t size = pread(file.get(), bytes.data(), most, static_cast<off_t>(at));
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return bytes;
}

/// Of this user or root, and nobody else's to write.
Result<void> check_owner(const os::FileDescriptor& file, const std::string& path) {
  struct stat about {};
  if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return fail(ErrorKind::permission, "{}: no ordinary file", path);
  if (about.st_uid != geteuid() && about.st_uid != 0)
    return fail(ErrorKind::permission, "{}: of user {}, not of the job's", path, about.st_uid);
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(ErrorKind::permission, "{}: others may write it", path);
  return {};
}

std::optional<std::uint64_t> newer(const os::FileDescriptor& file, std::size_t at, std::uint64_t in_force) {
  if (!file) return std::nullopt;
  const auto generation = steer::peek_generation(read_at(file, steer::kLabelHeader, at));
  return generation && *generation > in_force ? generation : std::nullopt;
}

}  // namespace

JobFiles::JobFiles(std::string directory)
    : directory_(std::move(directory)), own_path_(directory_ + "/" + std::to_string(getpid()) + ".qps") {
  mkdir(directory_.c_str(), S_IRWXU);
  unlink(own_path_.c_str());  // of a process that had this number before
  own_ = os::FileDescriptor(
      open(own_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

Result<std::optional<steer::LabelList>> JobFiles::read_labels(std::uint64_t in_force) const {
  const std::string path = directory_ + "/labels";
  const os::FileDescriptor common(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  const auto for_all = newer(common, 0, in_force);
  const auto for_us = newer(own_, steer::kLabelsAt, in_force);
  if (!for_all && !for_us) return std::optional<steer::LabelList>();
  const bool ours = for_us.value_or(0) > for_all.value_or(0);
  if (!ours) WEFT_TRY_VOID(check_owner(common, path));
  auto list = steer::decode_labels(ours ? read_at(own_, steer::kMaxLabelBytes, steer::kLabelsAt)
                                        : read_at(common, steer::kMaxLabelBytes, 0));
  if (!list) return pass_on(list, ours ? own_path_ : path);
  return std::optional(std::move(*list));
}

void JobFiles::write(const steer::ProcessQps& process) const {
  if (!own_) return;
  const auto bytes = steer::encode_qps(process);
  // What does not fit on a full disk is seen as half written.
  static_cast<void>(!pwrite(own_.get(), bytes.data(), bytes.size(), 0));
}

void JobFiles::remove() const {
  if (own_) unlink(own_path_.c_str());
}

}  // namespace weft::nccl
