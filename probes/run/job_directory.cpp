#include "probes/run/job_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "balancer/steer/process_qps.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/private_file.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kMaxFiles = 1024;  // of a kind: a host has 8 to 16 processes of a job
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

Result<std::uint64_t> generation_in_process(const std::string& path) {
  struct stat about {};
  // Processes of others take no list of this user, unless it is root.
  if (lstat(path.c_str(), &about) != 0 || (geteuid() != 0 && about.st_uid != geteuid())) return 0;
  WEFT_TRY(const auto file, open_file(path));
  if (!file) return 0;
  std::uint64_t newest = 0;
  const auto note = [&](std::uint64_t claimed) {
    if (claimed <= kMaxClaim) newest = std::max(newest, claimed);
  };
  if (const auto process = steer::decode_qps(read_at(*file, steer::kLabelsAt, 0))) note(process->generation);
  note(steer::peek_generation(read_at(*file, steer::kLabelHeader, steer::kLabelsAt)).value_or(0));
  return newest;
}

/// Of a directory, by name. Errors: permission, invalid_input (more than a host has).
template <class Is>
Result<std::vector<std::filesystem::path>> files_of(const std::string& place, std::string_view what, Is is) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(place, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!is(entry->path())) continue;
    if (found.size() == kMaxFiles)
      return fail(ErrorKind::invalid_input, "{}: more than {} files of {}", outside_text(place), kMaxFiles,
                  what);
    found.push_back(entry->path());
  }
  if (error) return fail(ErrorKind::permission, "{}: {}", outside_text(place), error.message());
  std::ranges::sort(found);
  return found;
}

/// Others may put there what they like: theirs are not counted.
Result<std::vector<std::filesystem::path>> label_files(const std::string& directory) {
  return files_of(directory, "labels", [&](const auto& path) {
    return steer::is_labels_file(path.filename().string()) && is_believed(directory, path);
  });
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

Result<std::vector<std::filesystem::path>> process_files(const std::string& place, bool is_asked) {
  std::error_code error;
  if (!is_asked && !std::filesystem::exists(place, error)) return std::vector<std::filesystem::path>();
  if (!std::filesystem::is_directory(place, error)) return std::vector<std::filesystem::path>{place};
  return files_of(place, "processes", [](const auto& path) { return path.extension() == ".qps"; });
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
  WEFT_TRY(const auto paths, process_files(directory, false));
  for (const auto& path : paths) {
    WEFT_TRY(const auto in_process, generation_in_process(path));
    newest = std::max(newest, in_process);
  }
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
