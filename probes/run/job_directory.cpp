#include "probes/run/job_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <system_error>

#include "balancer/steer/process_qps.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/private_file.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kMaxFiles = 1024;   // of a kind: a host has 8 to 16 processes of a job
constexpr std::size_t kMaxSeen = 65'536;  // with those that killed processes have left
/// A process writes as soon as it has a file, and ten times a second from then on.
constexpr std::chrono::minutes kMaxUnwritten{1};
/// Any user may write a file of a process: what one claims leaves room for lists above it.
constexpr std::uint64_t kMaxClaim = steer::kMaxGeneration / 2;

/// An ordinary file and whose it is. Absent: it is none, or gone. Error: permission.
struct OpenFile {
  os::FileDescriptor file;
  struct stat about {};
};
Result<std::optional<OpenFile>> open_file(const std::string& path) {
  OpenFile opened{os::FileDescriptor(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))};
  if (!opened.file && errno == EACCES)
    return fail(ErrorKind::permission, "{} cannot be read, which may tell of a newer list of labels",
                outside_text(path));
  if (!opened.file || fstat(opened.file.get(), &opened.about) != 0 || !S_ISREG(opened.about.st_mode))
    return std::optional<OpenFile>();
  return std::optional(std::move(opened));
}

std::vector<std::byte> read_at(const OpenFile& file, std::size_t most, std::size_t at) {
  std::vector<std::byte> bytes(most);
  const auto size = pread(file.file.get(), bytes.data(), most, static_cast<off_t>(at));
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return bytes;
}

/// Where this runs.
struct ThisKernel {
  steer::KernelName name;
  Nanoseconds booted{0};  // since 1970
};
ThisKernel this_kernel() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  timespec up{};
  clock_gettime(CLOCK_BOOTTIME, &up);
  return {steer::kernel_name(host, boot),
          os::wall_now() - std::chrono::seconds(up.tv_sec) - Nanoseconds(up.tv_nsec)};
}

Nanoseconds changed_at(const OpenFile& file) {
  return std::chrono::seconds(file.about.st_mtim.tv_sec) + Nanoseconds(file.about.st_mtim.tv_nsec);
}

/// Absent: its file system does not tell.
std::optional<bool> is_locked(const OpenFile& file) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(file.file.get(), F_OFD_GETLK, &whole) != 0) return std::nullopt;
  return whole.l_type != F_UNLCK;
}

/// The process that it is of, `name` says on which kernel, is known to be no more.
bool has_ended(const OpenFile& file, const std::string& name, const ThisKernel& here) {
  const auto of = steer::kernel_of_file(name);
  if (!of || here.name.boot == steer::kUnknownBoot) return false;
  // Of this host before it booted, or of another host of that name; that one has not told for as long.
  if (of->boot != here.name.boot) return of->host == here.name.host && changed_at(file) < here.booted;
  if (is_locked(file).value_or(true)) return false;
  // An older library takes no lock.
  const auto held = steer::peek_lock(read_at(file, steer::kQpsHeader, 0));
  return held.value_or(os::wall_now() - changed_at(file) > kMaxUnwritten);
}

/// As processes take it: of root, or of their user; a directory may be of another who runs jobs there.
bool is_believed(const std::string& directory, const std::string& path) {
  struct stat about {};
  struct stat place {};
  if (lstat(path.c_str(), &about) != 0 || stat(directory.c_str(), &place) != 0) return false;
  return S_ISREG(about.st_mode) &&
         (about.st_uid == 0 || about.st_uid == geteuid() || about.st_uid == place.st_uid);
}

Result<std::uint64_t> generation_in_labels(const std::string& path) {
  WEFT_TRY(const auto labels, open_file(path));
  return labels ? steer::peek_generation(read_at(*labels, steer::kLabelHeader, 0)).value_or(0) : 0;
}

/// Absent: its process has ended.
Result<std::optional<std::uint64_t>> generation_in_process(const std::filesystem::path& path,
                                                           const ThisKernel& here) {
  WEFT_TRY(const auto file, open_file(path));
  std::uint64_t newest = 0;
  if (!file) return std::optional(newest);
  if (has_ended(*file, path.filename(), here)) return std::optional<std::uint64_t>();
  const auto note = [&](std::uint64_t claimed) {
    if (claimed <= kMaxClaim) newest = std::max(newest, claimed);
  };
  if (const auto process = steer::decode_qps(read_at(*file, steer::kLabelsAt, 0))) note(process->generation);
  note(steer::peek_generation(read_at(*file, steer::kLabelHeader, steer::kLabelsAt)).value_or(0));
  return std::optional(newest);
}

Error too_many(const std::string& place, std::size_t most, std::string_view what) {
  return {ErrorKind::invalid_input,
          fmt::format("{}: more than {} files of {}", outside_text(place), most, what)};
}

