#include "cli/ras_query.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <vector>

#include "topology/base/ip.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/run_program.hpp"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kUsualPort = "28028";  // NCCL_RAS_ADDR
constexpr std::chrono::seconds kMaxLookUp(10);    // two servers, 5 s each (resolv.conf(5))
constexpr Bytes kMaxLookedUp(65'536);
constexpr std::size_t kMaxTried = 4;  // addresses of a name
constexpr std::size_t kMaxAnswerBytes = 256'000'000;

Error time_out(std::string_view what) { return {ErrorKind::timeout, fmt::format("RAS: {}", what)}; }

bool wait_for(int socket, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{.fd = socket, .events = events, .revents = 0};
    const int ready = poll(&one, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

/// The addresses of a name, by a child: a resolver may take minutes, and cannot be told to stop.
Result<std::vector<std::string>> addresses_of(const std::string& host) {
  if (IpAddress::parse(host)) return std::vector{host};
  const auto told = os::run_strange_program({"getent", "ahosts", "--", host}, "", kMaxLookUp, kMaxLookedUp);
  if (!told)
    return fail(told.error().kind == ErrorKind::timeout ? ErrorKind::timeout : ErrorKind::absent,
                "RAS: {}: no address is found (getent ahosts {})", host, host);
  std::vector<std::string> all;
  std::istringstream lines(*told);
  for (std::string line; std::getline(lines, line);) {
    std::string address = line.substr(0, line.find(' '));
    if (IpAddress::parse(address) && std::ranges::find(all, address) == all.end() && all.size() < kMaxTried)
      all.push_back(std::move(address));
  }
  if (all.empty()) return fail(ErrorKind::absent, "RAS: {}: it has no address", host);
  return all;
}

Result<os::FileDescriptor> connect_to(const RasPlace& place, Nanoseconds limit) {
  WEFT_TRY(const auto addresses, addresses_of(place.host));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;  // asks nobody
  std::string why = "no address";
  for (const std::string& address : addresses) {
    addrinfo* list = nullptr;
    if (getaddrinfo(address.c_str(), place.port.c_str(), &hints, &list) != 0) continue;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> at(list, freeaddrinfo);
    os::FileDescriptor socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    int error = errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      if (!wait_for(socket.get(), POLLOUT, Clock::now() + limit))
        error = ETIMEDOUT;
      else if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
        return socket;
    }
    why = std::strerror(error);
  }
  return fail(ErrorKind::absent, "RAS: {} port {}: {}", place.host, place.port, why);
}

Result<void> send_line(int socket, std::string_view line) {
  // A few bytes: they fit the socket's buffer.
  if (send(socket, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return fail(ErrorKind::absent, "RAS: the connection broke: {}", std::strerror(errno));
  return {};
}

/// Appends until the other end closes, or `is_enough`.
template <class Enough>
Result<void> receive(int socket, std::string& into, Clock::time_point until, Enough is_enough) {
  char piece[65536];
  while (!is_enough(into)) {
    if (!wait_for(socket, POLLIN, until)) return tl::unexpected(time_out("no answer in time"));
    const ssize_t got = recv(socket, piece, sizeof piece, 0);
    if (got == 0) return {};
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return fail(ErrorKind::absent, "RAS: the connection broke: {}", std::strerror(errno));
    into.append(piece, static_cast<std::size_t>(got));
    if (into.size() > kMaxAnswerBytes)
      return fail(ErrorKind::invalid_input, "RAS: its answer is longer than {} bytes", kMaxAnswerBytes);
  }
  return {};
}

}  // namespace

Result<RasPlace> find_ras(const std::string& place) {
  std::error_code error;
  if (std::filesystem::exists(place, error)) return RasPlace{.is_file = true};
  RasPlace made{.host = place, .port = std::string(kUsualPort)};
  const std::size_t colon = place.rfind(':');
  const bool bracketed = place.starts_with('[');
  if (colon != place.npos && (bracketed ? place[colon - 1] == ']' : place.find(':') == colon)) {
    made.host = place.substr(0, colon);
    made.port = place.substr(colon + 1);
  }
  if (bracketed && made.host.ends_with(']')) made.host = made.host.substr(1, made.host.size() - 2);
  const bool digits = !made.port.empty() && made.port.find_first_not_of("0123456789") == made.port.npos;
  if (made.host.empty() || !digits || place.find('/') != place.npos)
    return fail(ErrorKind::usage, "--ras {}: expected HOST:PORT, as localhost:28028, or a file", place);
  return made;
}

Result<std::string> ask_ras(const RasPlace& place, const RasLimits& limits) {
  WEFT_TRY(const auto socket, connect_to(place, limits.connect));
  WEFT_TRY_VOID(send_line(socket.get(), "SET FORMAT json\n"));
  std::string greeting;
  // An NCCL before 2.28.7 does not know the command: it says so, or nothing, and STATUS gives text.
  const auto greeted = receive(socket.get(), greeting, Clock::now() + limits.greeting,
                               [](const std::string& text) { return text.find('\n') != text.npos; });
  if (!greeted && greeted.error().kind != ErrorKind::timeout) return pass_on(greeted);
  WEFT_TRY_VOID(send_line(socket.get(), "VERBOSE STATUS\n"));
  std::string answer;
  WEFT_TRY_VOID(
      receive(socket.get(), answer, Clock::now() + limits.answer, [](const std::string&) { return false; }));
  if (answer.empty())
    return fail(ErrorKind::absent, "RAS: {} port {} closed without an answer", place.host, place.port);
  return answer;
}

}  // namespace weft::cli
