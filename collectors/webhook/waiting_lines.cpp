#include "collectors/webhook/waiting_lines.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "topology/os/file_descriptor.hpp"

namespace weft::webhook {
namespace {

tl::unexpected<Error> failed(std::string_view what, std::string_view doing) {
  const auto kind = errno == EACCES || errno == EROFS ? ErrorKind::permission
                    : errno == ENOENT                 ? ErrorKind::not_found
                                                      : ErrorKind::absent;
  return fail(kind, "{}: {}: {}", what, doing, std::generic_category().message(errno));
}

Result<std::size_t> append_whole(const std::filesystem::path& path, std::string_view text) {
  const os::FileDescriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return failed(path.string(), "open");
  struct stat before {};
  if (fstat(file.get(), &before) != 0) return failed(path.string(), "fstat");
  const auto written = write(file.get(), text.data(), text.size());
  if (written < 0) return failed(path.string(), "write");
  if (static_cast<std::size_t>(written) == text.size()) return text.size();
  // A reader finds no half of a line, and the next try begins where this one did.
  if (ftruncate(file.get(), before.st_size) != 0) return failed(path.string(), "ftruncate");
  return fail(ErrorKind::absent, "{}: only a part of a line was written: is the disk full?", path.string());
}

}  // namespace

LineSink file_sink(std::filesystem::path path) {
  return [path = std::move(path)](std::string_view text) { return append_whole(path, text); };
}

LineSink descriptor_sink(int descriptor) {
  return [descriptor](std::string_view text) -> Result<std::size_t> {
    const auto written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) return 0;
    if (written < 0) return failed("standard output", "write");
    return static_cast<std::size_t>(written);
  };
}

Result<void> WaitingLines::add(std::string line) {
  lines_.push_back(std::move(line));
  const auto done = flush();
  if (lines_.size() > most_) {
    lines_.erase(lines_.begin() + (is_begun_ ? 1 : 0));
    ++dropped_;
  }
  return done;
}

Result<void> WaitingLines::flush() {
  while (!lines_.empty()) {
    WEFT_TRY(const auto taken, sink_(lines_.front()));
    const bool whole = taken >= lines_.front().size();
    is_begun_ = !whole && (is_begun_ || taken > 0);
    if (whole)
      lines_.pop_front();
    else
      lines_.front().erase(0, taken);
  }
  return {};
}

}  // namespace weft::webhook
