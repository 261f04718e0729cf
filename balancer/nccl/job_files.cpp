#include "balancer/nccl/job_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "topology/base/outside_text.hpp"

namespace weft::nccl {
namespace {

constexpr std::chrono::seconds kRelock{2};

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

std::string boot_id() {
  const os::FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char digits[37] = "";
  if (file) static_cast<void>(!read(file.get(), digits, sizeof digits - 1));
  return digits;
}

/// Two pods of a host may both have a process 1: their pid namespaces differ (namespaces(7)).
std::string process_part() {
  struct stat about {};
  const bool is_known = stat("/proc/self/ns/pid", &about) == 0;
  return std::to_string(is_known ? about.st_ino : 0) + "-" + std::to_string(getpid());
}

}  // namespace

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string process_stem() {
  const auto kernel = steer::kernel_name(host_name(), boot_id());
  return kernel.host + "-" + kernel.boot + "-" + process_part();
}

JobFiles::JobFiles(std::string directory, const std::string& job)
    : directory_(std::move(directory)),
      job_(outside_text(job)),  // as lists have it
      own_path_(directory_ + "/" + process_stem() + ".qps") {
  for_us_.path = own_path_;
  told_.push_back({.path = directory_ + "/" + steer::labels_file("")});
  if (!job_.empty()) told_.push_back({.path = directory_ + "/" + steer::labels_file(job_)});
  mkdir(directory_.c_str(), S_IRWXU);
  make_own();
}

void JobFiles::make_own() {
  // Of this boot, pid namespace and pid: a process that is no more, or this one before exec.
  unlink(own_path_.c_str());
  own_ = os::FileDescriptor(
      open(own_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  lock_next_ = {};
}

/// A record lock, which no child of a fork has. The process loses it where it opens and closes the file once
/// more by itself, so it is taken again and again.
void JobFiles::hold_lock() {
  const auto now = std::chrono::steady_clock::now();
  if (now < lock_next_) return;
  lock_next_ = now + kRelock;
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  holds_lock_ = fcntl(own_.get(), F_SETLK, &whole) == 0;
}

Result<steer::LabelList> JobFiles::read_list(const os::FileDescriptor& file, std::size_t at,
                                             const std::string& path) const {
  WEFT_TRY_VOID(check_owner(file, path));
  auto list = steer::decode_labels(read_at(file, steer::kMaxLabelBytes, at));
  if (!list) return pass_on(list, path);
  if (!list->job.empty() && list->job != job_)
    return fail(ErrorKind::invalid_input, "{}: list {} is of job {}, and this process of {}", path,
                list->generation, list->job, job_.empty() ? "none" : job_);
  return list;
}

/// A bad one is read again each time: it may be half written.
void JobFiles::look_at(Source& source, const os::FileDescriptor& file, std::size_t at) {
  auto header = file ? read_at(file, steer::kLabelHeader, at) : std::vector<std::byte>();
  const bool is_there = steer::peek_generation(header).has_value();
  if (is_there && source.list && header == source.header) return;
  source = {.path = std::move(source.path)};
  if (!is_there) return;
  auto list = read_list(file, at, source.path);
  if (list)
    source.list = std::move(*list);
  else
    source.note = list.error().message;
  source.header = std::move(header);
}

std::optional<steer::LabelList> JobFiles::read_labels(std::uint64_t in_force) {
  std::vector<Source*> sources;
  for (Source& source : told_) {
    look_at(source,
            os::FileDescriptor(open(source.path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)), 0);
    sources.push_back(&source);
  }
  look_at(for_us_, own_, steer::kLabelsAt);
  sources.push_back(&for_us_);
  const auto has = [&](std::uint64_t generation) {
    return std::ranges::any_of(sources, [&](const Source* source) {
      return source->list && source->list->generation == generation;
    });
  };
  const bool is_there = has(in_force);
  const Source* best = nullptr;
  for (Source* source : sources) {
    if (!source->list) continue;
    const auto generation = source->list->generation;
    // Beside the list that is in force an older one is nothing to wonder at.
    source->note = generation < in_force && !is_there
                       ? fmt::format("{}: list {} is older than list {}, which is in force", source->path,
                                     generation, in_force)
                       : "";
    if (generation > in_force && (best == nullptr || generation > best->list->generation)) best = source;
  }
  return best == nullptr ? std::nullopt : best->list;
}

/// The nearest to this process first.
std::string JobFiles::note() const {
  for (auto source = told_.rbegin(); source != told_.rend(); ++source)
    if (!source->note.empty()) return source->note;
  return for_us_.note;
}

void JobFiles::write(steer::ProcessQps process) {
  struct stat about {};
  if (own_ && fstat(own_.get(), &about) == 0 && about.st_nlink == 0) make_own();
  if (!own_) return;
  hold_lock();
  process.holds_lock = holds_lock_;
  const auto bytes = steer::encode_qps(process);
  // What does not fit on a full disk is seen as half written.
  static_cast<void>(!pwrite(own_.get(), bytes.data(), bytes.size(), 0));
}

void JobFiles::remove() const {
  struct stat here {};
  struct stat ours {};
  if (own_ && fstat(own_.get(), &ours) == 0 && lstat(own_path_.c_str(), &here) == 0 &&
      here.st_dev == ours.st_dev && here.st_ino == ours.st_ino)
    unlink(own_path_.c_str());
}

}  // namespace weft::nccl
