#include "topology/os/service_notifier.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "topology/base/outside_text.hpp"

namespace weft::os {
namespace {

constexpr int kFeedsInLimit = 4;  // sd_watchdog_enabled(3) asks for two

/// The abstract namespace has names without an end: all bytes that the address says are of it.
Result<std::vector<char>> address_of(std::string_view given) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (given.size() < 2 || (given[0] != '/' && given[0] != '@'))
    return fail(ErrorKind::invalid_input,
                "the notify socket '{}' is neither an absolute path nor '@' and a name", outside_text(given));
  if (given.size() >= sizeof address.sun_path)
    return fail(ErrorKind::invalid_input, "the notify socket's name has {} bytes: {} at most", given.size(),
                sizeof address.sun_path - 1);
  std::ranges::copy(given, address.sun_path);
  if (given[0] == '@') address.sun_path[0] = '\0';
  const auto* bytes = reinterpret_cast<const char*>(&address);
  return std::vector<char>(bytes, bytes + offsetof(sockaddr_un, sun_path) + given.size());
}

}  // namespace

Result<ServiceNotifier> ServiceNotifier::open(const Place& place, std::size_t parts) {
  ServiceNotifier made;
  WEFT_TRY(made.address_, address_of(place.socket));
  made.socket_ = FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.socket_) return fail(ErrorKind::internal, "no socket: {}", std::strerror(errno));
  made.watchdog_ = place.watchdog;
  made.round_.assign(parts, false);
  return made;
}

ServiceNotifier::ServiceNotifier(ServiceNotifier&& other) noexcept
    : socket_(std::move(other.socket_)),
      address_(std::move(other.address_)),
      watchdog_(other.watchdog_),
      round_(std::move(other.round_)),
      ready_(other.ready_),
      fed_(other.fed_),
      status_(std::move(other.status_)) {}

void ServiceNotifier::went_round(std::size_t part) {
  const std::lock_guard lock(mutex_);
  if (part >= round_.size()) return;
  round_[part] = true;
  if (std::ranges::find(round_, false) != round_.end()) return;
  if (!ready_) ready_ = send("READY=1");
  const auto now = Clock::now();
  if (!watchdog_ || (fed_ && now - *fed_ < *watchdog_ / kFeedsInLimit)) return;
  if (!send("WATCHDOG=1")) return;
  fed_ = now;
  round_.assign(round_.size(), false);
}

void ServiceNotifier::status(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto line = outside_text(text);
  if (line == status_) return;
  if (send("STATUS=" + line)) status_ = line;
}

void ServiceNotifier::stopping() { static_cast<void>(send("STOPPING=1")); }

/// False: the manager does not take it now, or there is none.
bool ServiceNotifier::send(std::string_view lines) const {
  return socket_ && sendto(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(address_.data()),
                           static_cast<socklen_t>(address_.size())) >= 0;
}

}  // namespace weft::os
