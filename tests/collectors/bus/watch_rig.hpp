// A real nats-server with JetStream on loopback, agents and watchers at it, and waits with a limit.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <stdexcept>
#include <thread>

#include "collectors/bus/agent_link.hpp"
#include "collectors/bus/watch_link.hpp"
#include "probes/run/watch_server.hpp"
#include "topology/base/check.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::bus {

using namespace std::chrono_literals;

constexpr auto kSoon = 30s;  // a limit for machines that are busy
inline const std::string kFabric = "pod.1";

inline run::NatsServer server(std::optional<std::uint16_t> port = std::nullopt,
                              const run::JetStreamSpec& jet_stream = {}) {
  const run::ListenAddress listen{IpAddress(IpAddress::V4{127, 0, 0, 1}), port};
  auto started = run::start_watch_server(listen, kFabric, {"host1", "host2.cluster"}, jet_stream);
  if (!started) throw std::runtime_error(started.error().message);
  return std::move(*started);
}

/// What a server that is still busy with its start answers.
inline bool is_passing(ErrorKind kind) { return kind == ErrorKind::timeout || kind == ErrorKind::absent; }

/// For a server that is found again where it was.
inline std::uint16_t free_port() {
  const os::FileDescriptor socket_of_it(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  WEFT_CHECK(bind(socket_of_it.get(), raw, size) == 0 && getsockname(socket_of_it.get(), raw, &size) == 0);
  return ntohs(address.sin_port);
}

inline WatchLink watcher(const run::NatsServer& nats, const WatchLinkOptions& options = {}) {
  // As weft watch does, until the server has made its streams: on a busy disk one request's limit is short.
  const auto until = std::chrono::steady_clock::now() + kSoon;
  auto link = connect_watch_link(nats.address_for("watcher"), kFabric, options);
  while (!link && is_passing(link.error().kind) && std::chrono::steady_clock::now() < until)
    link = connect_watch_link(nats.address_for("watcher"), kFabric, options);
  if (!link) throw std::runtime_error(link.error().message);
  return std::move(*link);
}

inline std::unique_ptr<watch::AgentLink> agent(const run::NatsServer& nats, const std::string& host) {
  auto link = connect_agent_link(nats.address_for(host), kFabric, host);
  if (!link) throw std::runtime_error(link.error().message);
  return std::move(*link);
}

inline std::vector<std::byte> window(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// As many acknowledgements as are awaited, or what came until the limit.
inline std::vector<watch::MessageId> acknowledged(watch::AgentLink& link, std::size_t count) {
  std::vector<watch::MessageId> all;
  const auto until = std::chrono::steady_clock::now() + kSoon;
  while (all.size() < count && std::chrono::steady_clock::now() < until) {
    for (const auto id : link.acknowledged()) all.push_back(id);
    std::this_thread::sleep_for(1ms);
  }
  return all;
}

inline std::vector<watch::ReceivedWindow> fetched(watch::WindowFeed& feed, std::size_t count) {
  std::vector<watch::ReceivedWindow> all;
  const auto until = std::chrono::steady_clock::now() + kSoon;
  while (all.size() < count && std::chrono::steady_clock::now() < until) {
    auto some = feed.fetch(count - all.size(), 100ms);
    for (auto& each : some.value_or(std::vector<watch::ReceivedWindow>())) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace weft::bus
