#include "cli/service.hpp"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "cli/exit_status.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::cli {
namespace {

std::optional<std::string> take_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  std::string taken = value;
  unsetenv(name);
  return taken;
}

std::optional<std::uint64_t> number_in(const std::optional<std::string>& text) {
  const auto number = text ? parse_whole_number<std::uint64_t>(*text) : std::nullopt;
  return number && *number != 0 ? number : std::nullopt;
}

/// The watchdog may be another process's: then WATCHDOG_PID says so (sd_watchdog_enabled(3)).
std::optional<std::chrono::nanoseconds> watchdog_of_this_process() {
  const auto limit = number_in(take_variable("WATCHDOG_USEC"));
  const auto process = take_variable("WATCHDOG_PID");
  if (!limit || *limit > std::uint64_t(std::chrono::microseconds::max().count() / 1000)) return std::nullopt;
  if (process && number_in(process) != static_cast<std::uint64_t>(getpid())) return std::nullopt;
  return std::chrono::microseconds(*limit);
}

}  // namespace

os::ServiceNotifier service_notifier(std::size_t parts) {
  const auto watchdog = watchdog_of_this_process();
  const auto socket = take_variable("NOTIFY_SOCKET");
  if (!socket) return {};
  auto opened = os::ServiceNotifier::open({*socket, watchdog}, parts);
  if (opened) return std::move(*opened);
  print_stderr("weft: NOTIFY_SOCKET: {}\n", opened.error().message);
  return {};
}

}  // namespace weft::cli