/// Of a directory, by name. Errors: permission, invalid_input (more than `most`).
template <class Is>
Result<std::vector<std::filesystem::path>> files_of(const std::string& place, std::size_t most,
                                                    std::string_view what, Is is) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(place, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!is(entry->path())) continue;
    if (found.size() == most) return tl::unexpected(too_many(place, most, what));
    found.push_back(entry->path());
  }
  if (error) return fail(ErrorKind::permission, "{}: {}", outside_text(place), error.message());
  std::ranges::sort(found);
  return found;
}

/// Others may put there what they like: theirs are not counted.
Result<std::vector<std::filesystem::path>> label_files(const std::string& directory) {
  return files_of(directory, kMaxFiles, "labels", [&](const auto& path) {
    return steer::is_labels_file(path.filename().string()) && is_believed(directory, path);
  });
}

bool is_of_process(const std::filesystem::path& path) { return path.extension() == ".qps"; }

/// Processes of others take no list of this user, unless it is root, and their files are not its to remove.
bool is_of_own_process(const std::filesystem::path& path) {
  struct stat about {};
  return is_of_process(path) && lstat(path.c_str(), &about) == 0 &&
         (geteuid() == 0 || about.st_uid == geteuid());
}

void remove_if_ended(const std::filesystem::path& path, const ThisKernel& here) {
  const auto file = open_file(path);
  if (!file || !*file || !has_ended(**file, path.filename(), here)) return;
  // A new process may have taken the name meanwhile.
  struct stat now {};
  if (lstat(path.c_str(), &now) == 0 && now.st_dev == (*file)->about.st_dev &&
      now.st_ino == (*file)->about.st_ino)
    unlink(path.c_str());
}

/// Those of jobs alone, and the oldest first; what cannot be read or removed stays.
void remove_oldest(const std::string& directory) {
  const auto paths = label_files(directory);
  if (!paths || paths->size() <= steer::kMaxLabelFiles) return;
  std::vector<std::pair<std::uint64_t, std::filesystem::path>> lists;
  for (const auto& path : *paths)
    if (path.filename() != steer::labels_file(""))
      lists.emplace_back(generation_in_labels(path).value_or(0), path);
  std::ranges::sort(lists);
  for (std::size_t i = 0; i < lists.size() && lists.size() - i >= steer::kMaxLabelFiles; ++i)
    unlink(lists[i].second.c_str());
}

}  // namespace

Result<std::vector<ProcessFile>> process_files(const std::string& place, bool is_asked) {
  std::error_code error;
  if (!is_asked && !std::filesystem::exists(place, error)) return std::vector<ProcessFile>();
  std::vector<std::filesystem::path> paths{place};
  if (std::filesystem::is_directory(place, error)) {
    WEFT_TRY(paths, files_of(place, kMaxSeen, "processes", is_of_process));
  }
  const ThisKernel here = this_kernel();
  std::vector<ProcessFile> living;
  std::vector<std::pair<Nanoseconds, std::filesystem::path>> ended;
  for (auto& path : paths) {
    const auto file = open_file(path);
    if (file && *file && has_ended(**file, path.filename(), here))
      ended.emplace_back(changed_at(**file), std::move(path));
    else
      living.push_back({std::move(path)});
  }
  if (living.size() > kMaxFiles) return tl::unexpected(too_many(place, kMaxFiles, "processes"));
  std::ranges::sort(ended, std::greater());
  for (auto& [at, path] : ended) living.push_back({std::move(path), true});
  return living;
}

void remove_ended(const std::string& directory) {
  const ThisKernel here = this_kernel();
  std::error_code error;
  std::size_t seen = 0;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator() && seen < kMaxSeen;
       entry.increment(error), ++seen)
    if (is_of_own_process(entry->path())) remove_if_ended(entry->path(), here);
}

Result<std::uint64_t> newest_list(const std::string& directory) {
  std::uint64_t newest = 0;
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return newest;
  WEFT_TRY(const auto lists, label_files(directory));
  for (const auto& path : lists) {
    WEFT_TRY(const auto in_list, generation_in_labels(path));
    newest = std::max(newest, in_list);
  }
  WEFT_TRY(const auto paths, files_of(directory, kMaxSeen, "processes", is_of_own_process));
  const ThisKernel here = this_kernel();
  std::size_t living = 0;
  for (const auto& path : paths) {
    WEFT_TRY(const auto in_process, generation_in_process(path, here));
    living += in_process ? 1 : 0;
    newest = std::max(newest, in_process.value_or(0));
  }
  if (living > kMaxFiles) return tl::unexpected(too_many(directory, kMaxFiles, "processes"));
  return newest;
}

Result<void> write_labels(const std::string& directory, const steer::LabelList& list) {
  WEFT_TRY(const auto bytes, steer::encode_labels(list));
  // Of root, for a job of another user: it is no secret.
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto path = directory + "/" + steer::labels_file(outside_text(list.job));
  WEFT_TRY_VOID(os::write_whole_file(path, content, os::kReadByAll, os::Existing::replaced));
  remove_oldest(directory);
  return {};
}

}  // namespace weft::run
