#include "collectors/webhook/event_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "topology/os/file_descriptor.hpp"

namespace weft::webhook {

Result<void> append_event(const std::filesystem::path& path, const files::EventReport& event) {
  const auto failed = [&](std::string_view doing) {
    const auto kind = errno == EACCES || errno == EROFS ? ErrorKind::permission
                      : errno == ENOENT                 ? ErrorKind::not_found
                                                        : ErrorKind::absent;
    return fail(kind, "events {}: {}: {}", path.string(), doing, std::generic_category().message(errno));
  };
  const os::FileDescriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return failed("open");
  const std::string line = event_line(event) + '\n';
  const auto written = write(file.get(), line.data(), line.size());
  if (written < 0) return failed("write");
  if (static_cast<std::size_t>(written) != line.size())
    return fail(ErrorKind::absent, "events {}: only a part of the last line was written: is the disk full?",
                path.string());
  return {};
}

}  // namespace weft::webhook
