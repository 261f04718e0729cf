#include "probes/run/watch_run.hpp"

#include <set>

#include "collectors/bus/watch_link.hpp"
#include "probes/run/watch_loop.hpp"
#include "topology/os/clocks.hpp"

namespace weft::run {

Result<void> run_watch(const WatchPlace& place, const WatchOptions& options, WatchListener& listener,
                       const TendWatch& tend, std::stop_token stop) {
  WEFT_TRY(auto link, bus::connect_watch_link(
                          place.bus, place.fabric.name(),
                          {.name = options.name, .lease_time = kLeaseTime, .limits = options.streams}));
  listener.on_shared(link.values);
  const auto map = [&](const HeardHosts& heard, const std::stop_token& ended) {
    return map_paths(place, options, heard, ended);
  };
  WatchLoop loop(place, options, listener, {std::move(link), map, os::steady_now, os::wall_now});
  std::set<std::string> gone;  // agents that this process started
  while (!stop.stop_requested()) {
    if (tend) {
      WEFT_TRY(const auto news, tend());
      for (const auto& one : news) {
        listener.on_note(fmt::format("{}: {}", one.host, one.why));
        gone.insert(one.host);
      }
      if (gone.size() >= place.hosts.size()) return fail(ErrorKind::absent, "no agent is left");
    }
    loop.turn();
    options.went_round();
  }
  loop.end();
  return {};
}

}  // namespace weft::run
