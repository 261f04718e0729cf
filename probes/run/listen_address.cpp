#include "probes/run/listen_address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "topology/os/file_descriptor.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kMaxTried = 3;   // names: a resolver may take seconds over each
constexpr const char* kAnyPort = "9";  // discard: nothing is sent, the route alone is asked for

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && port != 0;
  return whole ? std::optional(port) : std::nullopt;
}

/// Which of our addresses the kernel would send from; no packet is sent.
std::optional<IpAddress> source_towards(const addrinfo& far) {
  const os::FileDescriptor probe(socket(far.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || connect(probe.get(), far.ai_addr, far.ai_addrlen) != 0) return std::nullopt;
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (getsockname(probe.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return std::nullopt;
  char text[INET6_ADDRSTRLEN];
  if (getnameinfo(reinterpret_cast<sockaddr*>(&name), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) !=
      0)
    return std::nullopt;
  const auto address = IpAddress::parse(text);
  return address ? std::optional(*address) : std::nullopt;
}

std::optional<IpAddress> source_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), kAnyPort, &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next)
    if (auto source = source_towards(*each)) return source;
  return std::nullopt;
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  if (const auto whole = IpAddress::parse(text)) return ListenAddress{*whole};
  const auto colon = text.rfind(':');
  auto head = text.substr(0, std::min(colon, text.size()));
  const bool bracketed = head.starts_with('[') && head.ends_with(']');
  if (bracketed) head = head.substr(1, head.size() - 2);
  const auto address = IpAddress::parse(head);
  const auto port = colon == std::string_view::npos ? std::nullopt : parse_port(text.substr(colon + 1));
  if (!address || !port || address->is_v6() != bracketed)
    return fail(ErrorKind::usage,
                "{}: expected an address of this machine, as in 10.0.0.5, or with a port, 1 to 65535, as in "
                "10.0.0.5:4222",
                text);
  return ListenAddress{*address, port};
}

Result<IpAddress> address_towards(const std::vector<std::string>& hosts) {
  const std::size_t tried = std::min(hosts.size(), kMaxTried);
  for (std::size_t i = 0; i < tried; ++i)
    if (const auto source = source_towards(hosts[i])) return *source;
  return fail(ErrorKind::usage,
              "no name of {} leads to an address, so it is unknown by which of its addresses the hosts reach "
              "this machine: give it with --listen",
              fmt::join(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(tried), ", "));
}

}  // namespace weft::run
