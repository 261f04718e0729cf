// The bus alone: windows from agents over nats-server with TLS and JetStream to a watcher.
#include <fmt/format.h>

#include <thread>

#include "collectors/bus/agent_link.hpp"
#include "collectors/bus/watch_link.hpp"
#include "probes/run/watch_server.hpp"
#include "probes/session/watch_subjects.hpp"
#include "tests/bench/watch/pieces.hpp"
#include "topology/base/check.hpp"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHosts = 16;  // a stream keeps 2,400 windows of each
constexpr std::uint64_t kWindowsOfHost = 2000;
constexpr std::size_t kWindowBytes = 1500;  // of a healthy host with 8 NICs

using Links = std::vector<std::unique_ptr<watch::AgentLink>>;

void publish_all(Links& links) {
  const std::vector<std::byte> window(kWindowBytes, std::byte{7});
  std::vector<std::uint64_t> next(links.size(), 0);
  for (std::size_t acknowledged = 0; acknowledged < kHosts * kWindowsOfHost;) {
    bool any = false;
    for (std::size_t host = 0; host < links.size(); ++host) {
      while (next[host] < kWindowsOfHost && links[host]->publish({1, next[host]}, window)) {
        ++next[host];
        any = true;
      }
      acknowledged += links[host]->acknowledged().size();
      WEFT_CHECK(links[host]->failed().empty());
    }
    if (!any) std::this_thread::sleep_for(100us);
  }
}

void fetch_all(watch::WindowFeed& feed) {
  for (std::size_t fetched = 0; fetched < kHosts * kWindowsOfHost;)
    fetched += feed.fetch(1000, 1s).value_or(std::vector<watch::ReceivedWindow>()).size();
}

}  // namespace

void measure_bus(Figures& figures) {
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < kHosts; ++i) hosts.push_back(fmt::format("host{}", i));
  const auto nats = run::start_watch_server({IpAddress(IpAddress::V4{127, 0, 0, 1})}, "bench", hosts);
  WEFT_CHECK(nats.has_value());
  const auto watcher =
      bus::connect_watch_link(nats->address_for(session::kWatcher), "bench", {.name = "watcher"});
  WEFT_CHECK(watcher.has_value());
  Links links;
  for (const auto& host : hosts)
    links.push_back(std::move(*bus::connect_agent_link(nats->address_for(host), "bench", host)));
  const double windows = kHosts * kWindowsOfHost;
  figures.add("bus_published_per_s", windows * 1000 / milliseconds([&] { publish_all(links); }));
  figures.add("bus_fetched_per_s", windows * 1000 / milliseconds([&] { fetch_all(*watcher->feed); }));
  // One window there and back, when nothing else goes.
  const std::vector<std::byte> one(kWindowBytes, std::byte{7});
  figures.add("bus_latency_ms", milliseconds([&] {
                                  for (std::uint64_t i = 0; i < 200; ++i) {
                                    WEFT_CHECK(links[0]->publish({2, i}, one));
                                    WEFT_CHECK(watcher->feed->fetch(1, 5s)->size() == 1);
                                  }
                                }) / 200);
}

}  // namespace weft::bench
