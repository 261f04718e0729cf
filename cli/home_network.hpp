// The network that a command was started in: what it asks of the site, or serves to it, while it runs in a
// lab's.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace weft::cli {

/// The network namespace of the calling thread. Make it before a lab is entered, and go back by an
/// os::NamespaceVisit: a process that entered an ordinary user's lab has no right to.
class HomeNetwork {
 public:
  HomeNetwork() : file_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {}
  ~HomeNetwork() {
    if (file_ >= 0) close(file_);
  }
  HomeNetwork(const HomeNetwork&) = delete;
  HomeNetwork& operator=(const HomeNetwork&) = delete;
  /// Empty: it could not be opened.
  std::filesystem::path file() const {
    return file_ < 0 ? std::filesystem::path()
                     : std::filesystem::path(fmt::format("/proc/self/fd/{}", file_));
  }

 private:
  int file_;
};

}  // namespace weft::cli
